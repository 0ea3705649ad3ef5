"""Every rule of redaction: what it finds, what it leaves, what it costs, and how much is found."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.redaction import RULES, RedactionTally, redact_text, redact_value
from synthorg_tui.core.redaction_rules import Rule
from tests.core import secret_sentences as sentences
from tests.core.proportion import takes_time_in_proportion
from tests.core.secret_kit import HARMLESS, RULE_SAMPLES, Planted, planted
from tests.soak import points
from tests.tables import rows

_TRIES = 10
_NAMES = [rule.name for rule in RULES]
_EXAMPLES = [(name, one) for name, sample in RULE_SAMPLES.items() for one in sample.examples]
_LOOKALIKES = [(name, one) for name, sample in RULE_SAMPLES.items() for one in sample.harmless]


def redacted(text: str) -> str:
    return redact_text(text, RedactionTally())


def test_every_rule_has_a_name_of_its_own() -> None:
    assert len(set(_NAMES)) == len(_NAMES)


def test_every_rule_has_an_example_and_a_counter_example() -> None:
    assert sorted(RULE_SAMPLES) == sorted(_NAMES)
    assert all(sample.examples and sample.harmless for sample in RULE_SAMPLES.values())


@rows(("name", "template"), _EXAMPLES)
def test_the_example_of_a_rule_is_redacted(name: str, template: str) -> None:
    for seed in range(_TRIES):
        text, secret = planted(template, seed)
        clean = redacted(text)
        assert secret not in clean
        assert "[REDACTED:" in clean
        assert redacted(clean) == clean


@rows(("name", "text"), _LOOKALIKES)
def test_the_counter_example_of_a_rule_is_left_alone(name: str, text: str) -> None:
    assert redacted(text) == text


@rows("text", HARMLESS)
def test_a_harmless_form_is_left_alone(text: str) -> None:
    assert redacted(text) == text
    assert redact_value({"text": text}, RedactionTally()) == {"text": text}


def _command(one: Planted) -> object:
    return {"name": "Bash", "input": {"command": f"cat > x <<'EOF'\n{one.text}\nEOF"}}


def _output(one: Planted) -> object:
    return {"type": "tool_result", "content": [{"type": "text", "text": f"$ run\n{one.text}\n"}]}


def _prose(one: Planted) -> object:
    return {"role": "user", "content": f"Here is what I use:\n\n{one.text}\n\nPlease go on."}


def _escaped(one: Planted) -> object:
    return {"arguments": json.dumps({"cmd": f"cat <<E\n{one.text}\nE\n", "n": 1})}


def _file(one: Planted) -> object:
    return {"file": {"path": "x", "content": f"# settings\n{one.text}\nport: 1\n"}}


PLACES: dict[str, Callable[[Planted], object]] = {
    "command": _command,
    "output": _output,
    "prose": _prose,
    "JSON": _escaped,
    "file": _file,
}


def _vanished(template: str, place: str) -> int:
    count = 0
    for seed in range(_TRIES):
        one = planted(template, seed)
        record = PLACES[place](one)
        raw = json.dumps(record)
        clean = json.dumps(redact_value(record, RedactionTally(), raw=raw), ensure_ascii=False)
        count += one.secret not in clean and json.dumps(one.secret)[1:-1] not in clean
    return count


_SAID = [(place, one) for place, those in sentences.SPOKEN.items() for one in those]
_NOTED = [(place, one) for place, those in sentences.NOTATIONS.items() for one in those]


def _share_found(templates: list[tuple[str, str]]) -> float:
    found = sum(_vanished(one, place) for _, one in templates for place in PLACES)
    return found / (_TRIES * len(PLACES) * len(templates))


def test_secrets_that_a_sentence_of_any_language_names_vanish() -> None:
    assert len(sentences.SPOKEN) > 30
    assert _share_found(_SAID) >= 0.98


def test_secrets_in_files_tables_and_commands_vanish() -> None:
    assert _share_found(_NOTED) >= 0.98


@rows("text", sentences.TALK)
def test_talk_about_secrets_is_left_alone(text: str) -> None:
    assert len(sentences.TALK) > 60
    assert redacted(text) == text


_HIDING = ("\u200b", "\u2060", "\u00ad", "\x1b[1m", "\x1b[38;5;200m", "\x1b]8;;x\x07", "\u241b[0m")


@rows("hidden", _HIDING)
def test_what_takes_no_room_does_not_hide_a_secret(hidden: str) -> None:
    for name in ("github-token", "spoken", "url-password"):
        template = {"spoken": "Das Kennwort lautet «{P14}»."}.get(name)
        one = planted(template or RULE_SAMPLES[name].examples[0], 3)
        first = one.text.index(one.secret)
        text = f"{one.text[: first + 6]}{hidden}{one.text[first + 6 :]} and{hidden} more"
        clean = redacted(text)
        assert one.secret[-6:] not in clean
        assert clean.endswith(f" and{hidden} more")


@given(before=st.text(max_size=20), hidden=st.sampled_from(_HIDING), after=st.text(max_size=20))
def test_text_with_hidden_characters_and_no_secret_stays(
    before: str, hidden: str, after: str
) -> None:
    text = before + hidden + after
    once = redacted(text)
    assert redacted(once) == once
    assert "[REDACTED:" in once or once == text


def test_nine_in_ten_secrets_of_every_class_vanish_in_every_place() -> None:
    """Prints the table of recall by class; see it with ``-s -k nine_in_ten``."""
    print(f"\n{'class':24}", *(f"{place:>8}" for place in PLACES))
    totals = dict.fromkeys(PLACES, 0)
    weak = []
    for name, sample in RULE_SAMPLES.items():
        planted_here = _TRIES * len(sample.examples)
        found = {p: sum(_vanished(one, p) for one in sample.examples) for p in PLACES}
        print(f"{name:24}", *(f"{100 * found[p] / planted_here:7.0f}%" for p in PLACES))
        if sum(found.values()) < 0.9 * planted_here * len(PLACES):
            weak.append(name)
        for place in PLACES:
            totals[place] += found[place]
    planted_in_all = _TRIES * len(_EXAMPLES)
    print(f"{'all':24}", *(f"{100 * totals[p] / planted_in_all:7.1f}%" for p in PLACES))
    assert not weak
    assert all(count >= 0.9 * planted_in_all for count in totals.values())


_FILLERS = ("", "a", "-", " ", "A1b2", '"', "=", "x: ", ".", ":1:", "\\", "/a")
_SHORT = points(1_000, 3_000)
"""Characters of the text that eight times as long a one is compared with."""


@pytest.mark.soak
@rows("rule", RULES, ids=_NAMES)
def test_a_rule_takes_time_in_proportion_to_a_hostile_text(rule: Rule) -> None:
    for anchor in rule.anchors[:2]:
        for filler in _FILLERS:
            unit = anchor + filler * 5
            short = unit * (_SHORT // len(unit))
            assert takes_time_in_proportion(redacted, short, short * 8), (anchor, filler)
