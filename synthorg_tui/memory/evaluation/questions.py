"""What an evaluation asks: questions with the memories that answer them, and where they are from.

A question is never made up here: each was asked, or says what happened, and a person or an agent
showed by what they did which memories answer it. Its text is redacted already, like all that is
stored. Only nonsense is made up: agents should be given nothing for it.
"""

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer


class RecallTask(StrEnum):
    """What sort of memory a question is about, by LMEB's categories of tasks."""

    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    SEMANTIC = "semantic"
    DIALOGUE = "dialogue"


RECALL_TASKS: Final[Mapping[MemoryCategory, RecallTask]] = {
    MemoryCategory.EPISODIC: RecallTask.EPISODIC,
    MemoryCategory.PROCEDURAL: RecallTask.PROCEDURAL,
    MemoryCategory.SEMANTIC: RecallTask.SEMANTIC,
    MemoryCategory.SOCIAL: RecallTask.DIALOGUE,
}
"""The task of each category of memories; working memories are in an agent's context already."""


class QuestionSource(StrEnum):
    """Where a question comes from."""

    SCENARIO = "scenario"
    SEARCH = "search"
    FAILURE = "failure"
    APPROVAL = "approval"
    PIN = "pin"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A text that is asked for an agent, and the ids of the memories that answer it.

    ``relevant`` is never empty. ``session`` names where the question came up (a session's id, a
    scenario's name, a conversation of a file), so that a split keeps those of one place together;
    empty where nothing is known of it. ``project`` is the folder in which it was asked, ``None``
    where all memories were seen.
    """

    text: str
    agent_id: str
    relevant: frozenset[str]
    category: RecallTask
    source: QuestionSource
    session: str = ""
    project: str | None = None


def task_of(categories: Iterable[MemoryCategory]) -> RecallTask | None:
    """Return the task that most of a question's memories belong to, ``None`` without any.

    With as many of each the one declared first is taken.
    """
    tasks = [RECALL_TASKS[category] for category in categories if category in RECALL_TASKS]
    return max(RecallTask, key=tasks.count) if tasks else None


def distinct(questions: Collection[EvalQuestion]) -> tuple[EvalQuestion, ...]:
    """Return the questions without repetitions: the same text of the same agent is asked once.

    What answered it at any time counts; all else is of the first time that it came up.
    """
    first: dict[tuple[str, str], EvalQuestion] = {}
    relevant: dict[tuple[str, str], frozenset[str]] = {}
    for question in questions:
        key = (question.agent_id, " ".join(question.text.casefold().split()))
        first.setdefault(key, question)
        relevant[key] = relevant.get(key, frozenset()) | question.relevant
    return tuple(replace(known, relevant=relevant[key]) for key, known in first.items())


OTHER_FIELDS: Final = tuple(
    """
sourdough starter hydration ratio
best time of year to prune apple trees
how do I remove red wine from a carpet
champions league final penalty shootout
symptoms of vitamin D deficiency
history of the ottoman empire janissaries
chord progression of a twelve bar blues
mortgage interest rates for first time buyers
how tall is mount kilimanjaro
knitting pattern for toddler mittens
recipe for vegan lasagna with lentils
lunar eclipse visibility in australia
how to fix a leaking kitchen faucet
treatment of plantar fasciitis
breeding season of emperor penguins
tax deduction for electric vehicles
photosynthesis in cactus plants
what causes thunder and lightning
impressionist painters of the nineteenth century
how to train a puppy not to bite
aircraft wing flutter aerodynamics
roman aqueduct construction techniques
calories in a banana smoothie
marathon training plan for beginners
opening hours of the louvre museum
quantum chromodynamics gluon confinement
shakespeare sonnet rhyme scheme
bicycle chain lubricant for rain
cheese fondue with gruyere
volcanic eruption in iceland
""".strip().splitlines()
)
_RANDOM: Final = 15
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_KNOWN: Final = 2
"""Words of a question in one memory from which on it may be about what is known here."""


def nonsense_for(contents: Iterable[str]) -> tuple[str, ...]:
    """Return nonsense to ask among these texts: of other fields, and random words and letters.

    What a text may be about, because it has two of its words, is left out: somebody's memories are
    of bicycles.
    """
    tokenizer = BM25Tokenizer()
    terms = {query: frozenset(tokenizer.stems(query)) for query in OTHER_FIELDS}
    known: set[str] = set()
    for content in contents:
        words = frozenset(tokenizer.stems(content))
        known.update(query for query in terms if len(terms[query] & words) >= _KNOWN)
    return (*(query for query in OTHER_FIELDS if query not in known), *_random_ones())


def _random_ones() -> list[str]:
    rng = random.Random(7)
    words = sorted({word for query in OTHER_FIELDS for word in query.split()})
    mixed = [" ".join(rng.sample(words, rng.randint(2, 6))) for _ in range(_RANDOM)]
    letters = [
        " ".join("".join(rng.choices(_LETTERS, k=rng.randint(4, 9))) for _ in range(2))
        for _ in range(_RANDOM)
    ]
    return [*mixed, *letters]
