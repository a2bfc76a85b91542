"""A key that a model writes, a tool prints or a file holds stands in nothing that is stored or shown."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.safety.known_keys import MASK, KnownKeys, MaskedStream, without_forms
from planloom.models.http.keys import Keyring, RedactingFormatter
from planloom.models.offline.recording import Recording, RecordingModel
from planloom.models.offline.scripted import ScriptedModel, Turn, makes, says
from planloom.models.port import Finished, ReasoningDelta, TextDelta
from planloom.service.actions.export import as_markdown
from tests.service.test_execution_rules import tool_step, with_steps, work_step
from tests.support.studio import studio

KEY = "sk-canary-0123456789abcdef"
AWS = "AKIAIOSFODNN7EXAMPLE"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----"


def known(*keys: str) -> KnownKeys:
    made = KnownKeys()
    for key in keys:
        made.add(key)
    return made


def stored(ledger: Path) -> str:
    """Everything that the ledger holds but for the texts of files."""
    connection = sqlite3.connect(ledger)
    try:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = {
            name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables if name != "texts"
        }
    finally:
        connection.close()
    return repr(rows)


async def test_a_key_is_in_no_event_stream_export_or_ledger_and_an_undo_is_exact(tmp_path: Path) -> None:
    pieces = tuple(TextDelta(text=piece) for piece in (f"The key is {KEY[:9]}", KEY[9:12], KEY[12:] + "."))
    said = Turn(
        events=(*pieces, ReasoningDelta(text=KEY[:5]), ReasoningDelta(text=KEY[5:]), Finished(reason="stop"))
    )
    edit = ("edit_file", {"path": "conf.txt", "old_text": f"key={KEY}", "new_text": f"key={KEY}\nmore"})
    model = ScriptedModel(
        [
            said,
            makes(
                ("read_file", {"path": "conf.txt"}), ("run_command", {"command": f"cat conf.txt; echo {KEY}"})
            ),
            makes(edit, ("task_completed", {"summary": f"It was {KEY}"})),
            makes(("final_answer", {"text": f"I have seen {KEY} and {AWS}."})),
        ]
    )
    ledger = tmp_path / "ledger.sqlite3"
    before = f"key={KEY}\n{AWS}\n{PEM}\n"
    streamed: dict[str, str] = {}
    settings = {"approvals.execute": "allow", "approvals.write": "allow"}
    async with studio(tmp_path, {"conf.txt": before}, ledger=ledger, settings=settings) as room:
        room.model.known_keys.add(KEY)
        room.app.feed.subscribe_stream(
            lambda delta: streamed.update({delta.kind: streamed.get(delta.kind, "") + delta.delta})
        )
        literal = tool_step("run_command", {"command": "cat conf.txt"})
        plan = await with_steps(room, literal, work_step(f"Use {KEY}", instruction=f"Use {KEY}"))
        room.model.model = model
        plan = await room.approve(plan)
        assert plan.status == "completed"
        assert room.text("conf.txt") == before.replace(KEY, f"{KEY}\nmore")
        shown = [as_markdown(plan), repr(plan), repr(room.events), *streamed.values(), stored(ledger)]
        for text in shown:
            assert KEY not in text and text
        assert MASK in stored(ledger)
        assert {"text", "reasoning", "stdout"} <= {*streamed}
        assert f"The key is {MASK}." in streamed["text"] and MASK in streamed["stdout"]
        outputs = repr([call.output for step in plan.steps for call in step.tools_executed])
        assert AWS not in outputs and "MIIEow" not in outputs
        await room.app.plans.undo(plan.plan_id, None, False)
        assert room.text("conf.txt") == before


async def test_no_file_is_named_after_a_key(tmp_path: Path) -> None:
    calls = [
        ("write_file", {"path": f"{KEY}.txt", "content": "x"}),
        ("rename_path", {"path": "a.txt", "new_path": f"{KEY}/a.txt"}),
        ("create_folder", {"path": KEY}),
    ]
    model = ScriptedModel([*map(makes, calls), makes(("task_completed", {"summary": "Done."}))])
    ledger = tmp_path / "ledger.sqlite3"
    async with studio(tmp_path, {"a.txt": "x"}, ledger=ledger, model=model) as room:
        room.model.known_keys.add(KEY)
        plan = await room.ask("Tidy up", mode="direct")
        results = [call.output or "" for call in plan.steps[0].tools_executed]
        assert len(results) == 3 and not plan.pending.approvals
        assert all(KEY not in text for text in (repr(room.events), repr(plan), stored(ledger)))
        assert [path.name for path in room.folder.iterdir()] == ["a.txt"]


async def test_a_recording_and_a_log_hold_no_key_though_it_is_cut_over_two_pieces(tmp_path: Path) -> None:
    keys = Keyring({"OPENAI_API_KEY": KEY})
    events = (TextDelta(text=f"x{KEY[:7]}"), TextDelta(text=KEY[7:]), Finished(reason="stop"))
    model = ScriptedModel([Turn(events=events), says(f"{AWS}\n{PEM}")])
    recording = RecordingModel(model, Recording(tmp_path / "r.jsonl", keys.known))
    from tests.models.test_keys import asks, events_of

    await events_of(recording, asks(f"is it {KEY}?"))
    await events_of(recording, asks("and now?"))
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    texts = ["".join(event.get("text", "") for event in line["events"]) for line in lines]
    assert texts == [f"x{MASK}", f"{MASK}\n{MASK}"]
    assert KEY not in (tmp_path / "r.jsonl").read_text()
    record = logging.LogRecord("x", 40, "x", 1, "%s %s %s", (KEY, AWS, PEM), None)
    assert (
        RedactingFormatter(keys, logging.Formatter("%(message)s")).format(record) == f"{MASK} {MASK} {MASK}"
    )


@given(st.lists(st.text(max_size=6) | st.sampled_from([KEY, KEY[:7], KEY[7:], "sk-", "s"]), max_size=12))
def test_a_stream_is_masked_as_its_whole_text_is(pieces: Sequence[str]) -> None:
    keys = known(KEY)
    stream = MaskedStream(keys)
    shown = [*(stream.add(piece) for piece in pieces), stream.end()]
    assert KEY not in "".join(shown)
    assert "".join(shown) == keys.masked("".join(pieces))


@given(st.lists(st.sampled_from(["a", "b", "ab", "ba", "aab"]), max_size=40))
def test_a_key_that_repeats_itself_is_held_back_whole(pieces: Sequence[str]) -> None:
    keys = known("abaabaababaabaab")
    stream = MaskedStream(keys)
    assert "abaabaababaabaab" not in "".join([*(stream.add(piece) for piece in pieces), stream.end()])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"id {AWS}.", f"id {MASK}."),
        (f"a\n{PEM}\nb", f"a\n{MASK}\nb"),
        ("ghp_" + "a1B2" * 9, MASK),
        ("sk-proj-" + "a1B2" * 9, MASK),
        ("-----BEGIN PRIVATE KEY-----\ncut off", MASK),
        (
            "the task-list and sk-learn, AKIA, PRIVATE KEY and xox-",
            "the task-list and sk-learn, AKIA, PRIVATE KEY and xox-",
        ),
        ("disk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "disk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ],
)
def test_what_has_the_form_of_a_key(text: str, left: str) -> None:
    assert without_forms(text) == left
    keys = known()
    masked = keys.masked_event(json.dumps({"output": f"\n{text}", "value": text}))
    assert json.loads(masked or "{}").get("output", f"\n{text}") == f"\n{left}"


def test_words_that_stand_for_a_key_stay_in_plans() -> None:
    keys = known("localhost", "none")
    assert keys.masked_event(json.dumps({"summary": "localhost and none"})) is None
    assert keys.masked("localhost and none") == f"{MASK} and none"


def test_names_of_files_and_what_is_run_or_written_stay() -> None:
    keys = known(KEY)
    event = {
        "uri": f"file:///{KEY}",
        "args": {"content": AWS},
        "files": [{"choice": "text", "text": KEY}],
        "summary": KEY,
    }
    masked = keys.masked_event(json.dumps(event))
    assert masked is not None and json.loads(masked) == {**event, "summary": MASK}


def test_time_is_linear() -> None:
    for text in ("sk-" * 300_000, "-----BEGIN PRIVATE KEY-----" * 4_000, "AKIA" * 200_000):
        without_forms(text)
    stream = MaskedStream(known("a" * 500))
    for _ in range(2_000):
        stream.add("a" * 499)
