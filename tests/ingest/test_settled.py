"""What a conversation settled, and where it turns to another subject."""

from synthorg_tui.executions.models import Turn
from synthorg_tui.ingest.extract.settled import begins_subject, settled
from tests.tables import rows


def talk(*texts: str) -> list[Turn]:
    """A person and an agent in turn, the person first."""
    return [
        Turn(role=("assistant", "user")[place % 2], text=text, first_line=place, last_line=place)
        for place, text in enumerate(texts, 1)
    ]


def told(*texts: str) -> list[str]:
    return [each.text for each in settled(talk(*texts))]


ASKED = "The kiln overshoots on every second firing."
PLAN = "The ramp is too steep. I'll halve it to 60 degrees an hour."


@rows(
    ("turns", "found"),
    [
        ((ASKED,), []),
        ((ASKED, "I looked at the ramp."), []),
        (
            (ASKED, PLAN, "Not that. Cap the dwell at 20 minutes."),
            ["“Not that. Cap the dwell at 20 minutes.”"],
        ),
        ((ASKED, "Which cone do you fire to?", "Six."), ["Which cone do you fire to? “Six.”"]),
        ((ASKED, PLAN, "Yes."), [PLAN]),
        ((ASKED, PLAN, "Can you plot the last firing first?"), []),
        ((ASKED, "It reads the probe once a second.", "The probe is new."), []),
        (
            (
                ASKED,
                PLAN,
                "No, leave the ramp. Never fire above cone six.",
                "Settled: the ramp stays.",
            ),
            ["“No, leave the ramp. Never fire above cone six.”", "Settled: the ramp stays."],
        ),
        (
            (
                ASKED,
                "Shall I log it?",
                "```\nTraceback\n```\nOnly the peak temperature, and never the whole curve of it.",
            ),
            ["“Only the peak temperature, and never the whole curve of it.”"],
        ),
    ],
)
def test_answers_objections_and_what_was_accepted_settle_something(
    turns: tuple[str, ...], found: list[str]
) -> None:
    assert told(*turns) == found


def test_what_a_parent_agent_says_is_no_persons_answer() -> None:
    turns = [turn.model_copy(update={"role": "parent"}) for turn in talk(ASKED)]
    answer = Turn(role="parent", text="No, cap the dwell.", first_line=3, last_line=3)
    assert settled([*turns, *talk(ASKED, PLAN)[1:], answer]) == []


def test_a_long_sentence_is_cut() -> None:
    (only,) = told(ASKED, PLAN, f"No, {'glaze ' * 400}")
    assert len(only) <= 302


KILN = talk(
    ASKED,
    "The controller ramps 120 degrees an hour and the probe lags behind the chamber by minutes.",
    "Cap the ramp at 60 degrees an hour then, and keep the dwell at twenty minutes.",
    "Done: the ramp is capped at 60 degrees and the dwell stays at twenty minutes.",
)
SHOP = (
    "The order form loses the postcode when a customer picks a courier from the second page.",
    "The courier page posts its own form, so hidden fields of the first form never arrive. Keeping "
    "the draft order in the browser session and reading the postcode from there would mend it; the "
    "invoice template and the parcel label use the same draft.",
)


@rows(
    ("turns", "begins"),
    [
        (SHOP, True),
        (("Should the dwell be longer for thick pots?", "Yes, thirty minutes."), False),
        (("By the way, who renews the certificate?", "Nobody yet."), True),
        (
            ("Speaking of the probe, does the ramp read it?", "Yes, the ramp reads the probe."),
            False,
        ),
        (("thanks", "You are welcome."), False),
    ],
)
def test_another_subject_begins_where_few_words_were_said_before(
    turns: tuple[str, ...], begins: bool
) -> None:
    assert begins_subject(KILN, talk(*turns)) is begins


def test_an_answer_begins_no_subject() -> None:
    asked = [*KILN[:3], KILN[3].model_copy(update={"text": "Which form do you mean?"})]
    assert not begins_subject(asked, talk(*SHOP))
