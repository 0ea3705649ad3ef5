"""Documents as hostile as a model, a transcript or a person can make them."""

from hypothesis import strategies as st

from synthorg_tui.skills.document import SkillDocument

SNIPPETS = (
    "---",
    "\n---\n",
    "# heading",
    "\n## Condition\n",
    "## Evidence",
    "\\# not",
    "```",
    "\n```sh\n# comment\n```\n",
    "~~~",
    "&amp;",
    "&#10;",
    "&#x1B;",
    "&#9999999;",
    "1. one",
    "- item",
    ": ",
    "a: b",
    '"',
    "'",
    "\\",
    "\r\n",
    "\r",
    "\t",
    "\u202e",
    "\u200b",
    "\x1b[31m",
    "\x00",
    "\x85",
    "\u2028",
    "⚠\ufe0f",
    "../../etc/passwd",
    "C:\\windows",
    "/tmp/x",
    "{a: [b]}",
    "*alias",
    "&anchor",
    "!!python/object",
    "<data>",
    "null",
    "é",
    "\U0001f600",
    "   ",
    "\n\n",
)

_PIECES = (*SNIPPETS, *"aZ0 .-_#`~\\/:&\n\u0301\ufeff\ud7ff\uffff", "git push -u origin HEAD")

texts = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=6).map("".join),
    st.text(max_size=12),
)

documents = st.builds(
    SkillDocument,
    name=texts,
    description=texts,
    heading=texts,
    condition=texts,
    action=texts,
    rationale=texts,
    check=texts,
    steps=st.lists(texts, max_size=3).map(tuple),
    evidence=st.lists(texts, max_size=2).map(tuple),
    metadata=st.dictionaries(texts, texts, max_size=2),
    license=st.sampled_from(("", *SNIPPETS)),
    compatibility=st.sampled_from(("", *SNIPPETS, "x" * 600)),
    allowed_tools=st.sampled_from(("", "Bash Read", *SNIPPETS)),
    body=st.one_of(st.just(""), texts),
)
