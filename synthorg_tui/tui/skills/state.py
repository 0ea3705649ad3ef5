"""The state of the Skills pane: the shelf, what is listed of it, and what is compared."""

from collections.abc import Sequence

from synthorg_tui.tui.skills.ports import Root, Shelf, Skill, SkillRow, Version


class Skills:
    """The skills by root, those the filter lists, and which change of a skill is shown."""

    def __init__(self) -> None:
        self.shelf: Shelf | None = None
        self.filter_text = ""
        self.change = 0
        self.generation = 0

    def ask(self) -> int:
        """A new question: answers to older ones no longer count."""
        self.generation += 1
        return self.generation

    def take(self, generation: int, shelf: Shelf) -> bool:
        """Take an answer; ``False`` when a newer question was asked meanwhile."""
        if generation == self.generation:
            self.shelf = shelf
        return generation == self.generation

    @property
    def groups(self) -> tuple[tuple[Root, tuple[SkillRow, ...]], ...]:
        """Each root with its skills that the filter lists; one without any only if not all read."""
        shelf = self.shelf or Shelf()
        made = []
        for root in shelf.roots:
            rows = tuple(each for each in shelf.rows if each.root == root.path and self.lists(each))
            made += [(root, rows)] if rows or root.problem else []
        return tuple(made)

    def lists(self, row: SkillRow) -> bool:
        """Whether the filter lists the skill: all words in its name, description or state."""
        said = f"{row.name} {row.description} {row.state}".lower()
        words = self.filter_text.lower().split()
        return all(
            word[1:] not in said if word.startswith("-") and len(word) > 1 else word in said
            for word in words
        )

    def row(self, path: str) -> SkillRow | None:
        """A skill by path."""
        return next((row for row in (self.shelf or Shelf()).rows if row.path == path), None)

    @property
    def caption(self) -> str:
        """Honest totals, for the frame of the list."""
        total = len(self.shelf.rows) if self.shelf else 0
        listed = sum(len(rows) for _, rows in self.groups)
        if not total:
            return ""
        return f"{total:,}" if listed == total else f"{listed:,} of {total:,}"

    def turn_change(self, skill: Skill, by: int) -> None:
        """The change before or after, where there is one."""
        most = max(len(texts(skill)) - 2, 0)
        self.change = min(max(self.change + by, 0), most)


def texts(skill: Skill) -> Sequence[Version]:
    """All texts of a skill, newest first: the one on disk comes first when it is another."""
    if skill.row.state == "gone" or not skill.versions:
        return skill.versions
    if skill.versions[0].text == skill.text:
        return skill.versions
    return (Version(skill.versions[0].at, "on disk, not in memory", skill.text), *skill.versions)
