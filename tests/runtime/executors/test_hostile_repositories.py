"""What a run writes into git's own files is never executed by this program, and is told.

A stand-in for Codex writes files into its copy, or into the repository that the copy shares. Then
the run ends, and another run of the same project begins and ends: both use git.
"""

import os
import shlex
from pathlib import Path

import pytest

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import scratch_root
from synthorg_tui.runtime.executors.patches import KeptPatches
from synthorg_tui.runtime.models import RunProfile, RunStep
from tests.runtime.executors.client_kit import CODEX_RUN, Place, git, place, ran

HOOK = "printf '#!/bin/sh\\ntouch RAN\\n' > COMMON/hooks/NAME; chmod +x COMMON/hooks/NAME"
EVIL = """
mkdir -p evil/objects evil/refs; echo 'ref: refs/heads/main' > evil/HEAD
printf '[core]\\nrepositoryformatversion = 0\\n[filter "x"]\\nclean = touch RAN\\n' > evil/config
"""
FILTERED = "echo '* filter=x' > .gitattributes; echo two > readme.txt;"


def config(*entries: str, file: str = "COMMON/config") -> str:
    """Shell commands that write entries ``KEY=VALUE`` into a file of git's configuration."""
    lines = (entry.partition("=") for entry in entries)
    return "; ".join(f"git config -f {file} '{key}' '{value}'" for key, _, value in lines)


ATTACKS: dict[str, tuple[str, str]] = {
    "the .git file names a repository in the copy": (
        f"{EVIL} rm -f .git; echo 'gitdir: evil' > .git; {FILTERED}",
        "gitdir: evil",
    ),
    "the .git file is a folder": (
        f"{EVIL} rm -f .git; mv evil .git; {FILTERED}",
        "filter.x.clean",
    ),
    "a clean filter in the shared config": (
        f"{config('filter.x.clean=touch RAN')}; {FILTERED}",
        "filter.x.clean",
    ),
    "a required process filter in the shared config": (
        f"{config('filter.x.process=touch RAN', 'filter.x.required=true')}; {FILTERED}",
        "filter.x.process",
    ),
    "a smudge filter in the shared config": (
        f"{config('filter.x.smudge=touch RAN')}; {FILTERED}"
        " cp .gitattributes COMMON/info/attributes",
        "filter.x.smudge",
    ),
    "LFS with another program": (
        f"{config('filter.lfs.process=touch RAN', 'filter.lfs.required=true')};"
        " echo '*.txt filter=lfs' > .gitattributes; echo two > readme.txt",
        "filter.lfs.process",
    ),
    "include.path": (
        f"{config('filter.x.clean=touch RAN', file='included')};"
        f" git config -f COMMON/config include.path $PWD/included; {FILTERED}",
        "include.path",
    ),
    "includeIf": (
        f"{config('filter.x.clean=touch RAN', file='included')};"
        f" git config -f COMMON/config includeIf.gitdir:/.path $PWD/included; {FILTERED}",
        "includeif.gitdir:/.path",
    ),
    "config.worktree": (
        f"{config('extensions.worktreeConfig=true')};"
        f" {config('filter.x.clean=touch RAN', file='OWN/config.worktree')}; {FILTERED}",
        "config.worktree",
    ),
    "commondir of the copy's git directory": (
        f"{EVIL} echo $PWD/evil > OWN/commondir; cp COMMON/refs evil/ -r;"
        f" cp -r COMMON/objects evil/; {FILTERED}",
        "commondir",
    ),
    "a submodule's own config": (
        "commit=$(git rev-parse HEAD:vendor); cd vendor; git init --quiet --initial-branch main;"
        " echo COMMON/objects > .git/objects/info/alternates; git reset --quiet --hard $commit;"
        " echo '* filter=x' > .gitattributes; echo longer > readme.txt;"
        f" {config('filter.x.clean=touch RAN', file='.git/config')}",
        "vendor",
    ),
    "a submodule's config in the shared repository": (
        "mkdir -p COMMON/modules/vendor;"
        f" {config('core.fsmonitor=touch RAN', file='COMMON/modules/vendor/config')}",
        "modules/vendor/config",
    ),
    ".gitmodules": (
        "git config -f .gitmodules submodule.vendor.update '!touch RAN'",
        ".gitmodules",
    ),
    "textconv and an external diff": (
        config("diff.x.textconv=touch RAN", "diff.x.command=touch RAN", "diff.external=touch RAN")
        + "; echo '* diff=x' > .gitattributes; echo two > readme.txt",
        "diff.x.textconv",
    ),
    "alternates": (
        f"{EVIL} echo $PWD/evil/objects > COMMON/objects/info/alternates;"
        f" {config('core.alternateRefsCommand=touch RAN')}",
        "objects/info/alternates",
    ),
    "hooks": (
        ";".join(HOOK.replace("NAME", name) for name in ("post-checkout", "post-index-change")),
        "hooks/post-checkout",
    ),
    "core.hooksPath and core.fsmonitor": (
        "mkdir hooked; printf '#!/bin/sh\\ntouch RAN\\n' > hooked/post-index-change;"
        " chmod +x hooked/post-index-change;"
        " git config -f COMMON/config core.hooksPath $PWD/hooked;"
        f" {config('core.fsmonitor=touch RAN')}",
        "core.hookspath",
    ),
    "pager, editor, credentials, signing and an alias": (
        config(
            "core.pager=touch RAN",
            "core.editor=touch RAN",
            "core.askPass=touch RAN",
            "credential.helper=!touch RAN",
            "gpg.program=touch RAN",
            "commit.gpgSign=true",
            "log.showSignature=true",
            "alias.add=!touch RAN",
        )
        + "; echo two > readme.txt",
        "credential.helper",
    ),
}

OF_THE_COPY = {"vendor", ".gitmodules"}
"""What is in the copy only, and so runs nothing before the person applies it."""
ROBBED: dict[str, tuple[str, str]] = {
    "core.sshCommand": ("remote.origin.url=ssh://localhost/x", "core.sshCommand=touch RAN;"),
    "remote.origin.uploadpack": (
        "remote.origin.url=/nowhere",
        "remote.origin.uploadpack=touch RAN;",
    ),
    "protocol.ext.allow": ("remote.origin.url=ext::touch RAN", "protocol.ext.allow=always"),
}
TAKES_AN_OBJECT = """
echo two > readme.txt
blob=$(git rev-parse HEAD:readme.txt | sed 's,^..,&/,'); rm -f COMMON/objects/$blob
"""


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A project with a submodule that isn't checked out."""
    made = place(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    commit = git(made.project, "rev-parse", "HEAD").strip()
    git(made.project, "update-index", "--add", "--cacheinfo", f"160000,{commit},vendor")
    (made.project / "vendor").mkdir()
    os.utime(made.project / "readme.txt", (1e9, 1e9))  # long before the index: it isn't read again
    git(made.project, "add", "readme.txt")
    git(made.project, "commit", "--quiet", "--message", "submodule")
    return made


def script(where: Place, attack: str) -> str:
    """The shell script of an attack, which also says that it was played to its end."""
    names = "COMMON=$(git rev-parse --path-format=absolute --git-common-dir); "
    names += "OWN=$(git rev-parse --absolute-git-dir); "
    body = attack.replace("COMMON", "$COMMON").replace("OWN", "$OWN")
    return f"{names}{body.replace('RAN', str(where.home / 'ran'))}\ntouch {where.home}/played"


def last(steps: list[RunStep]) -> str:
    return steps[-1].text


@pytest.mark.parametrize(("attack", "found"), ATTACKS.values(), ids=ATTACKS)
async def test_nothing_that_a_run_wrote_is_executed_and_what_was_found_is_told(
    where: Place, attack: str, found: str
) -> None:
    patches = KeptPatches(where.home / "data")
    where.install("codex", CODEX_RUN[0], ("run", script(where, attack)), *CODEX_RUN[1:])
    result, steps = await ran(
        where.executor("codex", patches=patches), where, profile=RunProfile.UNATTENDED
    )
    assert result.termination_reason is TerminationReason.COMPLETED
    assert (where.home / "played").exists()
    assert not (where.home / "ran").exists()
    assert found in last(steps)
    assert (found in result.error_message) == (found not in OF_THE_COPY)
    assert "is lost" not in last(steps)
    if "to take that over: " in last(steps):
        apply = last(steps).partition("to take that over: ")[2]
        git(where.project, *shlex.split(apply)[1:])
        assert not (where.home / "ran").exists()
    where.install("codex", CODEX_RUN[0], ("run", "echo three > new.txt"), *CODEX_RUN[1:])
    _, steps = await ran(where.executor("codex", patches=patches), where)
    assert not (where.home / "ran").exists()
    assert list(scratch_root().iterdir()) == []


@pytest.mark.parametrize(("name", "entries"), ROBBED.items(), ids=ROBBED)
async def test_an_object_that_was_taken_away_is_not_fetched(
    where: Place, name: str, entries: tuple[str, str]
) -> None:
    promises = "core.repositoryformatversion=1", "remote.origin.promisor=true"
    clone = "extensions.partialClone=origin"
    attack = f"{TAKES_AN_OBJECT}{config(*promises, clone, *entries)}"
    where.install("codex", CODEX_RUN[0], ("run", script(where, attack)), *CODEX_RUN[1:])
    _, steps = await ran(where.executor("codex"), where, profile=RunProfile.UNATTENDED)
    assert (where.home / "played").exists()
    assert not (where.home / "ran").exists()
    assert name.lower() in last(steps)
    assert "is lost: git diff failed" in last(steps)
    with pytest.raises(DomainError, match="git"):
        await ran(where.executor("codex"), where)
    assert not (where.home / "ran").exists()
