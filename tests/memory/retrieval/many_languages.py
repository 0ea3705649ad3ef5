# ruff: noqa: E501
"""Memories and questions in fifteen languages, and pairs of identifiers; written before the code.

By language: twelve memories, then questions with the number of the memory that answers each. A
question without a number asks for nothing that is there.
"""

MEMORIES: dict[str, tuple[str, ...]] = {
    "de": (
        "Die Rechnungsnummern kommen jetzt aus einer Sequenz.", "Die Größenumrechnung rundet auf zwei Stellen.",
        "Der Warenkorb löscht abgelaufene Gutscheine.", "Die Verbindungen zur Datenbank sind auf zwanzig begrenzt.",
        "OrderRepository wird nachts geleert.", "Fehlgeschlagene Anmeldungen sperren das Konto für eine Stunde.",
        "Die Übersetzungen liegen im Ordner locales.", "Der Versand nach Österreich kostet neun Euro.",
        "Bilder werden vor dem Hochladen verkleinert.", "Die Prüfsumme der Dateien wird beim Start berechnet.",
        "Der Zeitplan der Sicherungen steht in backup.yaml.", "Newsletter gehen dienstags hinaus.",
    ),
    "fr": (
        "Les factures sont numérotées par une séquence.", "Le débordement du café est corrigé.",
        "Le panier supprime les bons expirés.", "La base de données accepte vingt connexions.",
        "OrderRepository est vidé chaque nuit.", "Trois échecs de connexion verrouillent le compte.",
        "Les traductions se trouvent dans le dossier locales.", "La livraison en Corse coûte neuf euros.",
        "Les images sont réduites avant l'envoi.", "La somme de contrôle est calculée au démarrage.",
        "L'horaire des sauvegardes est dans backup.yaml.", "Les lettres d'information partent le mardi.",
    ),
    "es": (
        "Los números de factura vienen de una secuencia.", "El redondeo de precios usa dos decimales.",
        "El carrito borra los cupones caducados.", "La base de datos admite veinte conexiones.",
        "OrderRepository se vacía cada noche.", "Tres intentos fallidos bloquean la cuenta.",
        "Las traducciones están en la carpeta locales.", "El envío a Canarias cuesta nueve euros.",
        "Las imágenes se reducen antes de subirlas.", "La suma de comprobación se calcula al arrancar.",
        "El horario de las copias está en backup.yaml.", "Los boletines salen los martes.",
    ),
    "it": (
        "I numeri delle fatture vengono da una sequenza.", "L'arrotondamento dei prezzi usa due decimali.",
        "Il carrello elimina i buoni scaduti.", "Il database accetta venti connessioni.",
        "OrderRepository viene svuotato ogni notte.", "Tre accessi falliti bloccano l'account.",
        "Le traduzioni sono nella cartella locales.", "La spedizione in Sardegna costa nove euro.",
        "Le immagini vengono ridotte prima del caricamento.", "La somma di controllo è calcolata all'avvio.",
        "L'orario dei salvataggi è in backup.yaml.", "Le newsletter partono il martedì.",
    ),
    "pt": (
        "Os números das faturas vêm de uma sequência.", "O arredondamento dos preços usa duas casas.",
        "O carrinho apaga os cupões expirados.", "A base de dados aceita vinte ligações.",
        "OrderRepository é esvaziado todas as noites.", "Três tentativas falhadas bloqueiam a conta.",
        "As traduções estão na pasta locales.", "O envio para a Madeira custa nove euros.",
        "As imagens são reduzidas antes do envio.", "A soma de verificação é calculada no arranque.",
        "O horário das cópias está em backup.yaml.", "Os boletins saem à terça-feira.",
    ),
    "nl": (
        "De factuurnummers komen uit een reeks.", "De afronding van prijzen gebruikt twee decimalen.",
        "De winkelwagen verwijdert verlopen bonnen.", "De database staat twintig verbindingen toe.",
        "OrderRepository wordt elke nacht geleegd.", "Mislukte aanmeldingen blokkeren de rekening.",
        "De vertalingen staan in de map locales.", "Verzending naar Texel kost negen euro.",
        "Afbeeldingen worden voor het uploaden verkleind.", "De controlesom wordt bij de start berekend.",
        "Het schema van de reservekopieën staat in backup.yaml.", "Nieuwsbrieven gaan op dinsdag weg.",
    ),
    "pl": (
        "Numery faktur pochodzą z sekwencji.", "Zaokrąglanie cen używa dwóch miejsc.",
        "Koszyk usuwa przeterminowane kupony.", "Baza danych przyjmuje dwadzieścia połączeń.",
        "OrderRepository jest czyszczony co noc.", "Nieudane logowania blokują konto.",
        "Tłumaczenia są w katalogu locales.", "Wysyłka na Hel kosztuje dziewięć złotych.",
        "Obrazy są zmniejszane przed wysłaniem.", "Suma kontrolna jest liczona przy starcie.",
        "Harmonogram kopii jest w backup.yaml.", "Biuletyny wychodzą we wtorki.",
    ),
    "ru": (
        "Номера счетов берутся из последовательности.", "Округление цен в корзине исправлено.",
        "Корзина удаляет просроченные купоны.", "База данных принимает двадцать соединений.",
        "OrderRepository очищается каждую ночь.", "Неудачные входы блокируют учётную запись.",
        "Переводы лежат в папке locales.", "Доставка на Сахалин стоит девять рублей.",
        "Изображения уменьшаются перед загрузкой.", "Контрольная сумма считается при запуске.",
        "Расписание копий находится в backup.yaml.", "Рассылка уходит по вторникам.",
    ),
    "tr": (
        "Fatura numaraları bir diziden geliyor.", "Fiyatların yuvarlanması iki basamak kullanıyor.",
        "Sepet süresi dolan kuponları siliyor.", "Veritabanı yirmi bağlantı kabul ediyor.",
        "OrderRepository her gece boşaltılıyor.", "Başarısız girişler hesabı kilitliyor.",
        "Çeviriler locales klasöründe duruyor.", "Bozcaada gönderimi dokuz lira tutuyor.",
        "Görseller yüklenmeden önce küçültülüyor.", "Sağlama toplamı açılışta hesaplanıyor.",
        "Yedeklerin takvimi backup.yaml içinde.", "Bültenler salı günleri çıkıyor.",
    ),
    "zh": (
        "发票编号现在来自一个序列。", "重试逻辑已经修好：现在用指数退避。", "购物车会删除过期的优惠券。",
        "数据库连接池的大小改为二十。", "每天夜里用OrderRepository的purge方法清理。", "登录失败三次会锁定账户。",
        "翻译文件放在locales目录里。", "寄往海南的运费是九元。", "图片在上传之前会被缩小。",
        "启动时计算文件的校验和。", "备份的时间表写在backup.yaml里。", "新闻邮件每周二发送。",
    ),
    "ja": (
        "請求書の番号は連番から取ります。", "消費税の端数は切り捨てにしました。", "カートは期限切れのクーポンを削除します。",
        "データベース接続の上限は二十です。", "OrderRepositoryは毎晩空にされます。", "ログインに三回失敗するとアカウントがロックされます。",
        "翻訳はlocalesフォルダにあります。", "沖縄への送料は九百円です。", "画像はアップロード前に縮小されます。",
        "起動時にチェックサムを計算します。", "バックアップの予定はbackup.yamlにあります。", "ニュースレターは火曜日に送られます。",
    ),
    "ko": (
        "청구서 번호는 시퀀스에서 가져옵니다.", "가격 반올림은 두 자리를 사용합니다.", "장바구니는 만료된 쿠폰을 삭제합니다.",
        "데이터베이스 연결은 스무 개로 제한됩니다.", "OrderRepository는 매일 밤 비워집니다.", "로그인에 실패하면 계정이 잠깁니다.",
        "번역은 locales 폴더에 있습니다.", "제주 배송비는 구천 원입니다.", "이미지는 업로드 전에 축소됩니다.",
        "시작할 때 체크섬을 계산합니다.", "백업 일정은 backup.yaml에 있습니다.", "소식지는 화요일에 나갑니다.",
    ),
    "ar": (
        "أرقام الفواتير تأتي من تسلسل.", "تقريب الأسعار يستخدم منزلتين.", "سلة التسوق تحذف القسائم المنتهية.",
        "قاعدة البيانات تقبل عشرين اتصالا.", "يتم تفريغ OrderRepository كل ليلة.", "محاولات الدخول الفاشلة تقفل الحساب.",
        "الترجمات موجودة في مجلد locales.", "الشحن إلى أسوان يكلف تسعة جنيهات.", "يتم تصغير الصور قبل الرفع.",
        "يحسب المجموع الاختباري عند البدء.", "جدول النسخ موجود في backup.yaml.", "النشرات تخرج يوم الثلاثاء.",
    ),
    "hi": (
        "चालान की संख्या एक अनुक्रम से आती है।", "कीमतों का पूर्णांकन दो अंकों तक होता है।", "कार्ट पुराने कूपन हटा देती है।",
        "डेटाबेस बीस कनेक्शन लेता है।", "OrderRepository हर रात खाली किया जाता है।", "असफल लॉगिन खाते को बंद कर देते हैं।",
        "अनुवाद locales फ़ोल्डर में हैं।", "लद्दाख भेजने का शुल्क नौ रुपये है।", "चित्र भेजने से पहले छोटे किए जाते हैं।",
        "शुरुआत में चेकसम की गणना होती है।", "बैकअप की समय-सारणी backup.yaml में है।", "समाचार पत्र मंगलवार को जाते हैं।",
    ),
    "th": (
        "เลขใบแจ้งหนี้มาจากลำดับ", "การปัดเศษราคาใช้สองตำแหน่ง", "ตะกร้าลบคูปองที่หมดอายุ", "ฐานข้อมูลรับยี่สิบการเชื่อมต่อ",
        "OrderRepository ถูกล้างทุกคืน", "การเข้าสู่ระบบที่ล้มเหลวจะล็อกบัญชี", "คำแปลอยู่ในโฟลเดอร์ locales", "ค่าส่งไปภูเก็ตเก้าบาท",
        "รูปภาพถูกย่อก่อนอัปโหลด", "คำนวณผลรวมตรวจสอบตอนเริ่ม", "ตารางสำรองข้อมูลอยู่ใน backup.yaml", "จดหมายข่าวออกวันอังคาร",
    ),
}  # fmt: skip

QUESTIONS: dict[str, tuple[tuple[str, int | None], ...]] = {
    "de": (("Rechnungsnummer", 0), ("Groessenumrechnung", 1), ("abgelaufener Gutschein", 2), ("wie viele Verbindungen hat die Datenbank?", 3), ("OrderRepository leeren", 4), ("Umrechnung", 1), ("Wo liegen die Übersetzungen?", 6), ("Rezept für Apfelkuchen", None), ("Welche Farbe hat der Elefant?", None), ("Dudelsack Konzert", None)),
    "fr": (("facture", 0), ("cafe", 1), ("bon expiré", 2), ("combien de connexions pour la base de données ?", 3), ("vider OrderRepository", 4), ("image réduite", 8), ("sauvegarde backup.yaml", 10), ("recette de tarte aux pommes", None), ("la couleur de l'éléphant", None), ("concert de cornemuse", None)),
    "es": (("factura", 0), ("redondear precio", 1), ("cupón caducado", 2), ("¿cuántas conexiones admite la base de datos?", 3), ("vaciar OrderRepository", 4), ("imagen reducida", 8), ("traduccion", 6), ("receta de tarta de manzana", None), ("el color del elefante", None), ("concierto de gaita", None)),
    "it": (("fattura", 0), ("arrotondare i prezzi", 1), ("buono scaduto", 2), ("quante connessioni accetta il database?", 3), ("svuotare OrderRepository", 4), ("immagine ridotta", 8), ("traduzione", 6), ("ricetta della torta di mele", None), ("il colore dell'elefante", None), ("concerto di cornamusa", None)),
    "pt": (("fatura", 0), ("arredondar preço", 1), ("cupão expirado", 2), ("quantas ligações aceita a base de dados?", 3), ("esvaziar OrderRepository", 4), ("imagem reduzida", 8), ("traducao", 6), ("receita de tarte de maçã", None), ("a cor do elefante", None), ("concerto de gaita", None)),
    "nl": (("factuurnummer", 0), ("prijs afronden", 1), ("verlopen bon", 2), ("hoeveel verbindingen heeft de database?", 3), ("OrderRepository legen", 4), ("vertaling", 6), ("afbeelding verkleinen", 8), ("recept voor appeltaart", None), ("welke kleur heeft de olifant?", None), ("doedelzak concert", None)),
    "pl": (("numer faktury", 0), ("zaokrąglenie ceny", 1), ("kupon", 2), ("ile połączeń przyjmuje baza danych?", 3), ("wyczyść OrderRepository", 4), ("tlumaczenie", 6), ("zmniejszanie obrazu", 8), ("przepis na szarlotkę", None), ("jaki kolor ma słoń?", None), ("koncert dudziarza", None)),
    "ru": (("номер счёта", 0), ("округления цены", 1), ("просроченный купон", 2), ("сколько соединений у базы данных?", 3), ("очистить OrderRepository", 4), ("перевод", 6), ("загрузка изображения", 8), ("рецепт яблочного пирога", None), ("какого цвета слон?", None), ("концерт волынки", None)),
    "tr": (("fatura numarası", 0), ("fiyat yuvarlama", 1), ("kupon silme", 2), ("veritabanı bağlantı sayısı", 3), ("OrderRepository boşalt", 4), ("çeviri", 6), ("görsel küçültme", 8), ("elmalı turta tarifi", None), ("filin rengi nedir?", None), ("gayda konseri", None)),
    "zh": (("发票编号", 0), ("指数退避", 1), ("优惠券过期", 2), ("数据库连接池多大？", 3), ("OrderRepository怎么清理", 4), ("登录失败会怎么样", 5), ("purge", 4), ("苹果派的做法", None), ("大象是什么颜色", None), ("风笛音乐会", None)),
    "ja": (("請求書番号", 0), ("端数", 1), ("クーポンの期限", 2), ("データベースの接続数の上限は？", 3), ("OrderRepositoryを空にする", 4), ("送料", 7), ("画像の縮小", 8), ("林檎パイの作り方", None), ("象の色は何ですか", None), ("風笛の演奏会", None)),
    "ko": (("청구서 번호", 0), ("반올림", 1), ("쿠폰", 2), ("데이터베이스 연결은 몇 개?", 3), ("OrderRepository 비우기", 4), ("장바구니", 2), ("이미지 축소", 8), ("사과 파이 만드는 법", None), ("코끼리는 무슨 색?", None), ("백파이프 연주회", None)),
    "ar": (("رقم الفاتورة", 0), ("تقريب السعر", 1), ("القسيمة المنتهية", 2), ("كم اتصالا تقبل قاعدة البيانات؟", 3), ("تفريغ OrderRepository", 4), ("الترجمة", 6), ("تصغير الصورة", 8), ("وصفة فطيرة التفاح", None), ("ما لون الفيل؟", None), ("حفلة مزمار القربة", None)),
    "hi": (("चालान संख्या", 0), ("कीमत का पूर्णांकन", 1), ("कूपन", 2), ("डेटाबेस के कितने कनेक्शन?", 3), ("OrderRepository खाली करना", 4), ("अनुवाद", 6), ("लॉगिन असफल", 5), ("सेब पाई की विधि", None), ("हाथी का रंग", None), ("मशकबीन संगीत सभा", None)),
    "th": (("ใบแจ้งหนี้", 0), ("ปัดเศษ", 1), ("คูปองหมดอายุ", 2), ("ฐานข้อมูลรับกี่การเชื่อมต่อ", 3), ("ล้าง OrderRepository", 4), ("คำแปล", 6), ("ย่อรูปภาพ", 8), ("สูตรพายแอปเปิ้ล", None), ("ช้างสีอะไร", None), ("คอนเสิร์ตปี่สกอต", None)),
}  # fmt: skip

IDENTIFIERS: tuple[tuple[str, str], ...] = (
    ("getUserById", "get user by id"), ("user_session_token", "userSessionToken"), ("parse-config-file", "parseConfigFile"),
    ("OrderRepository", "order repository"), ("HTTPServerError", "http server error"), ("MAX_RETRY_COUNT", "max retry count"),
    ("loadYAMLConfig", "load yaml config"), ("utf8Decoder", "utf8 decoder"), ("sha256_digest", "sha256 digest"), ("src/core/textTools.py", "text tools"),
    ("app.settings.databaseUrl", "database url"), ("kebab-case-name", "kebabCaseName"), ("XMLHttpRequest", "xml http request"), ("iPhone", "iphone"),
    ("GitHub", "github"), ("PostgreSQL", "postgresql"), ("JavaScript", "javascript"), ("isEmailVerified", "email verified"),
    ("on_before_unload", "before unload"), ("TS2345", "ts2345"), ("E1101", "e1101"), ("v2.14.0", "2.14.0"), ("2026-11-05", "2026-11-05"),
    ("ERR_CONNECTION_REFUSED", "connection refused"), ("createOrderLineItem", "order line item"), ("order_line_items", "orderLineItems"),
    ("UserAuthService", "auth service"), ("node:18-alpine", "node 18 alpine"), ("python3.11", "python 3.11"), ("useEffectOnce", "use effect once"),
    ("4f51a93c0d37", "4f51a93c0d37"), ("__init_subclass__", "init subclass"), ("--no-cache-dir", "no cache dir"), ("std::unique_ptr", "unique ptr"),
    ("handleClickOutside", "handle_click_outside"), ("BASE64_ENCODER", "base64Encoder"), ("parseISODate", "parse iso date"), ("dateToISOString", "date to iso string"),
    ("fetchWithTimeout", "fetch timeout"), ("DB_POOL_SIZE", "db pool size"), ("dbPoolSize", "db_pool_size"), ("io.netty.channel", "netty channel"),
    ("com.acme.billing", "acme billing"), ("InvoiceNumberGenerator", "invoice number generator"), ("retryBackoffMs", "retry backoff"), ("ipv6_address", "ipv6 address"),
    ("OAuth2Client", "oauth2 client"), ("S3BucketPolicy", "s3 bucket policy"), ("renderToString", "render to string"), ("tokenBudgetLimit", "token budget"),
    ("cache_key_prefix", "cacheKeyPrefix"), ("NullPointerException", "null pointer exception"), ("EADDRINUSE", "eaddrinuse"), ("0x80070005", "0x80070005"),
    ("lineHeightPx", "line height"), ("font-size-lg", "font size"), ("README.md", "readme"), ("docker-compose.yml", "docker compose"), ("tsconfig.json", "tsconfig"), ("pyproject.toml", "pyproject"),
)  # fmt: skip
"""A name in a memory, and what finds it; the other way round, too."""
