"""The line by which a failure is called: the one that a person would quote."""

from synthorg_tui.executions.output_lines import headline
from tests.tables import rows

CODEX = "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n"


@rows(
    ("output", "name"),
    [
        # Headers that a client puts before an output.
        (f"{CODEX}accepts at most 1 arg(s), received 2", "accepts at most 1 arg(s), received 2"),
        (f"{CODEX}hint: try --force\nremote: Not Found", "remote: Not Found"),
        ("Exit code 2\nOutput:\n\nno such collection", "no such collection"),
        ("==> Verifying\nSummary\n-: Output\nno such owner", "no such owner"),
        ("Total output lines: 90\n\nunknown flag: --short", "unknown flag: --short"),
        # What a runner prints of the command that it starts.
        (
            "$ tsc --noEmit\nsrc/a.ts(2,1): error TS2322: Type 'A' is wrong",
            "src/a.ts(2,1): error TS2322: Type 'A' is wrong",
        ),
        (
            "[lint] $ golangci-lint run ./...\npay/card.go:9:2: undefined: charge",
            "pay/card.go:9:2: undefined: charge",
        ),
        (
            "\n> shop@1.2.0 check\n> eslint .\n\n  × The attributes are not sorted.",
            "The attributes are not sorted",
        ),
        ("> vitest run\n\nError: cannot load the config", "cannot load the config"),
        (
            "[fmt] $ gofmt -w .\n[fmt] ERROR task failed\nstat ./x: no such file or directory",
            "stat ./x: no such file or directory",
        ),
        # Progress and the starts of watchers and hooks.
        (
            "[STARTED] Backing up original state...\n[COMPLETED] Backed up\n"
            "[FAILED] markdownlint --fix [FAILED]",
            "[FAILED] markdownlint --fix [FAILED]",
        ),
        (
            "[sync] Pushing logs to origin.... done\n ! [rejected] main -> main (fetch first)",
            "! [rejected] main -> main (fetch first)",
        ),
        (
            "Compiling 3 files\n** (CompileError) lib/a.ex:3: undefined variable",
            "** (CompileError) lib/a.ex:3: undefined variable",
        ),
        (
            "2026/01/19 15:18:54 INFO start component=hooks must-wait=1\npay_test.go:8: timed out",
            "pay_test.go:8: timed out",
        ),
        (
            "Watching for file changes...\nError: listen EADDRINUSE: address in use :::3000",
            "listen EADDRINUSE: address in use :::3000",
        ),
        # Warnings and ends that name nothing give way to what names something.
        (
            "[Parser] Warning: could not parse the answer\n(fail) cart > adds [2.00ms]\n 1 fail",
            "(fail) cart > adds [2.00ms]",
        ),
        ("found 1 error\nUnknown arguments: filter", "Unknown arguments: filter"),
        (
            'error: script "lint" exited with code 1\n./a.ts format ━\n  × Formatter would have '
            "printed the following content:",
            "Formatter would have printed the following content",
        ),
        ("FAIL\n--- FAIL: TestCharge (0.00s)", "--- FAIL: TestCharge (0.00s)"),
        (
            " ELIFECYCLE  Command failed with exit code 1.\nlisten EPERM: operation not permitted",
            "listen EPERM: operation not permitted",
        ),
        ('error: script "lint" exited with code 1', 'script "lint" exited with code 1'),
        # Lines of the source that an output shows are none of its own.
        ("  × Unused import.\n\n  727 731 │ throw new Error(\n  > 3 │ import a", "Unused import"),
        (
            "1101 | expect(output).toContain('Unknown flag: x');\nexpect(received).toContain()",
            "expect(received).toContain()",
        ),
        (">       assert cannot_pay(1)\nE       assert False", "assert False"),
        # Names of shells.
        ("zsh:1: command not found: gh", "command not found: gh"),
        ("(eval):1: no matches found: *.md", "no matches found: *.md"),
        ("bash: line 3: rg: command not found", "rg: command not found"),
        ("fatal: not a git repository", "not a git repository"),
        ("(no output)", ""),
        ("", ""),
    ],
)
def test_a_failure_is_called_by_the_line_that_names_it(output: str, name: str) -> None:
    assert headline(output) == name
