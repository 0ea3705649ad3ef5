"""Failures of programs that speak the person's language teach what they do in English."""

from synthorg_tui.executions.outcomes import output_verdict
from synthorg_tui.executions.output_lines import headline
from synthorg_tui.learning.capture import FailureCaptureStrategy
from tests.learning.lesson_kit import Run

TOOLS: dict[str, tuple[str, int, tuple[str, ...], dict[str, str]]] = {
    "git push": (
        "git push",
        128,
        ("git push -u origin retry",),
        {
            "en": "fatal: The current branch retry has no upstream branch.",
            "de": "Schwerwiegend: Der aktuelle Branch retry hat keinen Upstream-Branch.",
            "fr": "fatal : La branche courante retry n'a pas de branche amont.",
            "es": "fatal: La rama actual retry no tiene una rama upstream.",
            "ru": "fatal: Текущая ветка retry не имеет вышестоящей ветки.",
            "zh": "致命错误：当前分支 retry 没有对应的上游分支。",
        },
    ),
    "git status": (
        "git status",
        128,
        ("cd app && git status",),
        {
            "en": "fatal: not a git repository (or any of the parent directories): .git",
            "de": "Schwerwiegend: Kein Git-Repository (oder irgendeines der Elternverzeichnisse)",
            "fr": "fatal : ni ceci ni aucun de ses répertoires parents n'est un dépôt git : .git",
            "es": "fatal: no es un repositorio git (ni ninguno de los directorios superiores)",
            "ru": "fatal: не найден git репозиторий (или один из родительских каталогов): .git",
            "zh": "致命错误：不是 git 仓库（或者任何父目录）：.git",
        },
    ),
    "shell": (
        "pytest",
        127,
        ("uv run pytest",),
        {
            "en": "bash: line 1: pytest: command not found",
            "de": "bash: Zeile 1: pytest: Kommando nicht gefunden.",
            "fr": "bash: ligne 1: pytest : commande introuvable",
            "es": "bash: línea 1: pytest: orden no encontrada",
            "ru": "bash: строка 1: pytest: команда не найдена",
            "zh": "bash: 第 1 行： pytest：未找到命令",
        },
    ),
    "script": (
        "./deploy.sh",
        126,
        ("chmod +x deploy.sh", "./deploy.sh"),
        {
            "en": "bash: ./deploy.sh: Permission denied",
            "de": "bash: ./deploy.sh: Keine Berechtigung",
            "fr": "bash: ./deploy.sh: Permission non accordée",
            "es": "bash: ./deploy.sh: Permiso denegado",
            "ru": "bash: ./deploy.sh: Отказано в доступе",
            "zh": "bash: ./deploy.sh: 权限不够",
        },
    ),
    "tar": (
        "tar xf app.tgz",
        2,
        ("cd dist && tar xf app.tgz",),
        {
            "en": "tar: app.tgz: Cannot open: No such file or directory",
            "de": "tar: app.tgz: Kann nicht geöffnet werden: Datei oder Verzeichnis nicht gefunden",
            "fr": "tar: app.tgz : impossible d'ouvrir: Aucun fichier ou dossier de ce type",
            "es": "tar: app.tgz: No se puede abrir: No existe el archivo o el directorio",
            "ru": "tar: app.tgz: Не удалось открыть: Нет такого файла или каталога",
            "zh": "tar: app.tgz：无法打开: 没有那个文件或目录",
        },
    ),
    "mkdir": (
        "mkdir build",
        1,
        ("mkdir -p build",),
        {
            "en": "mkdir: cannot create directory 'build': File exists",
            "de": "mkdir: Verzeichnis „build“ kann nicht angelegt werden: Datei existiert bereits",
            "fr": "mkdir: impossible de créer le répertoire « build »: Le fichier existe",
            "es": "mkdir: no se puede crear el directorio «build»: El archivo ya existe",
            "ru": "mkdir: невозможно создать каталог «build»: Файл существует",
            "zh": "mkdir: 无法创建目录 “build”: 文件已存在",
        },
    ),
    "rm": (
        "rm build",
        1,
        ("rm -r build",),
        {
            "en": "rm: cannot remove 'build': Is a directory",
            "de": "rm: Entfernen von 'build' nicht möglich: Ist ein Verzeichnis",
            "fr": "rm: impossible de supprimer 'build': est un dossier",
            "es": "rm: no se puede borrar 'build': Es un directorio",
            "ru": "rm: невозможно удалить 'build': Это каталог",
            "zh": "rm: 无法删除 'build': 是一个目录",
        },
    ),
    "psql": (
        "psql -c 'select 1 from users'",
        1,
        ("make migrate", "psql -c 'select 1 from users'"),
        {
            "en": 'ERROR:  relation "users" does not exist',
            "de": "FEHLER:  Relation »users« existiert nicht",
            "fr": "ERREUR:  la relation « users » n'existe pas",
            "es": "ERROR:  no existe la relación «users»",
            "ru": "ОШИБКА:  отношение «users» не существует",
            "zh": '错误:  关系 "users" 不存在',
        },
    ),
}
"""Eight failures: the call, its exit status, what helps, and what is printed in six languages."""


MAKE = {
    "en": "make: *** No rule to make target 'tests'.  Stop.",
    "de": "make: *** Keine Regel, um „tests“ zu erstellen.  Schluss.",
    "fr": "make: *** Aucune règle pour fabriquer la cible « tests ». Arrêt.",
    "es": "make: *** No hay ninguna regla para construir el objetivo 'tests'.  Alto.",
    "ru": "make: *** Нет правила для сборки цели «tests».  Останов.",
    "zh": "make: *** 没有规则可制作目标“tests”。 停止。",
}


def lesson_of(call: str, status: int, remedy: tuple[str, ...], output: str) -> list[str]:
    run = Run().bash(call, output, code=status)
    for command in remedy:
        run.bash(command, "ok")
    captured = FailureCaptureStrategy().capture(run.done())
    return [found.proposal.discovery for found in captured]


def test_a_failure_teaches_what_it_does_in_english() -> None:
    for tool, (call, status, remedy, told) in TOOLS.items():
        in_english = lesson_of(call, status, remedy, told["en"])
        assert len(in_english) == 1, tool
        for code, output in told.items():
            assert lesson_of(call, status, remedy, output) == in_english, (tool, code)


def test_a_failure_is_called_by_the_line_that_names_it() -> None:
    for _, _, _, told in TOOLS.values():
        for output in told.values():
            line = headline(f"one line of progress\nanother line of progress\n{output}")
            assert "progress" not in line, output


def test_behind_a_pipe_the_text_says_that_it_failed() -> None:
    for told in (MAKE, *(TOOLS[tool][3] for tool in ("git push", "git status", "shell"))):
        for output in told.values():
            assert output_verdict(f"some output before\n{output}") is False, output
