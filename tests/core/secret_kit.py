"""Examples and counter-examples of every rule of redaction, made at random when a test runs.

In a template ``{A20}`` is twenty letters and digits, ``{h20}`` hexadecimal, ``{H20}`` the same in
capitals, ``{U20}`` capitals and digits, ``{D20}`` digits, ``{W20}`` small letters and digits,
``{B20}`` base64, ``{l20}`` small base32, ``{w1}`` a word, ``{P20}`` a password, ``{S20}`` base32,
``{T20}`` letters, digits, dashes. The secret stands between ``«`` and
``»``. Nothing here has the form of a token, so that no scanner takes this file for a leak.
"""

import base64
import random
import re
import string
from typing import NamedTuple

from synthorg_tui.core.redaction_tokens import SHAPES

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "U": string.ascii_uppercase + string.digits,
    "D": string.digits,
    "W": string.ascii_lowercase + string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "l": "abcdefghijklmnopqrstuvwxyz234567",
    "x": "0123456789abcdefABCDEF",
    "S": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "P": string.ascii_letters + string.digits + "!#%*+?@^~=_-",
}
for _name in "TGEVFQ":
    _ALPHABETS[_name] = string.ascii_letters + string.digits + "_"
_WORDS = (
    "heron",
    "granite",
    "lovelace",
    "sturgeon",
    "marigold",
    "tangelo",
    "walrus",
    "quartz",
    "saddle",
    "ribbon",
    "copper",
    "meadow",
    "willow",
    "dagger",
    "puzzle",
    "anchor",
)


class Planted(NamedTuple):
    """A text with a secret in it."""

    text: str
    secret: str


def planted(template: str, seed: int) -> Planted:
    """Fill a template at random."""
    dice = random.Random(f"{template} {seed}")

    def fill(match: re.Match[str]) -> str:
        alphabet, count = match[1], int(match[2])
        if alphabet == "w":
            return " ".join(dice.sample(_WORDS, count))
        if alphabet == "L":  # a login
            return base64.b64encode(
                f"ada:{''.join(dice.choices(_ALPHABETS['A'], k=count))}".encode()
            ).decode()
        if alphabet == "P":
            text = "".join(dice.choices(_ALPHABETS["P"], k=count - 5))
            ends = string.ascii_letters
            return f"{dice.choice(ends)}{dice.choice('!#%*+@')}{dice.choice('23456789')}{text}Kq"
        if alphabet in "DlS" or count < 5:
            return "".join(dice.choices(_ALPHABETS[alphabet], k=count))
        text = "".join(dice.choices(_ALPHABETS[alphabet], k=count - 2))
        letter = "E" if alphabet in "UH" else "d"
        return f"{text[:1]}{dice.choice('23456')}{letter}{text[1:]}"

    text = re.sub(r"\{([AhHUDWBlwLxSPTGEVFQ])(\d+)\}", fill, template)
    before, rest = text.split("«")
    secret, after = rest.split("»")
    return Planted(before + secret + after, secret)


class Sample(NamedTuple):
    """What a rule finds, and what looks like it and stays."""

    examples: tuple[str, ...]
    harmless: tuple[str, ...]


def _prefixed(*prefixes: str, body: str, harmless: str) -> Sample:
    return Sample(tuple(f"«{prefix}{body}»" for prefix in prefixes), (harmless,))


RULE_SAMPLES: dict[str, Sample] = {
    "aws-pair": Sample(("AKIA{U16},«{B40}»",), ("AKIA and the rest",)),
    "aws-secret-key": Sample(
        ("aws configure set aws_secret_access_key «{B40}»",), ("secret_access_key is documented",)
    ),
    "access-token-variable": Sample(("AZURE_DEVOPS_EXT_PAT=«{W52}»",), ("GIT_PAT=$PAT",)),
    "npmrc-token": Sample(
        ("//registry.example/:_authToken=«{A30}»",), ("_authToken=${NPM_TOKEN}",)
    ),
    "cargo-login": Sample(
        ("cargo login «{A32}»", "cargo login --registry inner «{A36}»"),
        ("cargo login", "cargo login --registry inner"),
    ),
    "putty-key": Sample(
        (
            "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n«{B48}»\nPrivate-MAC: {h64}",
            "Private-Lines: 2\n{B64}\n«{B40}»\n",
        ),
        ("Private-Lines: 1 says how many lines follow",),
    ),
    "kube-key": Sample(
        ("    client-key-data: «{B200}»", '"client-key-data": "«{B200}»"'),
        ("client-key-data: str", "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"),
    ),
    "aws-access-key": _prefixed("AKIA", "ASIA", body="{U16}", harmless="AKIAIOSFODNN7" + "EXAMPLE"),
    "bedrock-key": _prefixed("ABSK", body="{B120}", harmless="ABSKlein"),
    "google-api-key": _prefixed("AIza", body="{A35}", harmless="AIzawa is a name"),
    "google-oauth": _prefixed("GOCSPX-", "ya29.", body="{A40}", harmless="GOCSPX-id ya29.com"),
    "azure-key": Sample(("AccountKey=«{B86}»==",), ("AccountKey=<key>",)),
    "azure-sas": Sample(("https://x.example/c?sv=1&sig=«{A43}»%3D",), ("f(x, sig=signature)",)),
    "azure-secret": Sample(("«{A3}8Q~{A34}»",), ("8Q~1",)),
    "azure-devops": Sample(("«{A76}AZDO{A4}»",), ("AZDO is short for Azure DevOps",)),
    "azure-devops-base32": Sample(
        ("AzureDevOps said «{l52}»",),
        (
            "azure " + "a" * 52,
            "azure " + "abcdefghijklmnopqrstuvwxyz" * 2,
            "azure " + "2" * 52,
            "azure 4f51a93c0d370d1205e88be6e9b5f7a86d2c0e1d",
            "l" * 52,
        ),
    ),
    "digitalocean-token": _prefixed("dop_v1_", "doo_v1_", body="{h64}", harmless="dop_v1_name"),
    "fly-token": _prefixed("fo1_", "fm2_", body="{A60}", harmless="fm2_radio"),
    "netlify-token": _prefixed("nfp_", body="{A36}", harmless="nfp_build"),
    "databricks-token": _prefixed("dapi", body="{h32}", harmless="dapi.example.org"),
    "supabase-key": Sample(
        ("«sbp_{h40}»", "«sb_secret_{A32}»"), ("sb_publishable_key", "sb_secret_name")
    ),
    "planetscale-token": _prefixed(
        "pscale_tkn_", "pscale_pw_", "pscale_oauth_", body="{A43}", harmless="pscale_pw_file"
    ),
    "vault-token": _prefixed("hvs.", "hvb.", body="{A90}", harmless="hvs.client"),
    "terraform-token": Sample(("«{A14}.atlasv1.{A67}»",), ("x.atlasv1.y",)),
    "pulumi-token": _prefixed("pul-", body="{h40}", harmless="pul-up"),
    "doppler-token": Sample(
        ("«dp.pt.{A43}»", "«dp.st.dev.{A43}»", "«dp.ct.{A43}»"), ("dp.pt.name", "dp.st.dev")
    ),
    "anthropic-key": _prefixed("sk-ant-", body="{A90}", harmless="sk-ant-x"),
    "openai-key": _prefixed("sk-proj-", "sk-", body="{A48}", harmless="sk-learn sk-" + "x" * 40),
    "huggingface-token": _prefixed("hf_", body="{A34}", harmless="hf_hub_download"),
    "groq-key": _prefixed("gsk_", body="{A52}", harmless="gsk_model"),
    "xai-key": _prefixed("xai-", body="{A80}", harmless="xai-explain"),
    "perplexity-key": _prefixed("pplx-", body="{A48}", harmless="pplx-70b-online"),
    "replicate-token": _prefixed("r8_", body="{A37}", harmless="r8_unorm"),
    "nvidia-key": _prefixed("nvapi-", body="{A64}", harmless="nvapi-settings"),
    "github-token": _prefixed("ghp_", "gho_", "ghs_", body="{A36}", harmless="ghp_" + "x" * 36),
    "github-fine-grained": _prefixed("github_pat_", body="{A60}", harmless="github_pat_file"),
    "gitlab-token": _prefixed(
        *("glpat-", "glft-", "glsoat-", "glagent-", "glrt-", "gldt-"),
        body="{A24}",
        harmless="glpat-your-token",
    ),
    "bitbucket-password": _prefixed("ATBB", body="{A32}", harmless="ATBBx"),
    "atlassian-token": _prefixed("ATATT3", "ATCTT3", body="{A180}", harmless="ATATT3 begins it"),
    "npm-token": _prefixed("npm_", body="{A36}", harmless="npm_config_registry"),
    "pypi-token": _prefixed("pypi-", body="{A100}", harmless="pypi-server"),
    "rubygems-key": _prefixed("rubygems_", body="{h48}", harmless="rubygems_version"),
    "crates-token": _prefixed("cio", body="{A32}", harmless="cio.example.org"),
    "docker-token": _prefixed("dckr_pat_", body="{A27}", harmless="dckr_pat_file"),
    "sentry-token": _prefixed("sntrys_", "sntryu_", body="{h64}", harmless="sntrys_dsn"),
    "grafana-token": Sample(("«glsa_{A32}_{h8}»",), ("glsa_token",)),
    "grafana-key": _prefixed("glc_", "eyJrIjoi", body="{A60}", harmless="glc_context"),
    "newrelic-key": _prefixed("NRAK-", "NRII-", body="{U27}", harmless="NRAK-key"),
    "newrelic-license": Sample(("«{h36}NRAL»",), ("NRAL ends a licence",)),
    "postman-key": Sample(("«PMAK-{h24}-{h34}»",), ("PMAK-id",)),
    "linear-key": _prefixed("lin_api_", body="{A40}", harmless="lin_api_url"),
    "notion-token": _prefixed("secret_", body="{A43}", harmless="secret_name")._replace(
        examples=("«secret_{A43}»", "«ntn_{A46}»")
    ),
    "figma-token": _prefixed("figd_", body="{A40}", harmless="figd_node"),
    "airtable-token": Sample(("«pat{A14}.{h64}»",), ("pathname.replace", "pattern")),
    "slack-token": Sample(("«xoxb-{D12}-{A24}»", "«xoxp-{D12}-{A24}»"), ("xoxb-…",)),
    "slack-app": Sample(("«xapp-1-{A11}-{A40}»",), ("xapp-id",)),
    "slack-webhook": Sample(
        ("https://hooks.slack.com/services/«T{U8}/B{U8}/{A24}»",), ("https://hooks.slack.com/docs",)
    ),
    "telegram-token": Sample(("{D10}:«AA{A33}»",), ("10:AA", "12345678:AAB")),
    "discord-token": Sample(
        ("M{A23}.«{A6}.{A38}»", "OTk{A23}.«{A6}.{A27}»"),
        ("Module.submod.function_of_some_length_x",),
    ),
    "discord-webhook": Sample(
        ("https://discord.com/api/webhooks/{D18}/«{A68}»",), ("POST /api/webhooks/12/github",)
    ),
    "twilio-key": _prefixed("SK", body="{h32}", harmless="SKIP TASK SKU12"),
    "sendgrid-key": Sample(("«SG.{A22}.{A43}»",), ("SG.1.2",)),
    "mailgun-key": _prefixed(
        "key-", body="{h32}", harmless="cache-key-d41d8cd98f00b204e9800998ecf8427e"
    ),
    "mailchimp-key": Sample(("«{h32}-us12»",), ("en-us d41d8cd98f00b204e9800998ecf8427e-usage",)),
    "stripe-key": _prefixed("sk_live_", "rk_live_", body="{A24}", harmless="sk_live_mode"),
    "stripe-webhook": _prefixed("whsec_", body="{A32}", harmless="whsec_id"),
    "shopify-token": _prefixed("shpat_", "shpss_", "shpca_", body="{h32}", harmless="shpat_x"),
    "square-token": _prefixed("sq0atp-", "sq0csp-", body="{A43}", harmless="sq0idp-x"),
    "square-access": _prefixed("EAAA", body="{A60}", harmless="EAAAE"),
    "facebook-token": _prefixed("EAA", body="{A160}", harmless="EAAB"),
    "age-key": _prefixed("AGE-SECRET-KEY-1", body="{U58}", harmless="AGE-SECRET-KEY-1..."),
    "bcrypt": Sample(("$2b$12$«{A53}»", "$2y$10$«{A53}»"), ("$2 and $2b",)),
    "onepassword-token": _prefixed("ops_eyJ", body="{A300}", harmless="ops_eyJ..."),
    "onepassword-key": Sample(("«A3-{U6}-{U11}-{U5}-{U5}-{U5}»",), ("A3-sheet",)),
    "jwt": Sample(("«eyJ{A30}.{A60}.{A43}»",), ("eyJhbGciOiJ.x",)),
    "bearer": Sample(("Bearer «{A32}»",), ("Bearer $TOKEN", "the bearer of this message")),
    "basic": Sample(("Authorization: Basic «{L12}»",), ("authorization: basic",)),
    "authorization": Sample(("Authorization: token «{A32}»",), ("Authorization: $HEADER",)),
    "cookie-header": Sample(
        (
            "Cookie: sid=«{A32}»; theme=dark",
            "Set-Cookie: session=«{A40}»; Path=/; HttpOnly",
            '"cookie": "session=«{h32}»"',
        ),
        ("cookie: Cookie", "Set-Cookie: theme=dark; Path=/", "Cookie: sid=$SID", "cookie = jar"),
    ),
    "cookie-option": Sample(("curl --cookie 'sid=«{A32}»' x",), ("curl --cookie jar.txt x",)),
    "curl-cookie": Sample(('curl -s -b "sid=«{A32}»" x',), ("curl -b cookies.txt x",)),
    "url-password": Sample(
        ("postgres://ada:«{A12}»@db.example:5432/x",),
        (
            "https://example.org:8080/path@2",
            "https://x.example:8080",
        ),
    ),
    "url-token": Sample(("https://«{A40}»@git.example/x",), ("https://ada@git.example/x",)),
    "dsn-password": Sample(("Server=db;User Id=ada;Password=«{w1}»;",), ("Server=db;Encrypt=yes",)),
    "password-dsn": Sample(("password=«{w1}» host=db.example",), ("password=$X host=db",)),
    "netrc": Sample(("machine x.example login ada password «{A12}»",), ("login page password",)),
    "pgpass": Sample(
        ("db.example:5432:tides:ada:«{A12}»", "*:*:*:ada:«{A12}»", "localhost:*:x:ada:«{w1}»"),
        ("arn:aws:logs:*:*:log-group:name", "db.example:5432:5432", "at 12:5432:x"),
    ),
    "mysql-option": Sample(("mysql -u root -p«{A12}» tides",), ("mysql -p tides",)),
    "curl-user": Sample(("curl -u ada:«{A12}» https://x.example",), ("curl -u ada https://x",)),
    "registry-login": Sample(
        (
            "docker login -u ada -p «{A14}» registry.example",
            "podman login -p '«{w2}»' x",
            "helm registry login -u ada -p «{A12}» x",
        ),
        ("docker login -u ada --password-stdin", "docker run -p 8080:80 x", "docker login -p $PW"),
    ),
    "sshpass": Sample(
        ("sshpass -p «{A12}» ssh ada@x", "sshpass -p'«{w2}»' ssh x"), ("sshpass -e ssh ada@x",)
    ),
    "redis-option": Sample(("redis-cli -h x -a «{A16}» ping",), ("redis-cli -a $REDIS ping",)),
    "az-login": Sample(
        ("az login --service-principal -u {h8} -p «{A34}» --tenant x",), ("az vm list -p x",)
    ),
    "mongo-option": Sample(("mongosh -u ada -p «{A12}» x",), ("mongod --port 27017",)),
    "sqlcmd-option": Sample(("sqlcmd -S db -U sa -P «{A12}»",), ("sqlcmd -S db -E",)),
    "ldap-option": Sample(("ldapsearch -x -D cn=ada -w «{A12}» -b x",), ("ldapsearch -W",)),
    "openssl-option": Sample(
        ("openssl rsa -in k.pem -passin pass:«{A12}»",), ("openssl rsa -passin env:PW",)
    ),
    "piped-password": Sample(
        (
            "echo «{w1}» | sudo -S apt update",
            'echo "«{A12}»" | sudo -kS true',
            "echo -n «{A14}» | docker login -u ada --password-stdin",
        ),
        ("echo done | sudo tee /etc/x", "echo $PW | sudo -S apt update"),
    ),
    "sudo-here-string": Sample(("sudo -S true <<< '«{w1}»'",), ("sudo -S true <<< $PW",)),
    "htpasswd": Sample(("htpasswd -bc x ada «{A12}»",), ("htpasswd -c x ada",)),
    "secure-string": Sample(
        ("ConvertTo-SecureString '«{A12}»' -AsPlainText",), ("ConvertTo-SecureString $pw -Force",)
    ),
    "gh-secret": Sample(("gh secret set X --body «{A24}»",), ("gh secret set X < file",)),
    "ssh-keygen": Sample(("ssh-keygen -N '«{w2}»' -f k",), ("ssh-keygen -t ed25519 -N ''",)),
    "zip-option": Sample(("zip -P «{A12}» a.zip d", "unzip -P «{A12}» a.zip"), ("zip -r a.zip d",)),
    "7z-option": Sample(("7z a -p«{A12}» a.7z d",), ("7z x a.7z",)),
    "smb-option": Sample(("smbclient -U ada%«{A12}» //x/y",), ("smbclient -U ada //x/y",)),
    "net-user": Sample(("net user ada «{A12}» /add",), ("net user ada",)),
    "vault-login": Sample(("vault login «{A26}»",), ("vault login",)),
    "sql-identified": Sample(
        ("CREATE USER ada IDENTIFIED BY '«{w1}»'",), ("identified by its path", "IDENTIFIED BY ?")
    ),
    "seed-phrase": Sample(("my recovery phrase is «{w12}»",), ("a phrase of twelve words",)),
    "otp-secret": Sample(
        ("otpauth://totp/x:ada?secret=«{S32}»&issuer=x",), ("otpauth://totp/x?issuer=x",)
    ),
    "ngrok-token": Sample(("«2{A26}_{A20}»",), ("2_000_000 of 27_items",)),
    "element": Sample(("<dbPassword>«{A12}»</dbPassword>",), ("<password>${PW}</password>",)),
    "named-member": Sample(
        ("- name: API_TOKEN\n  value: «{A32}»",), ("- name: API_TOKEN\n  valueFrom: x",)
    ),
    "sql-password": Sample(("ALTER USER ada PASSWORD '«{A12}»'",), ("PASSWORD ''", "password (x)")),
    "env-line": Sample(
        (
            "DATABASE_PASSWORD=«{A12}»",
            "export X_TOKEN='«{A20}»'",
            "APP_SECRET=«{w1}»",
            "API_KEY%3D«{A20}»",
        ),
        ("PASSWORD=$DB_PASSWORD make", "SSH_KEY_PATH=/home/ada/.ssh/id", "MONKEY=banana1"),
    ),
    "quoted-value": Sample(
        (
            '{"api_key": "«{A20}»"}',
            '{\\"clientSecret\\": \\"«{A20}»\\"}',
            r"\u0022password\u0022: \u0022«{A12}»\u0022",
            '"auth": "«{L16}»"',
            "db_passphrase := '«{w1}»'",
        ),
        ('"auth": "basic"', '"password": "string"', '"token": "self.token"', 'token_type="word"'),
    ),
    "quoted-phrase": Sample(
        ('password: "«{w4}»"', "passphrase = '«{w5}»'", '{\\"password\\": \\"«{w3}»\\"}'),
        ('password="Enter your password"', '"password": "must be long enough"'),
    ),
    "plain-value": Sample(
        (
            "  auth_token: «{A24}»",
            "dd_app_key: «{h40}»",
            "_auth=«{L14}»",
            "password%3D«{A12}»",
            "token = «{A32}»",
        ),
        ("token_budget=1000", "auth: true", "key: value", "primary_key: id12345678"),
    ),
    "yaml-word": Sample(
        ("password: «{w1}»", "user: ada\n  password: «{w1}»\nport: 1", "db_password: «{w1}»  # x"),
        (
            *("password: str", "password: SecretStr", "  password: string;", "password: pw,"),
            *("ask for password: please", "password: required", "password: settings.secret"),
        ),
    ),
    "flag": Sample(
        ("deploy --api-key {A0}«{A24}» --now", "tool --password «{w1}»", "x --token=«{A24}»"),
        ("tool --password $PW", "sort --key=2 file", "tool --token <token>"),
    ),
    "flag-phrase": Sample(
        ("tool --password '«{w3}»'",), ("tool --password 'enter your password'",)
    ),
    "shell-set": Sample(
        (
            "set -x API_TOKEN «{A24}»",
            "set -gx GITHUB_TOKEN '«{A24}»'",
            "setenv DB_PASSWORD «{w1}»",
            "setx APP_SECRET «{A12}»",
        ),
        ("set -x PATH /usr/bin $PATH", "set -x API_TOKEN $OTHER", "set the token aside"),
    ),
}
"""By the name of each rule, those of the data file among them."""


def _shaped(line: str) -> tuple[str, Sample]:
    """Return the name of a shape in the data file, and examples that the shape itself describes."""
    name, _, _, shapes, lookalike, *_ = line.split("\t")
    plain = (re.sub(r"\{(\w\d+)[^}]*\}", r"{\1}", shape) for shape in shapes.split())
    return name, Sample(tuple(f"«{shape}»" for shape in plain), (lookalike,))


for _line in SHAPES.read_text(encoding="utf-8").splitlines():
    if not _line.startswith("#"):
        _name, _sample = _shaped(_line)
        RULE_SAMPLES.setdefault(_name, _sample)

HARMLESS = (
    *("API_KEY=$TOKEN", "api_key: <your-key>", "token=xxxxxxxxxxxx", "password=example"),
    *("secret: ${{ secrets.DEPLOY }}", "password: ********", "PASSWORD=changeme"),
    *("ghp_" + "x" * 36, "sk-ant-" + "X" * 40, "AKIAIOSFODNN7" + "EXAMPLE"),
    *("commit 4f51a93c0d370d1205e88be6e9b5f7a86d2c0e1d", "258c7280-ae70-4798-800f-63464d01a85d"),
    '"integrity": "sha512-' + "q1Ab" * 21 + 'aw=="',
    'checksum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"',
    *("password: str", "password: SecretStr", "token_budget=1000", "auth: true", "auth: null"),
    *("cookie: Cookie", "key: value", "cookies = CookieJar()", "Cookie: name=value"),
    *('{"usage": {"input_tokens": 3, "output_tokens": 142119}}', "tokens = tokens[0]"),
    *("def token(self) -> str: return self._token", "secret = base64.b64encode(data)"),
    *("password = getpass.getpass()", 'password = os.environ["PW"]', "auth=(user, password)"),
    *('parser.add_argument("--password", help="the password to use")', "token: Token | None"),
    *("the password is stored as a hash", "Enter the password: ", "Password is required."),
    *("password is at least 12 characters", "two keys are 128-bit", "pass: 12, fail: 3"),
    *("set -x", "set -euo pipefail", "echo done | sudo tee x", "az vm list", "docker run -p 80:80"),
    *(
        "Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "https://user:$PASS@host",
        "$2 is an awk field",
    ),
    *("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "next_page_token: CAEQAA12345678"),
    *('"auth": {"type": "basic"}', "auth: oauth2", "X-Api-Key: {api_key}", "passed: 12345678"),
)
"""Forms that look like secrets and are none."""
