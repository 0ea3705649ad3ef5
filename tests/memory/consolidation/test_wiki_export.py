"""The exported folder: what is in it, what stays out, and what it never touches."""

import stat
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.consolidation.config import WikiExportConfig
from synthorg_tui.memory.consolidation.wiki_export import (
    WikiExport,
    export_after_consolidation,
    export_root,
    memory_page,
    stem_of,
    write_wiki,
)
from synthorg_tui.memory.listing import BrowseFilter, MemoryPage
from synthorg_tui.memory.models import MemoryEntry
from tests.hostile import HOSTILE
from tests.memory.consolidation.consolidation_kit import AGENT, entry
from tests.tables import rows

SEMANTIC = MemoryCategory.SEMANTIC


def export(root: Path, entries: Iterable[MemoryEntry], **fields: object) -> WikiExport:
    config = WikiExportConfig.model_validate(fields)
    return write_wiki(root, [one.listed() for one in entries], config, {})


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_what_happened_is_raw_and_what_was_made_of_it_or_is_known_is_wiki(tmp_path: Path) -> None:
    done = export(
        tmp_path / "w",
        [
            entry("record", tags=("detailed_experience",), category=SEMANTIC),
            entry("episode"),
            entry("working", category=MemoryCategory.WORKING),
            entry("summary", tags=("consolidated",)),
            entry("learnt", tags=("compressed_experience",)),
            entry("known", category=SEMANTIC),
        ],
    )
    assert files(tmp_path / "w") == {
        "index.md",
        "raw/record.md",
        "raw/episode.md",
        "raw/working.md",
        "wiki/summary.md",
        "wiki/learnt.md",
        "wiki/known.md",
    }
    assert (done.raw, done.wiki, done.failed) == (3, 3, ())


def test_a_page_says_what_it_is_of_and_has_the_text_whole(tmp_path: Path) -> None:
    export(tmp_path, [entry("a", "first line\nsecond line", tags=("x",), days=1)])
    page = (tmp_path / "raw" / "a.md").read_text()
    _, front, body = page.split("---\n", 2)
    facts = yaml.safe_load(front)
    assert {facts["id"], facts["agent_id"], facts["category"]} == {"a", AGENT, "episodic"}
    assert facts["created_at"] == entry("a", days=1).created_at.isoformat()
    assert body == "\n```text\nfirst line\nsecond line\n```\n"


def test_the_list_counts_and_links_every_page(tmp_path: Path) -> None:
    export(tmp_path, [entry("a", "An episode"), entry("b", "A fact", category=SEMANTIC)])
    index = (tmp_path / "index.md").read_text()
    assert "1 raw, 1 wiki" in index
    assert "[An episode](raw/a.md)" in index
    assert "[A fact](wiki/b.md)" in index


def test_pages_of_projects_have_a_folder_of_their_own(tmp_path: Path) -> None:
    done = write_wiki(tmp_path, [], WikiExportConfig(), {"my shop": "# Shop\n"})
    assert done.projects == 1
    (page,) = (tmp_path / "projects").iterdir()
    assert page.read_text().endswith("# Shop\n")
    assert f"[my shop](projects/{page.name})" in (tmp_path / "index.md").read_text()


def test_each_view_has_at_most_so_many_of_the_newest(tmp_path: Path) -> None:
    done = export(tmp_path, [entry(f"m{n}", days=n) for n in range(3)], max_entries_per_view=2)
    assert files(tmp_path) == {"index.md", "raw/m0.md", "raw/m1.md"}
    assert done.omitted == 1


@rows(("off", "left"), [("include_raw_tier", "wiki/k.md"), ("include_compressed_tier", "raw/e.md")])
def test_a_view_can_be_off(off: str, left: str, tmp_path: Path) -> None:
    export(tmp_path, [entry("e"), entry("k", category=SEMANTIC)], **{off: False})
    assert files(tmp_path) == {"index.md", left}


def test_sensitive_memories_stay_out(tmp_path: Path) -> None:
    done = export(tmp_path, [entry("a", "secret plan", tags=("sensitivity:sensitive",))])
    assert done.withheld == 1
    assert files(tmp_path) == {"index.md"}
    assert "secret plan" not in (tmp_path / "index.md").read_text()


def test_what_is_no_longer_a_memory_leaves_and_other_files_stay(tmp_path: Path) -> None:
    export(tmp_path, [entry("gone"), entry("stays")])
    (tmp_path / "raw" / "mine.md").write_text("my own notes")
    done = export(tmp_path, [entry("stays")])
    assert done.removed == 1
    assert files(tmp_path) == {"index.md", "raw/stays.md", "raw/mine.md"}


def test_a_file_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.md").write_text("my own notes")
    (tmp_path / "index.md").write_text("# My site")
    done = export(tmp_path, [entry("a"), entry("b")])
    assert done.failed == ("raw/a.md", "index.md")
    assert (tmp_path / "raw" / "a.md").read_text() == "my own notes"
    assert (tmp_path / "index.md").read_text() == "# My site"
    assert done.raw == 1


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("---\ngenerator: synthorg-tui\n---\n")
    root = tmp_path / "w"
    root.mkdir()
    (root / "raw").symlink_to(outside)
    with pytest.raises(DomainError, match="no plain folder"):
        export(root, [entry("a")])
    (root / "raw").unlink()
    (root / "raw").mkdir()
    (root / "raw" / "a.md").symlink_to(outside / "a.md")
    assert export(root, [entry("a")]).failed == ("raw/a.md",)
    assert (outside / "a.md").read_text() == "---\ngenerator: synthorg-tui\n---\n"


def test_a_folder_that_can_not_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DomainError, match="can't be made"):
        export(tmp_path / "file" / "w", [])


def test_only_the_owner_reads_it_and_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    export(tmp_path, [entry("a")])
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "raw").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "raw" / "a.md").stat().st_mode) == 0o600


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_names_are_slugs_that_no_two_share(one: str, other: str) -> None:
    stem = stem_of(one)
    assert stem
    assert len(stem) <= 120
    assert "/" not in stem
    assert not stem.startswith(".")
    assert stem.isascii()
    if "/" not in one + other:
        assert (stem == stem_of(other)) is (one == other)


def test_a_slash_becomes_an_underscore() -> None:
    assert stem_of("a/b") == "a_b"
    assert stem_of("../x").startswith("_x-")
    assert stem_of("a b").startswith("a_b-")
    assert stem_of("3f2a91c0-aaaa") == "3f2a91c0-aaaa"


@rows("text", [*HOSTILE, "```\n# out\n```", "`````\nx", "![](http://x/y)"])
def test_strangers_text_can_not_leave_its_fence(text: str) -> None:
    page = memory_page(entry("a", text).listed())
    lines = page.splitlines()
    fence = next(line for line in lines if line.startswith("```"))[: -len("text")]
    start = lines.index(f"{fence}text")
    assert lines[start + 1 :].count(fence) == 1
    assert lines[-1] == fence


@rows("text", ["[x](http://y)", "# big", "<script>", "![](http://x)", "a | b"])
def test_a_title_is_no_markup(text: str, tmp_path: Path) -> None:
    export(tmp_path, [entry("a", text)])
    index = (tmp_path / "index.md").read_text().splitlines()
    (line,) = (line for line in index if "(raw/a.md)" in line)
    assert line.replace("\\]", "").count("](") == 1
    assert "<" not in line.replace("\\<", "")


def test_without_a_setting_the_folder_is_in_the_data_directory(tmp_path: Path) -> None:
    assert export_root(WikiExportConfig(), tmp_path) == tmp_path / "wiki"
    assert export_root(WikiExportConfig(export_root="/srv/x"), tmp_path) == Path("/srv/x")


@rows(
    ("fields", "writes"),
    [
        ({"enabled": True, "trigger": "on_consolidation"}, True),
        ({"enabled": True}, False),
        ({"trigger": "on_consolidation"}, False),
    ],
)
async def test_after_merging_it_is_written_where_the_settings_want_it(
    fields: dict[str, object], writes: bool, tmp_path: Path
) -> None:
    memories = [entry(f"m{n}").listed() for n in range(3)]

    async def browse(what: BrowseFilter, *, offset: int, limit: int) -> MemoryPage:
        return MemoryPage(tuple(memories[offset : offset + 2]), offset, len(memories))

    async def merged_since(moment: datetime | None) -> int:
        asked.append(moment)
        return int(moment is None)

    async def pages() -> dict[str, str]:
        return {"shop": "# Shop"}

    asked: list[datetime | None] = []
    config = WikiExportConfig.model_validate(fields)
    done = await export_after_consolidation(config, tmp_path, browse, merged_since, pages=pages)
    assert (done is not None) is writes
    if done is not None:
        assert (done.raw, done.projects, done.root) == (3, 1, tmp_path / "wiki")
        again = await export_after_consolidation(
            config, tmp_path, browse, merged_since, pages=pages
        )
        assert again is None, "nothing was merged since"
        assert asked[1] is not None
