"""Reviews of writes to organisation memory: for whom, as what, why, and what they replace."""

import pytest

from synthorg_tui.approvals.models import ApprovalItem, RiskLevel
from synthorg_tui.curation.review import ORG_ACTION, Review, entry_of
from synthorg_tui.curation.review_sheet import SheetDecision, read_sheet, sheet_of
from synthorg_tui.memory.org.changes import OrgChange
from synthorg_tui.tui.approvals.review_lines import head_lines, kept_lines, whole_lines
from synthorg_tui.tui.approvals.wording import rewordable
from synthorg_tui.tui.base.lines import plain
from tests.organisation.proposal_kit import RULE, payload, publish, retract
from tests.tui.tui_fakes import NOW

FACT = "0b6f3f0e-3d0c-4a55-9f0e-0d7c3c1c2c11"
DIFF = ("-convention", "-Old.", "+procedure", f"+{RULE}")


def review(*changes: OrgChange, diff: tuple[str, ...] = (), text: str = "") -> Review:
    asked = payload(*changes)
    item = ApprovalItem(
        id="org-1",
        action_type=ORG_ACTION,
        title="A rule",
        description=asked.why,
        requested_by="agent ada",
        risk_level=RiskLevel.HIGH,
        created_at=NOW,
        payload=asked.model_dump_json(),
    )
    return Review(entry_of(item), "a" * 64, diff=diff, text=text)


def test_the_head_says_that_it_is_for_all_agents_and_from_one() -> None:
    (head,) = head_lines(review().entry)
    assert head.plain == "§ org · for all agents · from ada · high risk"


def test_a_new_fact_is_shown_whole_with_what_it_is_and_why() -> None:
    shown = plain(kept_lines(review(publish(tags=("project:/srv/shop",))), None))
    order = [RULE, "convention", "#project:/srv/shop", "it broke twice"]
    assert [shown.index(each) for each in order] == sorted(map(shown.index, order))
    assert "replaces" not in shown


def test_a_new_version_is_shown_with_the_old_text() -> None:
    shown = plain(kept_lines(review(publish(fact_id=FACT), diff=DIFF), None))
    assert "replaces    fact 0b6f3f0e" in shown
    assert all(line in shown for line in DIFF)


def test_a_retraction_is_shown_as_the_text_that_goes_and_can_not_be_reworded() -> None:
    gone = review(retract(FACT), diff=("-convention", "-Old."))
    shown = plain(kept_lines(gone, None))
    assert "retracts    fact 0b6f3f0e" in shown
    assert "-Old." in shown
    assert "it broke twice" in shown
    assert rewordable(gone.entry) is None


def test_several_writes_are_shown_in_full_below() -> None:
    both = review(publish("One."), publish("Two."), text="convention\nOne.\n\nconvention\nTwo.")
    shown = plain(whole_lines(both, (), NOW))
    assert shown.index("In full") < shown.index("One.") < shown.index("Two.")
    assert rewordable(both.entry) is None


def test_a_persons_wording_is_shown_against_what_was_asked() -> None:
    shown = plain(kept_lines(review(), "Lint first."))
    assert "Your wording; not approved yet" in shown
    assert "Lint first." in shown


@pytest.mark.parametrize("edited", [True, False])
def test_in_the_editor_its_text_can_be_reworded_and_what_it_replaces_is_told(edited: bool) -> None:
    asked = review(publish(fact_id=FACT), diff=DIFF)
    sheet = sheet_of([asked])
    assert "# as convention" in sheet
    assert "# why: it broke twice" in sheet
    assert "# -Old." in sheet
    text = sheet.replace(f"\n{RULE}\n", "\nLint first.\n") if edited else sheet
    (verdict,) = read_sheet(text, [asked])
    assert verdict.decision is SheetDecision.APPROVE
    assert (verdict.edit.wording if verdict.edit else None) == ("Lint first." if edited else None)
