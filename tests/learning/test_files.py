"""Failing reads and edits that teach something: the tables are the specification."""

from synthorg_tui.curation.models import LessonKind
from synthorg_tui.learning.capture import create_capture_strategy
from synthorg_tui.learning.drafting import merged
from synthorg_tui.learning.files import FileCaptureStrategy, find_file_troubles
from synthorg_tui.learning.lessons import MAX_TITLE
from synthorg_tui.memory.config import CaptureConfig
from tests.learning.lesson_kit import Run
from tests.tables import rows

NO_MATCH = "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>"
STALE = "File has been modified since read, either by the user or by a linter. Read it again."
UNREAD = "File has not been read yet. Read it first before writing to it."
LARGE = "File content (28375 tokens) exceeds maximum allowed tokens (25000). Use offset and limit."
MISSING = "<tool_use_error>File does not exist.</tool_use_error>"
NOTEBOOK = "File is a Jupyter Notebook. Use NotebookEdit to edit this file."
BEFORE = "import { b, a } from './x';\nexport { b, a };"
AFTER = "import { a, b } from './x';\nexport { a, b };"
PATCH = "*** Begin Patch\n*** Update File: a.rs\n@@\n-OLD\n+use c\n*** End Patch"
NO_LINES = "apply_patch verification failed: Failed to find expected lines in a.rs"
SPACES = "func main() {\n    run()\n}"
TABS = "func main() {\n\trun()\n}"


def edited(old: str, again: str, said: str = NO_MATCH, path: str = "src/a.ts") -> Run:
    """A file that was written, an edit of it that failed, and the one that worked."""
    run = (
        Run().file("Write", path, content="x").file("Edit", path, said, fails=True, old_string=old)
    )
    return run.file("Read", path, again).file("Edit", path, old_string=again)


def after(command: str, output: str = "", *, code: int | None = None, said: str = NO_MATCH) -> Run:
    """An edit that failed after a command had rewritten the file."""
    run = Run().file("Write", "src/a.ts", content="x").bash(command, output, code=code)
    run.file("Edit", "src/a.ts", said, fails=True, old_string=BEFORE)
    return run.file("Read", "src/a.ts", AFTER).file("Edit", "src/a.ts", old_string=AFTER)


def looked(found: str, *, output: str | None = None, wanted: str = "src/tides.py") -> Run:
    """A file that wasn't there, the search for it, and where it was."""
    run = Run().file("Read", wanted, MISSING, fails=True)
    run.bash("find . -name 'tides*'", f"./{found}" if output is None else output)
    return run.file("Read", found, "text")


TEACH = {
    "a formatter that a script runs": (
        after("npm run check", "> biome check --write .\nChecked 9 files. Fixed 2 files."),
        "Read a file again after `npm run check` before you edit it",
    ),
    "a formatter run by hand": (
        after("ruff format .", "1 file reformatted"),
        "Read a file again after `ruff format` before you edit it",
    ),
    "a formatter between two patches": (
        Run()
        .file("apply_patch", "a.rs", input=PATCH.replace("OLD", "b, a"))
        .bash("cargo fmt")
        .file("apply_patch", "a.rs", NO_LINES, fails=True, input=PATCH.replace("OLD", "use b, a"))
        .file("apply_patch", "a.rs", input=PATCH.replace("OLD", "use a, b")),
        "Read a file again after `cargo fmt` before you edit it",
    ),
    "a check that rewrites and then fails": (
        after("npm run lint", "> eslint src --fix\n1 problem", code=1),
        "Read a file again after `npm run lint` before you edit it",
    ),
    "a file that the tool knows has changed": (
        after("cargo fmt", said=STALE),
        "Read a file again after `cargo fmt` before you edit it",
    ),
    "a file too large to read at once": (
        Run().file("Read", "big.sql", LARGE, fails=True).file("Read", "big.sql", offset=1, limit=9),
        "Read large files in parts, with `offset` and `limit`",
    ),
    "line numbers copied with the text": (
        edited("   12→let a\n   13→let b", "let a\nlet b"),
        "Leave line numbers out of the text you replace",
    ),
    "spaces where there are tabs": (
        edited(SPACES, TABS, path="main.go"),
        "Indent with tabs in `.go` files here",
    ),
    "a folder above all others": (
        looked("backend/src/tides.py"),
        "Begin paths of this project with `backend/`",
    ),
    "a file in another folder": (looked("lib/tides.py"), "Look for `tides.py` in `lib`"),
    "a tool for files of that sort": (
        Run()
        .file("Edit", "plot.ipynb", NOTEBOOK, fails=True)
        .file("NotebookEdit", "plot.ipynb", notebook_path="/srv/tidepool/plot.ipynb"),
        "Use NotebookEdit for `.ipynb` files",
    ),
}

SILENT = {
    "the text was simply another": edited("let a = 1", "const limit = compute(2)"),
    "only a blank was wrong": edited("let a  = 1", "let a = 1"),
    "a command between that rewrites nothing": after("npm test", "9 passed"),
    "a formatter that had nothing to do": after("npx biome check --write .", "No fixes applied."),
    "the formatter ran before the file was read": Run()
    .bash("ruff format .", "1 file reformatted")
    .file("Read", "a.py", "x")
    .file("Edit", "a.py", NO_MATCH, fails=True, old_string="b, a")
    .file("Read", "a.py", "x")
    .file("Edit", "a.py", old_string="a, b"),
    "another agent's words": edited("a = 1", "b = 2", said="Error: oldString not found in content"),
    "a block that another agent searched for": edited(
        "a = 1", "b = 2", said="The SEARCH block was not found in the file."
    ),
    "a file that a shell showed": Run()
    .file("apply_patch", "a.rs", NO_LINES, fails=True, input=PATCH.replace("OLD", "let a = 1"))
    .bash("sed -n 1,20p a.rs", "const LIMIT: u8 = compute(2)")
    .file("apply_patch", "a.rs", input=PATCH.replace("OLD", "const LIMIT: u8 = compute(2)")),
    "a file that wasn't read": Run()
    .file("Edit", "a.py", UNREAD, fails=True, old_string="x")
    .file("Read", "a.py", "x")
    .file("Edit", "a.py", old_string="x"),
    "another branch checked out between": Run()
    .file("Write", "src/a.ts", content="x")
    .bash("npm run check", "Fixed 2 files.")
    .bash("git checkout main && git pull")
    .file("Edit", "src/a.ts", STALE, fails=True, old_string=BEFORE)
    .file("Read", "src/a.ts", AFTER)
    .file("Edit", "src/a.ts", old_string=AFTER),
    "an edit repeated without reading": Run()
    .file("Edit", "src/a.ts", NO_MATCH, fails=True, old_string="let a = 1")
    .file("Edit", "src/a.ts", old_string="const limit = compute(2)"),
    "an edit after another file was read": Run()
    .file("Edit", "src/a.ts", NO_MATCH, fails=True, old_string="let a = 1")
    .file("Read", "src/b.ts", "x")
    .file("Edit", "src/a.ts", old_string="const limit = compute(2)"),
    "a file outside the project": Run()
    .file("Read", "/tmp/out/tides.log", MISSING, fails=True)
    .bash("ls", "/tmp/b/tides.log")
    .file("Read", "/tmp/b/tides.log"),
    "a file that nobody searched for": looked("lib/tides.py", output="nothing"),
    "a file that the agent then wrote": Run()
    .file("Read", "src/tides.py", MISSING, fails=True)
    .file("Write", "src/tides.py", content="x")
    .file("Read", "src/tides.py", "x"),
    "a file that the agent had moved": Run()
    .bash("git mv src/tides.py lib/tides.py")
    .file("Read", "src/tides.py", MISSING, fails=True)
    .bash("ls lib", "lib/tides.py")
    .file("Read", "lib/tides.py", "x"),
    "a name that files in many folders have": looked("lib/__init__.py", wanted="src/__init__.py"),
    "a large file that was searched instead": Run()
    .file("Read", "big.sql", LARGE, fails=True)
    .bash("grep -n x big.sql", "1:x"),
    "an edit that never worked": Run().file("Edit", "a.py", UNREAD, fails=True),
    "an identical edit": Run()
    .file("Edit", "a.py", "No changes made: old and new are identical.", fails=True)
    .file("Edit", "a.py", old_string="x"),
}


@rows("name", TEACH)
def test_why_a_read_or_an_edit_failed_is_told(name: str) -> None:
    run, title = TEACH[name]
    (captured,) = FileCaptureStrategy().capture(run.done())
    assert captured.lesson.proposal.discovery == title
    assert captured.lesson.kind is LessonKind.FILE


@rows("name", SILENT)
def test_a_slip_of_the_moment_teaches_nothing(name: str) -> None:
    assert list(find_file_troubles(SILENT[name].done())) == []


def test_the_place_of_a_file_is_a_lesson_of_several_sessions() -> None:
    (captured,) = FileCaptureStrategy().capture(looked("lib/tides.py").done())
    run = {"execution": "claude_code:s2"}
    seen = captured.lesson.evidence[0].model_copy(update=run)
    again = captured.lesson.model_copy(update={"evidence": (seen,)})
    twice = merged(captured.lesson, again)
    assert captured.lesson.proposal.confidence < 0.5 <= twice.proposal.confidence


@rows(
    ("output", "told"),
    [
        ("> biome check --write .\nChecked 9 files. Fixed 2 files.", " (“Fixed 2 files”)"),
        ("> biome check --write .\nChecked 9 files.", ""),
    ],
)
def test_only_what_a_command_says_of_a_change_is_quoted(output: str, told: str) -> None:
    (captured,) = FileCaptureStrategy().capture(after("npm run check", output).done())
    assert captured.lesson.proposal.rationale.startswith(
        f"`npm run check` puts files into form{told}, so"
    )


@rows("name", TEACH)
def test_the_words_are_short_and_whole(name: str) -> None:
    proposal = FileCaptureStrategy().capture(TEACH[name][0].done())[0].lesson.proposal
    assert len(proposal.discovery) <= MAX_TITLE
    assert 2 <= len(proposal.name.split("-")) <= 5
    assert all((proposal.condition, proposal.action, proposal.rationale, proposal.check))


def test_the_evidence_names_tool_file_and_what_came_between() -> None:
    run = after("npm run check", "Fixed 2 files.")
    (captured,) = FileCaptureStrategy().capture(run.done())
    (seen,) = captured.lesson.evidence
    assert (seen.failed, seen.resolved_by) == ("Edit src/a.ts", "Edit src/a.ts")
    assert seen.error == "String to replace not found in file"
    assert seen.between == ("npm run check",)
    assert seen.lines == "claude_code:s1#L6-L11"


def test_one_cause_is_one_lesson_whatever_the_file() -> None:
    def key(path: str) -> str:
        run = Run().file("Write", path, content="x").bash("cargo fmt")
        run.file("Edit", path, STALE, fails=True).file("Read", path).file("Edit", path)
        return FileCaptureStrategy().capture(run.done())[0].lesson.key

    assert key("src/a.rs") == key("src/b.rs") == "file|claude-code|edit after cargo fmt"


@rows(("setting", "lessons"), [("failure", 1), ("hybrid", 1), ("success", 0)])
def test_they_are_drawn_where_failures_are(setting: str, lessons: int) -> None:
    strategy = create_capture_strategy(CaptureConfig.model_validate({"type": setting}))
    captured = strategy.capture(TEACH["a file too large to read at once"][0].done())
    assert len(captured) == lessons
    assert all(strategy.stands_out(one, [10.0] * 9) for one in captured)
