"""What facts state, and the paths through them that answer questions in several steps."""

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.graph import MAX_PATHS, MAX_QUESTION_CHARS, OrgGraph, OrgPath
from synthorg_tui.memory.org.models import OrgFact, OrgFactAuthor
from synthorg_tui.memory.org.statements import MAX_LINKS, links_of
from synthorg_tui.memory.org.verbs import RelationKind
from tests.memory.org.org_kit import PERSON, SENIOR
from tests.patience import PATIENCE
from tests.tables import rows

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEAK = (RelationKind.BESIDE, RelationKind.ABOUT)


def made(
    content: str, tags: Sequence[str] = (), fact_id: str = "f", author: OrgFactAuthor = PERSON
) -> OrgFact:
    return OrgFact(
        id=fact_id,
        content=content,
        category=OrgFactCategory.ADR,
        tags=tuple(tags),
        author=author,
        created_at=NOW,
    )


def drawn(*facts: OrgFact) -> OrgGraph:
    return OrgGraph.of((fact, links_of(fact)) for fact in facts)


def stated(content: str, tags: Sequence[str] = (), author: OrgFactAuthor = PERSON) -> set[str]:
    """What a text states, without what is only named in it."""
    links = links_of(made(content, tags, author=author))
    return {
        f"{link.source.name} {link.kind.value} {link.target.name}"
        for link in links
        if link.kind not in WEAK
    }


def graph_of(*contents: str) -> OrgGraph:
    return drawn(*(made(each, (), f"f{n}") for n, each in enumerate(contents)))


def answers(graph: OrgGraph, question: str) -> set[str]:
    return {path.hops[-1].end.name for path in graph.paths(question)}


# -- what facts state


@rows(
    ("content", "expected"),
    [
        ("The billing service uses orders-db.", {"billing service uses orders-db"}),
        ("orders-db is owned by Team Blue.", {"orders-db is owned by Team Blue"}),
        ("Team Blue owns orders-db.", {"orders-db is owned by Team Blue"}),
        ("The owner of orders-db is Team Blue.", {"orders-db is owned by Team Blue"}),
        ("Team Blue's lead is Ada Lovelace.", {"Team Blue is led by Ada Lovelace"}),
        ("Ada Lovelace is the lead of Team Blue.", {"Team Blue is led by Ada Lovelace"}),
        ("src/app.py imports src/db.py.", {"src/app.py imports src/db.py"}),
        ("Flask was replaced by Litestar.", {"Litestar replaces Flask"}),
        ("Use uv instead of pip.", {"uv replaces pip"}),
        ("Use Litestar, not Flask.", {"Litestar rules out Flask"}),
        ("Search must never use Redis.", {"Search rules out Redis"}),
        ("src/app.py depends on `make db`.", {"src/app.py depends on make db"}),
        (
            "Billing needs Redis and Kafka.",
            {"Billing depends on Redis", "Billing depends on Kafka"},
        ),
        (
            "Billing uses Redis, and it calls the fraud service.",
            {"Billing uses Redis", "Billing calls fraud service"},
        ),
        (
            "Billing uses Redis and Search uses Kafka.",
            {"Billing uses Redis", "Search uses Kafka"},
        ),
        (
            "Billing, which runs on Kubernetes, depends on the ledger that Team Red owns.",
            {"Billing runs on Kubernetes", "Billing depends on ledger"},
        ),
        (
            "Billing depends on the ledger, which is led by Ada.",
            {"Billing depends on ledger", "ledger is led by Ada"},
        ),
        (
            "All jobs use Postgres, except the search index.",
            {"jobs uses Postgres", "Postgres has the exception search index"},
        ),
        (
            "Use Litestar. Exception: the data team uses Django.",
            {
                "data team uses Django",
                "Litestar has the exception Django",
                "Litestar has the exception data team",
            },
        ),
    ],
)
def test_a_sentence_states(content: str, expected: set[str]) -> None:
    assert expected <= stated(content)
    named = {word for line in expected for word in line.split()}
    assert {word for line in stated(content) for word in line.split()} <= named


@rows(
    "content",
    [
        "We don't use Flask.",
        "If billing uses Redis, say so.",
        "Tests are run before anything is merged.",
        "Please make sure that it works for you and for everybody who needs it.",
        "    billing uses redis",
        "See what you need to use.",
        "Nothing.",
        "So it is kept in a file that nobody else needs.",
        "Readers resolve links, then calls are counted backwards.",
        "Of the two, the later one replaces what was said before.",
        "592 was used instead of 418 while measuring.",
        "Alike depends on words and on what is meant.",
        "What the owner's lock depends on is told by the system.",
        "Used again, it is stored together.",
    ],
)
def test_what_is_not_certain_is_not_stated(content: str) -> None:
    assert stated(content) == set()


def test_a_decision_says_what_it_is_about_whom_it_is_by_and_what_it_replaces() -> None:
    text = "# ADR-7: Use Litestar\n\nSupersedes ADR 0003. See ADR-2.\n\nDeciders: Jane Doe, @max"
    assert stated(text, author=SENIOR) == {
        "ADR-7 uses Litestar",
        "ADR-7 replaces ADR-3",
        "ADR-7 refers to ADR-2",
        "ADR-7 is written by Jane Doe",
        "ADR-7 is written by @max",
        "ADR-7 is written by coder",
    }


@rows("source", ["docs/adr/0007-web.md#L1", "doc/decisions/7-web.md"])
def test_the_file_that_a_fact_was_read_from_tells_which_decision_it_is(source: str) -> None:
    assert stated("Supersedes ADR-3.", (f"source:{source}",)) == {"ADR-7 replaces ADR-3"}


def test_what_tags_say_is_superseded_links_the_two_decisions() -> None:
    old = made("ADR-3: Flask", (), "old")
    new = made("ADR-9: Litestar", ("supersedes:old",), "new")
    (path,) = drawn(old, new).paths("What replaced ADR-0003?")
    assert (str(path), path.fact_ids) == ("ADR-9 replaces ADR-3", ("new",))


# -- hostile text


@rows(
    "text",
    [
        "a" * 50_000,
        "a-" * 25_000,
        "`" * 50_000,
        "A " * 25_000,
        "uses " * 10_000,
        "x uses y and " * 4_000,
        "a/" * 25_000,
        "ADR-" * 12_000,
        "not " * 12_000 + "use",
        ", which " * 6_000,
        "\x020\x03 uses \x0299\x03",
    ],
    ids=lambda text: text[:8],
)
def test_any_text_is_read_within_bounds(text: str) -> None:
    started = time.process_time()
    assert len(links_of(made(text))) <= MAX_LINKS
    graph_of("Billing uses Redis.").paths(text)
    assert time.process_time() - started < PATIENCE


def test_words_in_quotes_are_a_name_and_nothing_else() -> None:
    assert stated("`ignore this and uses root` is owned by Team Blue.") == {
        "ignore this and uses root is owned by Team Blue"
    }


# -- questions

SHOP = (
    "The billing service uses orders-db.",
    "orders-db is owned by Team Blue.",
    "Team Blue is led by Ada Lovelace.",
    "The reporting service depends on orders-db.",
    "The billing service depends on the ledger.",
    "The ledger runs on Postgres 16.",
    "The reporting service calls the mailer.",
    "Use Litestar, not Flask.",
    "ADR-7 supersedes ADR-3.",
    "ADR-9 supersedes ADR-7.",
)


@rows(
    ("question", "expected"),
    [
        ("Who owns orders-db?", {"Team Blue"}),
        ("What is orders-db's owner?", {"Team Blue"}),
        ("Which services depend on orders-db?", {"reporting service"}),
        ("Who owns the database that the billing service uses?", {"Team Blue"}),
        ("Who owns the database used by the billing service?", {"Team Blue"}),
        ("Who leads the team that owns what the billing service uses?", {"Ada Lovelace"}),
        ("What does the ledger that the billing service depends on run on?", {"Postgres 16"}),
        ("What uses the database that Team Blue owns?", {"billing service"}),
        ("What does the service that depends on orders-db call?", {"mailer"}),
        ("What replaced what replaced ADR-3?", {"ADR-9"}),
        ("What should we use instead of Flask?", {"Litestar"}),
        ("How is the reporting service connected to Ada Lovelace?", {"Ada Lovelace"}),
    ],
)
def test_a_question_is_answered_step_by_step(question: str, expected: set[str]) -> None:
    assert answers(graph_of(*SHOP), question) == expected


@rows(
    "question",
    [
        "What is the weather?",
        "Should I use Flask?",
        "How do I use orders-db?",
        "Fix the login of the billing service",
        "Who owns the ledger?",
        "Who leads the team that owns the ledger that the billing service depends on?",
        "Who owns Postgres?",
        "uses",
        "",
        "Who owns orders-db? " + "And so on. " * MAX_QUESTION_CHARS,
    ],
)
def test_what_no_path_answers_has_no_answer(question: str) -> None:
    assert answers(graph_of(*SHOP), question) == set()


def test_each_step_of_a_path_is_shown_with_the_fact_it_stands_on() -> None:
    (path,) = graph_of(*SHOP).paths("Who owns the database that the billing service uses?")
    assert str(path) == "billing service uses orders-db; orders-db is owned by Team Blue"
    assert [hop.link.fact_id for hop in path.hops] == ["f0", "f1"]
    assert path.hops[0].start.name == "billing service"


def test_a_fact_that_may_not_be_used_breaks_the_path() -> None:
    graph, question = graph_of(*SHOP), "Who owns the database that the billing service uses?"
    assert graph.paths(question, lambda fact_id: fact_id != "f1") == ()


def test_a_hub_has_no_more_paths_than_can_be_shown() -> None:
    graph = graph_of(*(f"Service S{number} uses Redis." for number in range(MAX_PATHS + 30)))
    assert len(graph.paths("What uses Redis?")) == MAX_PATHS


# -- 200 facts with known answers

USES, OWNS, LEADS, ROOM, DEPENDS = 60, 50, 30, 20, 40


class Company:
    """200 facts in many wordings, and what they come to."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.uses = {f"service-{n}": f"store-{n % OWNS}" for n in range(USES)}
        self.owner = {f"store-{n}": f"Team T{draw.randrange(LEADS)}" for n in range(OWNS)}
        self.lead = {f"Team T{n}": f"Person P{n % ROOM}" for n in range(LEADS)}
        self.host = {f"library-{n}": f"host-{n}" for n in range(ROOM)}
        self.needs = {f"service-{n}": f"library-{draw.randrange(ROOM)}" for n in range(DEPENDS)}
        forms = {
            "uses": ("{} uses {}.", "{1} is used by {0}.", "The {} currently uses the {}."),
            "owned": ("{} is owned by {}.", "{1} owns {0}.", "The owner of {} is {}."),
            "led": ("{} is led by {}.", "{1} leads {0}.", "{} is headed by {}."),
            "runs": ("{} runs on {}.", "{} is hosted on {}.", "{1} hosts {0}."),
            "needs": ("{} depends on {}.", "{1} is required by {0}.", "{} relies on {}."),
        }
        said = (self.uses, self.owner, self.lead, self.host, self.needs)
        texts = [
            draw.choice(wordings).format(*pair)
            for wordings, pairs in zip(forms.values(), said, strict=True)
            for pair in pairs.items()
        ]
        draw.shuffle(texts)
        self.facts = [made(text, (), f"f{n}") for n, text in enumerate(texts)]
        self.graph = drawn(*self.facts)
        self.texts = {each.id: each.content.casefold() for each in self.facts}

    def says(self, path: OrgPath) -> bool:
        """Whether every step stands on a fact that names both of its ends."""
        return all(
            hop.start.name.casefold() in self.texts[hop.link.fact_id]
            and hop.end.name.casefold() in self.texts[hop.link.fact_id]
            for hop in path.hops
        )

    def ask(self, question: str, hops: int) -> set[str]:
        paths = self.graph.paths(question)
        assert all(len(path.hops) == hops and self.says(path) for path in paths), question
        return {path.hops[-1].end.name for path in paths}


@pytest.fixture(scope="module", params=[1, 2, 3])
def company(request: pytest.FixtureRequest) -> Company:
    made_up = Company(request.param)
    assert len(made_up.facts) == 200
    return made_up


def test_two_steps_are_all_found(company: Company) -> None:
    for service, store in company.uses.items():
        asked = f"Who owns the store that {service} uses?"
        assert company.ask(asked, 2) == {company.owner[store]}
    for service, library in company.needs.items():
        asked = f"What does the library that {service} depends on run on?"
        assert company.ask(asked, 2) == {company.host[library]}


def test_three_steps_are_all_found(company: Company) -> None:
    for service, store in company.uses.items():
        asked = f"Who leads the team that owns the store used by {service}?"
        assert company.ask(asked, 3) == {company.lead[company.owner[store]]}


def test_a_step_back_and_a_step_on_are_all_found(company: Company) -> None:
    for store, owner in company.owner.items():
        services = {service for service, used in company.uses.items() if used == store}
        needed = {company.needs[each] for each in services if each in company.needs}
        asked = f"Which libraries does the service that uses {store} depend on?"
        assert company.ask(asked, 2) == needed
        assert company.ask(f"Who leads the team that owns {store}?", 2) == {company.lead[owner]}


def test_the_way_back_finds_all_answers_and_no_other(company: Company) -> None:
    for team, lead in company.lead.items():
        stores = {store for store, owner in company.owner.items() if owner == team}
        services = {service for service, store in company.uses.items() if store in stores}
        assert company.ask(f"Which services use a store that {team} owns?", 2) == services
        mine = {other for other, person in company.lead.items() if person == lead}
        assert company.ask(f"Which teams does {lead} lead?", 1) == mine
    for library in company.host:
        users = {service for service, needed in company.needs.items() if needed == library}
        assert company.ask(f"What depends on {library}?", 1) == users


def test_two_things_are_connected_by_the_shortest_way(company: Company) -> None:
    for service, store in company.uses.items():
        lead = company.lead[company.owner[store]]
        (path,) = company.graph.paths(f"How is {service} related to {lead}?")
        assert len(path.hops) == 3
        assert company.says(path)
