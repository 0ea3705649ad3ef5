"""The screen of scenarios: run saved questions again and see what changed."""

from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import line
from synthorg_tui.tui.base.pane import NARROW
from synthorg_tui.tui.digest.adapter import EngineDigests
from synthorg_tui.tui.digest.scenario_lines import runs_caption, scenario_detail, scenario_lines
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineView
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.memory.scenarios import Scenario, ScenarioOutcome


class ScenariosScreen(Screen["Scenario | None"]):
    """The scenarios with their results; returns the one to open in the Digest pane, or ``None``."""

    CSS_PATH = "digest.tcss"
    BINDINGS = bindings("scenarios")
    HELP_CONTEXTS = ("scenarios", "list", "app")

    def __init__(self, digests: EngineDigests) -> None:
        super().__init__()
        self._digests = digests
        self._saved: tuple[Scenario, ...] = ()
        self._runs: dict[str, ScenarioOutcome] = {}

    def compose(self) -> ComposeResult:
        with Horizontal(id="scenarios-body"):
            listed = FixedList(id="scenarios")
            listed.border_title = "Scenarios"
            yield listed
            shown = LineView(id="scenario")
            shown.border_title = "Since it was saved"
            yield shown
        yield KeyBar("scenarios", "app")

    def on_mount(self) -> None:
        self._list.focus()
        run_job(self, self._load, group="scenarios")

    def on_resize(self) -> None:
        narrow = self.app.size.width < NARROW
        body = self.query_one("#scenarios-body")
        body.styles.layout = "vertical" if narrow else "horizontal"

    @property
    def _list(self) -> FixedList:
        return self.query_one("#scenarios", FixedList)

    @property
    def _under_cursor(self) -> "Scenario | None":
        name = self._list.value
        return next((scenario for scenario in self._saved if scenario.name == name), None)

    async def _load(self) -> None:
        try:
            self._saved = await self._digests.scenarios()
        except DomainError as error:
            self._list.placeholder = [
                line(("✗ ", "bad"), (error.message, "text")),
                line((error.remedy, "muted")),
            ]
        else:
            self._list.placeholder = [
                line(("No scenarios yet", "title")),
                line(
                    ("In the Digest pane, ", "muted"),
                    (key_of("digest.save"), "accent"),
                    (" stores one.", "muted"),
                ),
            ]
        self._draw()

    def _draw(self) -> None:
        self._list.show(lambda width: scenario_lines(self._saved, self._runs, width))
        self._list.border_subtitle = runs_caption(self._runs) or f"{len(self._saved):,}"
        self._draw_one()

    @on(LineList.Moved, "#scenarios")
    def _draw_one(self) -> None:
        scenario = self._under_cursor
        shown = scenario_detail(scenario, self._runs.get(scenario.name)) if scenario else []
        self.query_one("#scenario", LineView).show(shown)

    @on(LineList.Chosen, "#scenarios")
    def _open(self) -> None:
        if self._under_cursor is not None:
            self.dismiss(self._under_cursor)

    def action_run(self) -> None:
        """Run all scenarios again."""
        if self._saved:
            self._list.border_subtitle = "asking …"
            run_job(self, self._run, group="runs")

    async def _run(self) -> None:
        runs = await self._digests.run_scenarios()
        self._runs = {run.scenario.name: run for run in runs}
        self._draw()
        toast(self, f"Asked {counted(len(runs), 'scenario')}: {runs_caption(self._runs)}")

    def action_accept(self) -> None:
        """Save the present digest of the scenario as the expected one."""
        scenario = self._under_cursor
        if scenario is not None:
            run_job(self, partial(self._accept, scenario), group="change", newest_only=False)

    async def _accept(self, scenario: "Scenario") -> None:
        await self._digests.save_scenario(scenario.name, scenario.question)
        for run in await self._digests.run_scenarios([scenario.name]):
            self._runs[run.scenario.name] = run
        await self._load()
        toast(self, f"{scenario.name} expects what it gives now")

    def action_delete(self) -> None:
        """Delete the scenario, after a confirmation."""
        scenario = self._under_cursor
        if scenario is None:
            return
        self.app.push_screen(
            ConfirmDialog(
                "Delete this scenario?",
                scenario_lines((scenario,), {}, 60)[0][1:],
                yes="Delete",
                note="The memories stay.",
            ),
            lambda yes: self._delete(scenario.name) if yes else None,
        )

    def _delete(self, name: str) -> None:
        async def delete() -> None:
            await self._digests.delete_scenario(name)
            self._runs.pop(name, None)
            await self._load()

        run_job(self, delete, group="change", newest_only=False)

    def action_close(self) -> None:
        """Return to the Digest pane."""
        self.dismiss(None)
