"""Any lesson can be written as a SKILL.md that is valid, and read back as the same lesson."""

import tempfile
from pathlib import Path

import skills_ref
from hypothesis import example, given
from hypothesis import strategies as st

from synthorg_tui.curation.models import Evidence, ProceduralMemoryProposal, ProceduralMemoryScope
from synthorg_tui.curation.rendering import document_of, proposal_of
from synthorg_tui.skills.disk import FILE_NAME
from synthorg_tui.skills.names import is_name, skill_name
from synthorg_tui.skills.render import render
from synthorg_tui.skills.validate import parse
from tests.skills.skill_strategies import texts

words = texts.filter(str.strip)
tags = st.lists(words, max_size=3).map(tuple)
proposals = st.builds(
    ProceduralMemoryProposal,
    discovery=words,
    condition=words,
    action=words,
    rationale=words,
    execution_steps=st.lists(words, max_size=3).map(tuple),
    check=st.just("") | words,
    name=st.sampled_from(("", "git-push-no-upstream")),
    confidence=st.floats(0.0, 1.0),
    tags=tags,
    scope=st.sampled_from(ProceduralMemoryScope),
    supersedes=st.lists(words, max_size=2, unique=True).map(tuple),
)
LONGEST = ProceduralMemoryProposal(
    discovery="# x\n" * 150,
    condition="---\n" * 500,
    action="\u202e" * 2000,
    rationale="```\n" * 500,
    execution_steps=("1. \n" * 20,) * 50,
    check="## Check\n" * 60,
    confidence=1.0,
)


def written(proposal: ProceduralMemoryProposal) -> tuple[str, str]:
    """The folder's name and the text of the file."""
    name = proposal.name or skill_name(proposal.discovery)
    seen = Evidence(execution="claude:s", lines="claude:s#L1-L2", agent_id="a", failed="\x1b`x`")
    document = document_of(
        proposal, name=name, version=1, agent_id="a: b", source="failure:s", evidence=(seen,)
    )
    return name, render(document)


@given(proposals)
@example(LONGEST)
def test_every_proposal_is_a_valid_skill_that_reads_as_the_proposal(
    proposal: ProceduralMemoryProposal,
) -> None:
    name, text = written(proposal)
    assert is_name(name)
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, name)
        folder.mkdir()
        (folder / FILE_NAME).write_bytes(text.encode())
        assert skills_ref.validate(folder) == []
    document, _ = parse(text, name=name)
    assert document is not None
    assert proposal_of(document) == proposal.model_copy(update={"name": name})


def test_an_ordinary_proposal_is_a_skill_without_findings() -> None:
    proposal = ProceduralMemoryProposal(
        discovery="Set the upstream when pushing a new branch",
        condition="When git push says that the branch has no upstream",
        action="Name the remote and the branch once.",
        rationale="Git doesn't guess where a new branch belongs.",
        execution_steps=("git push -u origin HEAD",),
        confidence=0.9,
    )
    name, text = written(proposal)
    document, findings = parse(text, name=name)
    assert findings == ()
    assert document is not None
    assert document.description == (
        "Use when git push says that the branch has no upstream. "
        "Set the upstream when pushing a new branch."
    )
