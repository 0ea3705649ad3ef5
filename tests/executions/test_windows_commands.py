"""Commands of PowerShell and cmd: words, paths and operators are not those of a POSIX shell."""

from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.roles import is_part, role_of
from tests.tables import rows


@rows(
    ("command", "words"),
    [
        # Paths keep their backslashes.
        (r".\gradlew.bat test", [(r".\gradlew.bat", "test")]),
        (r"python tests\unit\pay_test.py", [("python", r"tests\unit\pay_test.py")]),
        (r"Get-Content C:\src\shop\app.log", [("Get-Content", r"C:\src\shop\app.log")]),
        (
            r'& "C:\Program Files\dotnet\dotnet.exe" test',
            [(r"C:\Program Files\dotnet\dotnet.exe", "test")],
        ),
        (r"type .\src\app.config", [("type", r".\src\app.config")]),
        # Words of the language are no programs.
        (
            r"if (Test-Path .\dist) { npm run build } else { npm ci }",
            [("Test-Path", r".\dist"), ("npm", "run", "build"), ("npm", "ci")],
        ),
        ("foreach ($f in Get-ChildItem src) { npx eslint $f }", [("npx", "eslint", "$f")]),
        ("try { Invoke-Pester } catch { Write-Host $_ }", [("Invoke-Pester",)]),
        ("$r = Get-ChildItem src; $r.Count", [("Get-ChildItem", "src")]),
        ('$env:CI = "1"; npm test', [("npm", "test")]),
        (
            "$ErrorActionPreference = 'Stop'; Get-Date; dotnet test",
            [("Get-Date",), ("dotnet", "test")],
        ),
        # Operators.
        (
            "Set-Location web; npm test | Select-Object -Last 5; Get-Date",
            [("npm", "test"), ("Get-Date",)],
        ),
        (
            "dotnet build `\n  -c Release; $x = 1; Get-Date",
            [("dotnet", "build", "-c", "Release"), ("Get-Date",)],
        ),
        (r"set PATH=C:\bin;%PATH% & npm test", [("npm", "test")]),
        (r"cd /d C:\src\shop && npm test", [("npm", "test")]),
        # A shell that is started with a command.
        (
            'pwsh -NoProfile -Command "npm test; npm run lint"',
            [("npm", "test"), ("npm", "run", "lint")],
        ),
        ('cmd /c "npm test & npm run lint"', [("npm", "test"), ("npm", "run", "lint")]),
        ("bash -lc 'cd web && npm test'", [("npm", "test")]),
        # What only looks like it.
        (r"grep 'a\|b' src/a.txt", [("grep", r"a\|b", "src/a.txt")]),
        (r"find . -name \*.py", [("find", ".", "-name", "*.py")]),
        (r"ls My\ Folder/a", [("ls", "My Folder/a")]),
        ("printf 'a\\nb'; npm test", [("npm", "test")]),
    ],
)
def test_the_programs_that_it_runs(command: str, words: list[tuple[str, ...]]) -> None:
    assert [step.words for step in command_steps(command)] == [
        each[1:] if each[0] == "npx" else each for each in words
    ]


@rows(
    ("command", "for_what", "part"),
    [
        (r".\gradlew.bat test", "test", False),
        (r'& "C:\Program Files\dotnet\dotnet.exe" test .\Shop.sln', "test", False),
        (r"dotnet.exe test tests\Pay.Tests\Pay.Tests.csproj --filter Name~Pay", "test", True),
        (r"Invoke-Pester -Path tests\Pay.Tests.ps1", "test", True),
        ("Invoke-Pester -Output Detailed", "test", False),
        (r"Invoke-ScriptAnalyzer -Path .\src -Recurse", "check", False),
        (r".\node_modules\.bin\eslint.cmd src", "check", False),
        (r".\venv\Scripts\python.exe -m pytest", "test", False),
        ("msbuild Shop.sln /t:Build", "build", False),
        (r"npm.cmd run lint", "check", False),
    ],
)
def test_what_a_command_of_windows_is_for(command: str, for_what: str, part: bool) -> None:
    (step,) = command_steps(command)

    assert (role_of(step), is_part(step)) == (for_what, part)


def test_a_folder_that_was_gone_to_is_that_of_what_follows() -> None:
    for command in (r"Set-Location C:\src\web; npm test", r"cd /d C:\src\web && npm test"):
        (step,) = command_steps(command)
        assert step.directory == r"C:\src\web"


def test_what_a_started_shell_hides_is_hidden() -> None:
    first, second = command_steps('pwsh -c "npm test; npm run lint" | Select-Object -Last 3')

    assert (first.hidden_by, second.hidden_by) == (";", "|")
