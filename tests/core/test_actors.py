"""Who acts: recorded texts, those of earlier versions too, read back and shown in words."""

from synthorg_tui.approvals.person import Person, Policy
from synthorg_tui.core.actors import AGENT_MARKS, Actor, ActorKind, actor_words, agent_in, deed_of
from tests.tables import rows

NAMES = ("eva", "person", "a (b)", "claude-code", "x y")


@rows(
    ("recorded", "words"),
    [
        ("person", "a person"),
        ("person (tui)", "a person at the app"),
        ("root (terminal)", "root at a terminal"),
        ("root (command line)", "root by a command"),
        ("command line", "the command line"),
        ("codex", "agent codex"),
        ("agent codex", "agent codex"),
        ("claude-code (environment)", "agent claude-code, by a command it ran"),
        ("policy (memory.procedural.require_approval)",
         "the setting memory.procedural.require_approval"),
        ("import", "an import"),
        ("learn", "learning"),
        ("clock", "the clock"),
    ],
)  # fmt: skip
def test_every_recorded_author_has_words(recorded: str, words: str) -> None:
    assert actor_words(recorded) == words


def test_what_a_setting_approved_is_adopted_and_what_a_person_did_is_not() -> None:
    setting = str(Policy("approvals.review"))
    assert [deed_of(deed, setting) for deed in ("approved", "written")] == ["adopted"] * 2
    assert deed_of("removed", setting) == "removed"
    assert deed_of("approved", str(Person("tui"))) == "approved"


@rows("name", NAMES)
@rows("kind", [ActorKind.APP, ActorKind.TERMINAL, ActorKind.COMMAND, ActorKind.ENVIRONMENT])
def test_what_is_recorded_is_read_back(kind: ActorKind, name: str) -> None:
    assert Actor.parse(str(Actor(kind, name))) == Actor(kind, name)


def test_persons_and_policies_are_recorded_as_before() -> None:
    assert str(Person("tui")) == "person (tui)"
    assert str(Person("terminal", "eva")) == "eva (terminal)"
    assert str(Policy("a.b")) == "policy (a.b)"


def test_an_agents_environment_gives_its_id_as_connect_names_it() -> None:
    for mark, agent_id in (
        ("CLAUDECODE", "claude-code"), ("CODEX_CI", "codex"), ("CURSOR_AGENT", "cursor"),
        ("GEMINI_CLI", "gemini"), ("OPENCODE", "opencode"), ("AGENT", "agent"),
    ):  # fmt: skip
        found = agent_in({mark: "1"})
        assert found is not None
        assert (found.id, str(found.actor)) == (agent_id, f"{agent_id} (environment)")


def test_a_marked_agents_id_reads_as_that_agent() -> None:
    for agent_id, _ in AGENT_MARKS.values():
        assert Actor.parse(agent_id) == Actor(ActorKind.AGENT, agent_id)
