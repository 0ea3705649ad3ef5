"""What ``org check`` finds: rules that disagree, repeat, lead nowhere, have no room, are broken."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.organisation.entry_checks import check_places, check_texts
from synthorg_tui.organisation.findings import FindingKind, OrgFinding
from synthorg_tui.organisation.lint import MAX_EVIDENCE, check_rules
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from tests.organisation.publish_kit import ADR, CONVENTION, WRITTEN, entry
from tests.tables import rows


class Sessions:
    """The imported sessions, as the check asks for them."""

    def __init__(self, *executions: Execution) -> None:
        self._executions = {one.id: one for one in executions}

    async def ids(self) -> tuple[str, ...]:
        return tuple(self._executions)

    async def get(self, execution_id: str) -> Execution | None:
        return self._executions.get(execution_id)


async def checked(
    *entries: OrgEntry, sessions: Sessions | None = None, budget: int = 500
) -> tuple[OrgFinding, ...]:
    return await check_rules(entries, sessions or Sessions(), budget)  # type: ignore[arg-type]


def session(number: int, *commands: str, days: int = 1, **fields: Any) -> Execution:
    calls = tuple(
        ToolCall(
            id=f"c{place}",
            tool="Bash",
            intent="x",
            arguments=command,
            outcome=CallOutcome.OK,
            call_line=place,
            result_line=place,
            at=WRITTEN + timedelta(days=days, minutes=place),
        )
        for place, command in enumerate(commands, 1)
    )
    said = {"reader": "claude-code", "agent_id": "claude-code", "project": "/work/shop"} | fields
    return Execution(id=f"claude-code:{number}", session_id=str(number), calls=calls, **said)


def pairs(*rules: str, **fields: Any) -> list[set[str]]:
    found = check_texts([entry(rule, **fields) for rule in rules])
    return [{one.text, *one.others} for one in found if one.kind is FindingKind.CONTRADICTION]


@rows(
    ("first", "second"),
    [
        ("Never push to main.", "Always push to main."),
        ("Never push to main.", "Push to main directly."),
        ("Use tabs.", "Never use tabs."),
        ("Use tabs, not spaces.", "Use spaces, not tabs."),
        ("Always squash commits.", "Do not squash commits."),
        ("Keep lines under 80 characters.", "Keep lines under 100 characters."),
        ("Use Python 3.11 everywhere.", "Use Python 3.12 everywhere."),
    ],
)
def test_rules_that_want_opposites_are_found(first: str, second: str) -> None:
    assert pairs(first, second) == [{first, second}]
    assert pairs(second, first) == [{first, second}]


@rows(
    ("first", "second"),
    [
        ("Never push to main.", "Push to a branch."),
        ("Never push to main.", "Push to main only for releases."),
        ("Never commit secrets.", "Commit often."),
        ("Never use tabs.", "Use tabs in Makefiles."),
        ("Always run the tests.", "Run the tests."),
        ("Never edit generated files.", "Edit files with care."),
        ("Use `pnpm`, not npm.", "Never use npm."),
        ("Keep functions under 40 lines.", "Keep files under 400 lines."),
        ("Read docs/a.md before you begin.", "Read docs/b.md before you begin."),
        ("Don't merge without a review.", "Merge with a review."),
        ("Never skip the tests.", "Run the tests."),
        ("If a test is flaky, delete it.", "Never delete a test."),
    ],
)
def test_rules_that_can_both_be_followed_are_left_alone(first: str, second: str) -> None:
    assert pairs(first, second) == []


def test_rules_of_different_projects_do_not_disagree() -> None:
    one = entry("Use tabs.", CONVENTION, project="/work/a")
    other = entry("Never use tabs.", CONVENTION, project="/work/b")
    everywhere = entry("Never use tabs!")
    assert list(check_texts([one, other])) == []
    (found,) = check_texts([one, everywhere])
    assert found.kind is FindingKind.CONTRADICTION


def test_the_same_words_twice_are_a_duplicate_for_the_same_readers() -> None:
    rules = [
        entry("Run the tests before a commit."),
        entry("run tests  before a commit", id="b"),
        entry("Run the tests before a commit.", id="c", origin=OrgOrigin.SKILL),
        entry("Never run the tests before a commit.", id="d"),
        entry("Use port 80.", id="e", project="/work/a"),
        entry("Use port 80.", id="f", project="/work/b"),
        entry("Use port 81.", id="g"),
    ]
    found = [one for one in check_texts(rules) if one.kind is FindingKind.DUPLICATE]
    assert [(one.entry_id, one.others) for one in found] == [
        ("b", (rules[0].id,)),
        ("c", (rules[0].id,)),
    ]


async def test_policies_without_room_are_found() -> None:
    rules = [entry(f"Rule {number} says do this or that.", id=str(number)) for number in range(12)]
    found = await checked(*rules, budget=100)
    assert found
    assert {one.kind for one in found} == {FindingKind.OVER_BUDGET}
    assert [one.entry_id for one in found] == [str(number) for number in range(12)][-len(found) :]
    assert await checked(*rules, budget=500) == ()


async def test_a_policy_that_takes_most_of_the_room_is_found() -> None:
    long = entry("word " * 300, id="long")
    (found,) = await checked(long, budget=500)
    assert (found.kind, found.severity) == (FindingKind.TOO_LONG, "warning")
    (found,) = await checked(long, budget=100)
    assert (found.kind, found.severity) == (FindingKind.TOO_LONG, "error")
    assert "aren't told" in found.why


def test_a_project_that_is_gone_is_found(tmp_path: Path) -> None:
    gone, there = str(tmp_path / "gone"), str(tmp_path)
    known = [entry("A.", project=gone), entry("B.", project=there), entry("C.")]
    (found,) = check_places(known)
    assert (found.kind, found.text) == (FindingKind.NO_PROJECT, "A.")


def test_a_decision_that_was_replaced_and_still_stands_is_found() -> None:
    old = entry("Cron.", ADR, id="old", title="Use cron", status="Accepted")
    new = entry("Queue.", ADR, id="new", title="Use a queue", supersedes=("old",))
    (found,) = check_places([old, new])
    assert (found.kind, found.entry_id, found.others) == (FindingKind.SUPERSEDED, "old", ("new",))
    marked = entry("Cron.", ADR, id="old", title="Use cron", status="Superseded by 2")
    assert list(check_places([marked, new])) == []


def test_a_rule_that_relies_on_a_replaced_decision_is_found() -> None:
    fields = {"status": "superseded", "source": "docs/adr/0003-cron.md#L1"}
    old = entry("Cron.", ADR, id="old", **fields)
    cites = entry("Run jobs as ADR-3 says.")
    others = [entry("Run jobs as ADR-4 says."), entry("ADR 3 was superseded."), entry("Take 3.")]
    (found,) = check_places([old, cites, *others])
    assert (found.text, found.others) == (cites.content, ("old",))


def test_files_and_commands_that_are_gone_are_found(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "there.sh").write_text("")
    (tmp_path / "Makefile").write_text("test lint:\n\tpytest\nbuild: test\n")
    (tmp_path / "package.json").write_text('{"scripts": {"check": "tsc"}}')
    said = {
        "Run `scripts/gone.sh` first.": "there is no scripts/gone.sh",
        "Run `make deploy` to finish.": "the Makefile has no target deploy",
        "Run `npm run lint` often.": "package.json has no script lint",
        "Run `scripts/there.sh`, `make lint` and `npm run check`.": "",
        "Create `scripts/new.sh` for it.": "",
        "Never touch `scripts/gone.sh`.": "",
        "Compare with `origin/main.x` and `packages/a/b.ts`.": "",
        "Ask `make` or `make $TARGET`, see `https://a.b/c.d`, `../x/y.z`.": "",
    }
    for text, why in said.items():
        found = list(check_places([entry(text, project=str(tmp_path))]))
        assert [one.why for one in found] == ([f"{why} in {tmp_path}"] if why else []), text
    assert list(check_places([entry("Run `scripts/gone.sh` first.")])) == []


async def test_a_rule_that_sessions_break_is_found_with_its_lines() -> None:
    rule = entry("Never push to main.")
    push = "git push origin main"
    sessions = Sessions(session(1, "ls", push), session(2, "ls"), session(3, push, push))
    (found,) = await checked(rule, sessions=sessions)
    assert (found.kind, found.severity, found.entry_id) == (FindingKind.BROKEN, "error", rule.id)
    assert (found.count, found.sessions, found.earlier) == (3, 2, 0)
    lines = [(one.execution_id, one.line, one.did) for one in found.evidence]
    assert sorted(lines) == [
        ("claude-code:1", 2, push),
        ("claude-code:3", 1, push),
        ("claude-code:3", 2, push),
    ]
    assert "2 sessions did what it forbids, 3 times" in found.why


async def test_what_was_before_the_rule_is_told_apart() -> None:
    rule = entry("Never push to main.")
    before = session(1, "git push origin main", days=-3)
    (found,) = await checked(rule, sessions=Sessions(before))
    assert (found.severity, found.earlier) == ("warning", 1)
    assert "all before it was last written" in found.why
    (found,) = await checked(rule, sessions=Sessions(before, session(2, "git push origin main")))
    assert (found.severity, found.count, found.earlier) == ("error", 2, 1)
    settings = entry("Never push to main.", origin=OrgOrigin.SETTINGS)
    (found,) = await checked(settings, sessions=Sessions(before))
    assert (found.severity, found.earlier) == ("error", 0)


async def test_the_latest_calls_are_the_evidence() -> None:
    sessions = Sessions(session(1, *["git push origin main"] * (MAX_EVIDENCE + 3)))
    (found,) = await checked(entry("Never push to main."), sessions=sessions)
    assert [one.line for one in found.evidence] == [8, 7, 6, 5, 4]


async def test_a_rule_of_a_project_is_broken_there_only() -> None:
    rule = entry("Never push to main.", project=str(Path("/")))
    sessions = Sessions(session(1, "git push origin main"))
    assert await checked(rule, sessions=sessions) == ()
    here = session(2, "git push origin main", project="/")
    (found,) = await checked(rule, sessions=Sessions(here))
    assert found.kind is FindingKind.BROKEN
