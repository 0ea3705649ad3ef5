"""The form in which a person gives an agent a task: what is wrong with it is said while typing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, TextArea

from synthorg_tui.core.text import safe_text
from synthorg_tui.host.runs import UNNAMED_AGENT
from synthorg_tui.runtime.models import BUILT_IN, RunProfile
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.form import CategoryPicker, FormScreen
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.manage.opening import PathSuggester
from synthorg_tui.tui.runs.adapter import RunDesk
from synthorg_tui.tui.runs.lines import PROFILES
from synthorg_tui.tui.runs.state import RunFields
from synthorg_tui.tui.widgets.line_view import LineBar

if TYPE_CHECKING:
    from synthorg_tui.runtime.models import AgentRun

_LIMITS: Final = ("turns", "tokens", "cost", "seconds")
_MEMORY: Final = {"yes": ("▤", "given", "good"), "no": ("·", "none", "muted")}
_TELLS: Final = {
    RunProfile.READ_ONLY: "It can't write or execute anything.",
    RunProfile.ASK: "Each call that writes or executes waits for you in Approvals.",
    RunProfile.UNATTENDED: "It asks for nothing inside its folder; you are asked once, at the end.",
}


class RunForm(FormScreen):
    """The dialog for a new run; returns the id of the run that was started, ``None`` for none.

    ``executors`` gives for each name why it can't run here. ``like`` is a run whose agent, folder
    and executor are proposed.
    """

    unsaved = "Not started. esc again gives it up, ^s starts."

    def __init__(
        self,
        desk: RunDesk,
        executors: Mapping[str, str],
        agents: Sequence[str],
        *,
        like: "AgentRun | None" = None,
    ) -> None:
        super().__init__()
        self._desk = desk
        self._executors = executors
        self._agents = agents
        self._like = like.request if like is not None else None
        self._tried = False

    def compose(self) -> ComposeResult:
        like = self._like
        with Vertical(classes="dialog", id="form") as box:
            box.border_title = "New run"
            box.border_subtitle = "^s starts · esc cancels"
            yield LineBar([line(("Task", "muted"))])
            yield TextArea(id="task", tab_behavior="focus", compact=True)
            agent = like.agent_id if like else self._agents[0] if self._agents else UNNAMED_AGENT
            yield self._row("Agent", Input(safe_text(agent), compact=True, id="agent"))
            yield self._row("Works by", self._executor_picker())
            folder = str(like.workspace if like else Path.cwd())
            place = Input(safe_text(folder), compact=True, id="workspace")
            place.suggester = PathSuggester()
            yield self._row("Folder", place)
            yield self._row("May", CategoryPicker(RunProfile.ASK, PROFILES, id="profile"))
            yield LineBar(id="tells")
            yield self._row("Limits", *self._limit_inputs())
            yield self._row("Memory", CategoryPicker("yes", _MEMORY, id="memory"))
            own = Input(placeholder="the executor's own", compact=True, id="model")
            yield self._row("Model", own)
            yield LineBar(id="note")

    def _row(self, label: str, *fields: Widget) -> Horizontal:
        named = LineBar([line((label, "muted"))]).add_class("label")
        return Horizontal(named, *fields, classes="row")

    def _executor_picker(self) -> "CategoryPicker[str]":
        names = list(self._executors) or [BUILT_IN]
        choices = {
            name: ("✗" if self._executors.get(name) else "•", safe_text(name), "accent")
            for name in names
        }
        wanted = self._like.executor if self._like else BUILT_IN
        return CategoryPicker(wanted if wanted in choices else names[0], choices, id="executor")

    def _limit_inputs(self) -> list[Widget]:
        limits = self._desk.limits()
        values = {name: getattr(limits, name) for name in _LIMITS}
        inputs: list[Widget] = []
        for name, value in values.items():
            shown = "none" if value is None else f"{value:.10g}"
            label = LineBar([line((f"{name} ", "faint"))])
            label.styles.width = len(name) + 1
            inputs += [label, Input(placeholder=shown, compact=True, id=name)]
        return inputs

    def on_mount(self) -> None:
        self.query_one("#task", TextArea).focus()
        self._check()

    @property
    def fields(self) -> RunFields:
        """What is typed now."""
        return RunFields(
            task=self.query_one("#task", TextArea).text,
            agent_id=self._text("agent"),
            workspace=self._text("workspace"),
            executor=self._picked("executor"),
            profile=RunProfile(self._picked("profile")),
            model=self._text("model"),
            memory=self._picked("memory") == "yes",
            limits={name: self._text(name) for name in _LIMITS},
        )

    @property
    def changed(self) -> bool:
        """Whether a task is written."""
        return bool(self.fields.task.strip())

    def _text(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value

    def _picked(self, name: str) -> str:
        return str(self.query_one(f"#{name}", CategoryPicker).chosen)

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(CategoryPicker.Picked)
    def _check(self) -> None:
        """Say what the run may do, and what of the fields can't be used as it is."""
        fields = self.fields
        role = "warn" if fields.profile is RunProfile.UNATTENDED else "muted"
        self.query_one("#tells", LineBar).show(line((f"{'':11}{_TELLS[fields.profile]}", role)))
        wrong = fields.problem(self._executors)
        is_told = wrong is not None and (self._tried or wrong[0] != "task")
        self._tell(line(("! ", "bad"), (wrong[1], "warn")) if wrong and is_told else Line())

    def action_save(self) -> None:
        """Start the run; one that asks for nothing after the person agreed to that."""
        if self._saving.is_busy:
            return
        self._tried, fields = True, self.fields
        wrong = fields.problem(self._executors)
        if wrong is not None:
            self._check()
            self.query_one(f"#{wrong[0]}").focus()
        elif fields.profile is RunProfile.UNATTENDED:
            touched = [line((safe_text(fields.workspace), "text"))]
            note = "It writes and executes in this folder, and nobody is asked before."
            dialog = ConfirmDialog("Run without asking you?", touched, yes="Run", note=note)
            self.app.push_screen(dialog, lambda sure: self._start(fields) if sure else None)
        else:
            self._start(fields)

    def _start(self, fields: RunFields) -> None:
        async def start() -> str:
            return (await self._desk.start(fields.request(self._desk.limits()))).id

        self._warned = False
        self._saving.begin(start)
