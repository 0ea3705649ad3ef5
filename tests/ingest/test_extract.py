from pathlib import Path

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import read_file
from synthorg_tui.memory.extensions import MemoryDraft
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.tables import rows

TIDES_SETTLED = (
    "Settled: all tides are stored in UTC, and only the chart converts them to local time."
)
NO_UPSTREAM = (
    "Exit code 128\nfatal: The current branch tide has no upstream branch.\n"
    "To push the current branch and set the remote as upstream, use\n\n"
    "    git push --set-upstream origin tide\n"
)


def drafts(tmp_path: Path, transcript: ClaudeTranscript) -> tuple[MemoryDraft, ...]:
    path = transcript.write(tmp_path / "session.jsonl")
    return read_file(TranscriptFile(path, 0, 0)).executions[0].drafts


def tagged(found: tuple[MemoryDraft, ...], tag: str) -> list[str]:
    return [draft.request.content for draft in found if tag in draft.request.metadata.tags]


def pushed() -> ClaudeTranscript:
    transcript = ClaudeTranscript().user("Push the tide branch.")
    transcript.bash("git push 2>&1", NO_UPSTREAM, error=True)
    return transcript.bash("git push --set-upstream origin tide", "done").say("Pushed.")


def test_a_session_becomes_one_memory_titled_by_what_happened(tmp_path: Path) -> None:
    (memory,) = tagged(drafts(tmp_path, pushed()), "session")
    assert memory.startswith("Push the tide branch → ran git push\n")
    assert "Asked: “Push the tide branch.”" in memory
    assert "ended normally" not in memory
    assert "git push (solved)" in memory


def test_a_failure_and_what_made_it_good_become_a_memory(tmp_path: Path) -> None:
    (memory,) = tagged(drafts(tmp_path, pushed()), "recovery")
    title = memory.partition("\n")[0]
    assert title.startswith("git push worked with --set-upstream origin tide: ")
    assert "no upstream branch" in title
    assert "Then worked: git push --set-upstream origin tide" in memory


def test_a_recovery_refers_to_the_lines_from_failure_to_success(tmp_path: Path) -> None:
    draft = next(d for d in drafts(tmp_path, pushed()) if "recovery" in d.request.metadata.tags)
    ref = SourceRef.parse(draft.request.metadata.source or "")
    assert ref is not None
    assert (ref.first_line, ref.last_line) == (2, 5)


def test_repeated_failures_of_one_thing_are_one_memory(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Fix the tests.")
    for error in ("one", "two"):
        transcript.bash("make test", f"Exit code 2\nError: {error}", error=True)
        transcript.use(f"e{error}", "Edit", file_path="/srv/tidepool/a.py").result(
            f"e{error}", "ok"
        )
    (memory,) = tagged(drafts(tmp_path, transcript.bash("make test", "ok")), "recovery")
    assert memory.startswith("make test fixed in a.py: failed 2 times, one\n")


def test_a_failure_that_was_never_made_good_is_no_recovery(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Push.").bash("git push", NO_UPSTREAM, error=True)
    assert tagged(drafts(tmp_path, transcript.bash("git status", "ok")), "recovery") == []


def test_a_success_behind_a_pipe_that_shows_failures_is_no_recovery(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Test.").bash("make test", "Exit code 1\nno", error=True)
    transcript.bash("make test | tail -3", "3 failed, 2 passed").say("Still failing.")
    assert tagged(drafts(tmp_path, transcript), "recovery") == []


def test_a_block_by_a_hook_that_was_put_right_is_told(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Commit.")
    blocked = "PreToolUse:Bash hook error: Code is not formatted"
    transcript.bash("git commit -m x", blocked, error=True).bash("make format", "ok")
    (memory,) = tagged(drafts(tmp_path, transcript.bash("git commit -m x", "ok")), "hook")
    assert memory.startswith("git commit worked after make format: blocked by a hook, ")
    assert "worked after make format" in memory


def test_an_edit_repeated_because_of_a_stale_read_is_not_worth_a_memory(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Edit.").use("a", "Edit", file_path="/srv/tidepool/a.py")
    stale = "<tool_use_error>File has not been read yet.</tool_use_error>"
    transcript.result("a", stale, error=True).use("b", "Edit", file_path="/srv/tidepool/a.py")
    assert tagged(drafts(tmp_path, transcript.result("b", "ok")), "recovery") == []


def test_a_commit_becomes_a_memory_with_its_message(tmp_path: Path) -> None:
    command = "git commit -m \"$(cat <<'EOF'\nAdd tides\n\nBecause of the moon.\nEOF\n)\""
    transcript = (
        ClaudeTranscript().user("Commit.").bash(command, "[main abc1234] Add tides\n 1 file")
    )
    (memory,) = tagged(drafts(tmp_path, transcript), "commit")
    assert memory.startswith("Add tides\nBecause of the moon.\nCommit abc1234")


def test_a_commit_whose_subject_is_all_it_says_is_told_by_its_session(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Commit.")
    transcript.bash("git commit -m 'Add tides'", "[main abc1234] Add tides\n 1 file")
    found = drafts(tmp_path, transcript)
    assert tagged(found, "commit") == []
    assert "Commits: Add tides." in tagged(found, "session")[0]


@rows(
    "request",
    [
        "is the pull request ready to merge?",
        "can we close the issue now",
        "did you push it",
        "the worker is done. is it green?",
        "ok, push to the pull request",
        "clean up the worktrees and delete untracked files",
        "merge it",
        "yeah",
        "/progress",
        "what's the status, ready to merge?",
    ],
)
def test_a_moment_that_has_passed_is_told_by_its_session_alone(
    request: str, tmp_path: Path
) -> None:
    transcript = ClaudeTranscript().user("Chart the tides of the moon.")
    transcript.use("a", "Write", file_path="/srv/tidepool/chart.py").result("a", "ok")
    transcript.user(request)
    for number in range(4):
        transcript.bash(f"gh pr view {number}", "OPEN, CLEAN")
    transcript.say(f"Yes. Pull request 12 is ready, and all of its {'checks ' * 12} are green.")
    assert len(tagged(drafts(tmp_path, transcript), "task")) == 1


@rows(
    "request",
    [
        "explain how the tide is computed when the moon is done",
        "push the tide through the new chart and see why it is late",
        "is the cache of tides shared by all pools, and where is it cleaned?",
        "why do you need docker for the logs of the tides?",
    ],
)
def test_what_was_found_out_stays(request: str, tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Chart the tides of the moon.")
    transcript.use("a", "Write", file_path="/srv/tidepool/chart.py").result("a", "ok")
    transcript.user(request)
    for number in range(4):
        transcript.bash(f"sed -n {number}p tide.py", "x")
    transcript.say(
        "The tide is computed by the moon's phase, which the cache of the pool holds for a day."
    )
    assert len(tagged(drafts(tmp_path, transcript), "task")) == 2


def test_a_task_that_says_less_than_its_commit_is_none(tmp_path: Path) -> None:
    command = "git commit -m \"$(cat <<'EOF'\nAdd tides\n\nBecause of the moon.\nEOF\n)\""
    transcript = ClaudeTranscript().user("Chart the tides of the moon.")
    transcript.use("a", "Write", file_path="/srv/tidepool/chart.py").result("a", "ok")
    transcript.user("yes, commit it").bash(command, "[main abc1234] Add tides\n 1 file")
    found = drafts(tmp_path, transcript.say("Committed as abc1234."))
    assert len(tagged(found, "task")) == 1
    assert len(tagged(found, "commit")) == 1


def test_each_further_request_with_work_is_a_task(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Add a chart of the tides.")
    transcript.use("a", "Write", file_path="/srv/tidepool/chart.py").result("a", "ok")
    transcript.user("Now add a legend to the chart.")
    transcript.use("b", "Edit", file_path="/srv/tidepool/chart.py").result("b", "ok")
    transcript.user("thanks").say("You are welcome.")
    titles = [text.partition("\n")[0] for text in tagged(drafts(tmp_path, transcript), "task")]
    assert titles == [
        "Add a chart of the tides",
        "Now add a legend to the chart → changed chart.py",
    ]


def test_the_only_request_of_a_session_is_not_told_twice(tmp_path: Path) -> None:
    assert tagged(drafts(tmp_path, pushed()), "task") == []


def test_a_conversation_tells_what_was_settled_in_it(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("The tide chart is an hour late since Sunday.")
    transcript.say("The chart adds the summer time twice. Shall I drop it in the importer?")
    transcript.user("No, the importer is right. Store every tide in UTC and convert in the chart.")
    transcript.say(
        "Settled: all tides are stored in UTC, and only the chart converts them to local time."
    )
    (memory,) = tagged(drafts(tmp_path, transcript), "session")
    said = "“No, the importer is right. Store every tide in UTC and convert in the chart.”"
    assert f"\nResult: {TIDES_SETTLED}\nDecided: {said}\n" in memory


def test_each_subject_of_a_conversation_with_something_settled_is_a_memory(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("The tide chart is an hour late since Sunday.")
    transcript.say("The chart adds the summer time twice. Shall I drop it in the importer?")
    transcript.user("No, the importer is right. Store every tide in UTC and convert in the chart.")
    transcript.say(
        "Settled: all tides are stored in UTC, and only the chart converts them to local time."
    )
    transcript.user("On another note, which licence do the buoy photographs have?")
    transcript.say("None is stated with any of them. Should they be left out of the printed guide?")
    transcript.user("Never print one without its photographer's name; ask the harbour office.")
    transcript.say("Understood, photographs are printed with a name or left out of the guide.")
    found = drafts(tmp_path, transcript)
    tides, photographs = tagged(found, "task")
    assert "Store every tide in UTC" in tides
    assert "photograph" not in tides
    assert "Never print one without its photographer's name" in photographs
    (session,) = tagged(found, "session")
    assert "Decided: " not in session


def test_what_the_person_said_to_keep_is_semantic(tmp_path: Path) -> None:
    transcript = (
        ClaudeTranscript().user("Add it. Always run make lint first.").bash("make lint", "ok")
    )
    found = [d for d in drafts(tmp_path, transcript) if "said" in d.request.metadata.tags]
    assert [d.request.content for d in found] == ["Always run make lint first."]
    assert found[0].request.category is MemoryCategory.SEMANTIC


def test_what_one_agent_told_another_is_no_persons_word(tmp_path: Path) -> None:
    transcript = ClaudeTranscript(agent="a1").user("Always use tabs.").bash("ls", "x")
    assert tagged(drafts(tmp_path, transcript), "said") == []


def test_a_reason_given_with_a_refusal_is_kept(tmp_path: Path) -> None:
    refusal = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, "
        "the user said:\nuse make clean instead of rm -rf"
    )
    transcript = ClaudeTranscript().user("Clean up.").bash("rm -rf build", refusal, error=True)
    found = drafts(tmp_path, transcript.bash("make clean", "ok"))
    (memory,) = tagged(found, "refused")
    assert memory.startswith("The user refused rm -rf build: “use make clean instead of rm -rf”")
    assert tagged(found, "said") == ["Use make clean instead of rm -rf"]


@rows(
    "recalled",
    [
        "<memory-entry>\nRemember that pi is three.\n</memory-entry>",
        '<data source="memory">\nRemember that pi is three.\n</data>',
        "Memory digest:\n- [fact] 1 Remember that pi is three.",
    ],
)
def test_nothing_that_memory_put_in_comes_out_again(recalled: str, tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user(f"Compute the circle.\n\n{recalled}")
    transcript.use("a", "search_memory", query="pi is three").result("a", "pi is three, always")
    transcript.bash("synthorg-tui search 'pi is three'", "Remember that pi is three.")
    transcript.bash("cat notes", recalled).say(f"{recalled}\n\nThe circle is computed: area 12.57.")
    contents = "\n".join(d.request.content for d in drafts(tmp_path, transcript))
    assert "three" not in contents


def test_every_draft_is_complete(tmp_path: Path) -> None:
    found = drafts(tmp_path, pushed())
    assert len({draft.key for draft in found}) == len(found)
    for draft in found:
        assert draft.created_at is not None
        assert draft.level is None
        assert draft.project == "/srv/tidepool"
        assert SourceRef.parse(draft.request.metadata.source or "") is not None
        assert {"tidepool", "branch:main"} <= set(draft.request.metadata.tags)
        assert len(draft.request.content) <= 1_800


def test_a_session_in_which_nothing_happened_leaves_nothing(tmp_path: Path) -> None:
    assert drafts(tmp_path, ClaudeTranscript().user("hi").say("Hello!")) == ()


def test_a_session_and_its_tasks_have_titles_that_differ_where_they_are_seen(
    tmp_path: Path,
) -> None:
    transcript = ClaudeTranscript().user("ok, continue")
    for number in range(3):
        transcript.use(f"c{number}", "Edit", file_path="/srv/tidepool/a.py")
        transcript.result(f"c{number}", "ok").user("continue")
    found = drafts(tmp_path, transcript)
    titles = [
        text.partition("\n")[0] for text in (*tagged(found, "session"), *tagged(found, "task"))
    ]
    assert len(titles) == len({title[:60].casefold() for title in titles}) > 2


def test_two_recoveries_by_the_same_change_are_told_apart_by_their_errors(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Fix the tests.")
    for number, error in enumerate(("tide is None", "moon is None")):
        transcript.bash("make test", f"Exit code 2\nError: {error}", error=True)
        transcript.use(f"e{number}", "Edit", file_path="/srv/tidepool/a.py")
        transcript.result(f"e{number}", "ok").bash("make test", "ok")
    titles = [text.partition("\n")[0] for text in tagged(drafts(tmp_path, transcript), "recovery")]
    assert titles == [
        "make test fixed in a.py: tide is None",
        "make test fixed in a.py: moon is None",
    ]


def test_a_search_that_found_nothing_is_no_failure_to_recover_from(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("Look for it.").bash("grep a b", "Exit code 1", error=True)
    assert tagged(drafts(tmp_path, transcript.bash("grep -i a b", "a")), "recovery") == []
