"""What policies forbid isn't run, in their words; what leaves the workspace is asked for."""

from pathlib import Path

from synthorg_tui.core.enums import SecurityVerdictType
from synthorg_tui.runtime.interceptors import CallVerdict, ForbiddenCalls, WorkspaceBounds
from synthorg_tui.runtime.models import RunProfile
from synthorg_tui.runtime.tools import workspace_tools
from tests.runtime.tool_kit import use
from tests.tables import rows

RULES = (
    "Never push to main.",
    "Never use `--no-verify`.",
    "Never edit `docs/generated.md`.",
    "Prefer small commits.",
)


async def judged(tmp_path: Path, name: str, **arguments: object) -> CallVerdict:
    async def policies() -> tuple[str, ...]:
        return RULES

    tools = {tool.name: tool for tool in workspace_tools(tmp_path, RunProfile.UNATTENDED)}
    return await ForbiddenCalls(policies, tmp_path)(use(name, **arguments), tools[name])


@rows(
    ("command", "rule"),
    [
        ("git push origin main", RULES[0]),
        ("make test && git push origin main", RULES[0]),
        ("git commit --no-verify -m x", RULES[1]),
        ("git push origin feature", None),
        ("echo 'git push origin main'", None),
        ("git commit -m 'about --no-verify'", None),
    ],
)
async def test_a_command_that_a_policy_forbids_is_denied_in_its_words(
    tmp_path: Path, command: str, rule: str | None
) -> None:
    verdict = await judged(tmp_path, "bash", command=command)
    assert verdict.type == (SecurityVerdictType.DENY if rule else SecurityVerdictType.ALLOW)
    assert rule is None or verdict.why.endswith(rule)


@rows(("path", "is_denied"), [("docs/generated.md", True), ("a.md", False)])
async def test_a_file_that_a_policy_forbids_to_edit_is_not_edited(
    tmp_path: Path, path: str, is_denied: bool
) -> None:
    for name in ("write_file", "edit_file"):
        verdict = await judged(tmp_path, name, path=path, content="x")
        assert (verdict.type is SecurityVerdictType.DENY) is is_denied
    read = await judged(tmp_path, "read_file", path=path)
    assert read.type is SecurityVerdictType.ALLOW


@rows(
    ("command", "is_outside"),
    [
        ("ls -la", False),
        ("cat src/a.py > out.txt", False),
        ("cat ./src/../a.py", False),
        ("make 2>/dev/null", False),
        ("head -c 9 /dev/zero | /usr/bin/tr a b", False),
        ("cat /dev/sda", True),
        ("cat /dev/zero-not", True),
        ("cat /etc/passwd", True),
        ("rm -rf ~/other", True),
        ("cp a.py ../elsewhere", True),
        ("cat src/../../other", True),
        ("tool --file=/etc/hosts", True),
        ("cd .. && ls", True),
        ("echo x > ../out", True),
        ("for each in *; do echo $each; done > /tmp/out", True),
    ],
)
async def test_a_command_that_names_what_is_outside_is_asked_for(
    tmp_path: Path, command: str, is_outside: bool
) -> None:
    tools = {tool.name: tool for tool in workspace_tools(tmp_path, RunProfile.UNATTENDED)}
    verdict = await WorkspaceBounds(tmp_path)(use("bash", command=command), tools["bash"])
    wanted = SecurityVerdictType.ESCALATE if is_outside else SecurityVerdictType.ALLOW
    assert verdict.type is wanted
