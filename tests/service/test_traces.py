"""Traces of plans in the form of OpenTelemetry: in a file, or sent to a collector that the user names."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.providers import SECRET_VARIABLES, TRACES_HEADERS
from planloom.service.application import Application
from planloom.service.requests import CreateRequest
from planloom.service.tracing import export
from planloom.service.tracing.export import TraceExporter, headers_of
from planloom.service.tracing.recorder import TraceRecorder
from planloom.service.tracing.spans import Span
from planloom.settings import resolve
from planloom.workspace.documents import DocumentStore
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.view import WorkspaceView
from tests.service.test_model_work import allowed, planned
from tests.support.fake_editor import FakeEditor
from tests.support.http_server import Asked, Wire, serving
from tests.support.studio import studio

SECRET = "what only the user knows"


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


async def test_a_plan_that_ends_is_a_trace_without_any_text(tmp_path: Path) -> None:
    file = tmp_path / "traces" / "plans.jsonl"
    write = ("write_file", {"path": "a.txt", "content": SECRET})
    script = [makes(write, ("task_completed", {"summary": SECRET}), prompt_tokens=40, completion_tokens=5)]
    async with studio(tmp_path, settings={"storage.traces": str(file)}) as at:
        plan = await planned(at, f"Write {SECRET}", ("Write it", SECRET))
        at.model.model = ScriptedModel(script)
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        again = await at.run("Create folder x")
        assert again.status == "completed"
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 and SECRET not in lines[0]
    (scope,) = json.loads(lines[0])["resourceSpans"][0]["scopeSpans"]
    root, step, call = scope["spans"]
    assert [each["name"] for each in scope["spans"]] == ["plan", "step 1", "execute_tool write_file"]
    assert {each["traceId"] for each in scope["spans"]} == {root["traceId"]} and len(root["traceId"]) == 32
    assert "parentSpanId" not in root
    assert (step["parentSpanId"], call["parentSpanId"]) == (root["spanId"], step["spanId"])
    assert int(root["startTimeUnixNano"]) <= int(step["startTimeUnixNano"]) <= int(call["startTimeUnixNano"])
    assert int(call["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])
    assert attributes(step)["gen_ai.usage.input_tokens"] == "40"
    assert (root["status"], attributes(root)["planloom.plan.status"]) == ({"code": 1}, "completed")
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_failed_step_is_an_error_and_without_a_file_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "plans.jsonl"
    settings = {"storage.traces": str(file), "execution.onFailure": "abort"}
    async with studio(tmp_path, settings=settings) as at:
        plan = await at.ask('Replace "a" with "b" in none.txt', mode="plan")
        plan = await at.approve(plan)
        assert plan.status == "failed"
    spans = json.loads(file.read_text())["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [span["status"]["code"] for span in spans][:2] == [2, 2]
    file.unlink()
    async with studio(tmp_path) as at:
        await at.run("Create folder y")
    assert not file.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
@pytest.mark.slow
async def test_a_file_that_takes_nothing_holds_up_no_plan(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with studio(tmp_path, settings={"storage.traces": str(pipe)}) as at:
        assert (await at.run("Create folder x")).status == "completed"
        assert (await at.run("Create folder y")).status == "completed"
        text = await asyncio.to_thread(pipe.read_text)
    assert len(text.splitlines()) >= 1


async def test_what_is_kept_of_a_plan_goes_with_it(tmp_path: Path) -> None:
    exported: list[tuple[Span, ...]] = []
    wanted = True
    recorder = TraceRecorder(lambda: wanted, exported.append)
    async with studio(tmp_path) as at:
        at.app.feed.subscribe(recorder.on_event)
        plan = await at.run("Create folder x")
        assert len(exported) == 1 and recorder.held == 0
        begun = next(each for each in at.events if isinstance(each.event, ev.ToolStarted))
        recorder.on_event(begun, plan)
        assert recorder.held == 1
        recorder.forget(plan.plan_id)
        assert recorder.held == 0
        recorder.on_event(begun, plan)
        wanted = False
        recorder.on_event(begun, plan)
        assert recorder.held == 0


async def test_a_collector_gets_the_traces_of_plans_in_the_form_of_otlp(tmp_path: Path) -> None:
    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.json(200, {})

    async with serving(answer) as running:
        async with studio(tmp_path, settings={"storage.traces": running.origin}) as at:
            for name in ("x", "y"):
                assert (await at.run(f"Create folder {name}")).status == "completed"
        (request, *more) = running.posts()
        assert not more, "both traces travel in one request"
        assert (request.path, request.headers["content-type"]) == ("/v1/traces", "application/json")
        spans = exported_spans(request.json())
    assert [span["name"] for span in spans].count("plan") == 2
    assert not at.notices


async def exported(
    target: str, traces: Sequence[tuple[Span, ...]], headers: Mapping[str, str] = {}
) -> tuple[TraceExporter, list[str]]:
    """An exporter that does not pause, with these traces put into it, and what it tells the user."""
    notices: list[str] = []
    exporter = TraceExporter(lambda: target, lambda: headers, notices.append, gather=0, pause=0.01)
    for trace in traces:
        exporter.put(trace)
    return exporter, notices


def trace(name: str, spans: int = 1) -> tuple[Span, ...]:
    return tuple({"name": f"{name}{number}"} for number in range(spans))


async def test_a_collector_that_is_away_is_told_once_and_gets_everything_later() -> None:
    states = [503, 429, 200]

    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.json(states.pop(0), {})

    async with serving(answer) as running:
        exporter, notices = await exported(f"{running.origin}/own/path?a=b", [trace("a"), trace("b")])
        async with running.changed:
            await running.changed.wait_for(lambda: not states and running.open == 0)
        await exporter.close()
        assert {request.path for request in running.posts()} == {"/own/path?a=b"}
        bodies = [[span["name"] for span in spans_of(request.json())] for request in running.posts()]
        assert bodies == [["a0", "b0"]] * 3
    assert len(notices) == 1 and "503" in notices[0] and "a=b" not in notices[0]


@pytest.mark.parametrize("status", [400, 401, 302])
async def test_what_a_collector_refuses_is_not_sent_again(status: int) -> None:
    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.json(status, {}, location="/elsewhere")

    async with serving(answer) as running:
        exporter, notices = await exported(running.origin, [trace("a")])
        await exporter.close()
        assert [request.path for request in running.asked] == ["/v1/traces"]
    assert len(notices) == 1 and str(status) in notices[0]


async def test_a_collector_that_hangs_holds_up_the_end_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.until_left()

    monkeypatch.setattr(export, "CLOSE_SECONDS", 0.05)
    async with serving(answer) as running:
        exporter, _ = await exported(running.origin, [trace("a")])
        async with asyncio.timeout(5):
            await exporter.close()
            await running.all_left()


async def test_traces_that_wait_when_they_are_switched_off_are_dropped() -> None:
    targets = ["http://127.0.0.1:9", ""]
    notices: list[str] = []
    exporter = TraceExporter(lambda: targets[0], dict, notices.append, gather=0, pause=0.01)
    exporter.put(trace("a"))
    while not notices:
        await asyncio.sleep(0)
    del targets[0]
    await exporter.close()
    assert not exporter.waiting


async def test_a_name_that_is_no_text_is_exported_all_the_same(tmp_path: Path) -> None:
    exporter, notices = await exported(str(tmp_path / "t.jsonl"), [trace("\ud800")])
    await exporter.close()
    assert "\\ud8000" in (tmp_path / "t.jsonl").read_text() and not notices


async def test_of_too_many_traces_the_oldest_are_dropped() -> None:
    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.json(200, {})

    async with serving(answer) as running:
        exporter, _ = await exported(running.origin, [trace(name, 9_000) for name in "abc"])
        await exporter.close()
        names = [[span["name"] for span in spans_of(request.json())] for request in running.posts()]
    assert [(first[0], len(first)) for first in names] == [("b0", 9_000), ("c0", 9_000)]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("http://169.254.169.254/v1/traces", "cloud credentials|link-local"),
        ("http://8.8.8.8:4318", "plain http"),
        ("http://metadata.google.internal", "cloud credentials"),
        ("https://user:secret@collector.example", "password"),
    ],
)
async def test_nothing_is_sent_to_an_address_that_models_may_not_have(target: str, why: str) -> None:
    exporter, notices = await exported(target, [trace("a")])
    await exporter.close()
    (notice,) = notices
    assert re.search(why, notice) and "secret@" not in notice


async def test_headers_come_from_the_environment_and_go_to_the_collector() -> None:
    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.json(200, {})

    headers = headers_of(
        "authorization=Bearer%20abc, x-team = one,broken,=x,y=%0A,n\u00e4me=x,two words=x,z=\u00e4"
    )
    assert headers == {"authorization": "Bearer abc", "x-team": "one"}
    async with serving(answer) as running:
        exporter, notices = await exported(running.origin, [trace("a")], headers)
        await exporter.close()
        (request,) = running.posts()
    assert (request.headers["authorization"], request.headers["x-team"]) == ("Bearer abc", "one")
    assert not notices


@pytest.mark.parametrize("users", [True, False])
async def test_headers_go_to_an_address_of_the_user_alone(tmp_path: Path, users: bool) -> None:
    async def answer(_asked: Asked, wire: Wire) -> None:
        await wire.json(200, {})

    view = WorkspaceView(Roots((root_at(tmp_path),)), DocumentStore("utf-16"))
    async with serving(answer) as running:
        app = await Application.open(
            resolve({"user": {"storage.traces": running.origin, "model.provider": "embedded"}}).settings,
            FakeEditor(view.documents),
            view,
            storage=None,
            environment={TRACES_HEADERS: "authorization=Bearer%20canary-key-1234"},
            traces_are_users=lambda: users,
        )
        app.start(lambda _: None)
        created = await app.plans.create(CreateRequest(text="1. Create folder x\n2. Create folder y"))
        await app.plans.wait(created.plan.plan_id, "ready", 10)
        await app.plans.cancel(created.plan.plan_id)
        await app.plans.wait(created.plan.plan_id, "ended", 10)
        await app.close()
        (request,) = running.posts()
    assert request.headers.get("authorization") == ("Bearer canary-key-1234" if users else None)
    assert app.models.known_keys.masked("canary-key-1234") == "[key]"


def test_no_command_reads_the_headers() -> None:
    assert TRACES_HEADERS in SECRET_VARIABLES


def test_a_folder_sets_no_traces() -> None:
    found = resolve({"workspace": {"storage": {"traces": "http://localhost:4318"}}})
    assert not found.settings.storage.traces and found.problems


def exported_spans(request: Any) -> list[dict[str, Any]]:
    """The spans of an ExportTraceServiceRequest, each checked against the JSON form of OTLP.

    Ids are lower-case hex, 64-bit integers are decimal strings, enumerations are integers, names are in
    lowerCamelCase, and no value is null (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
    """
    assert set(request) == {"resourceSpans"}
    for resource in request["resourceSpans"]:
        assert set(resource) <= {"resource", "scopeSpans", "schemaUrl"}
        check_attributes(resource["resource"]["attributes"])
        assert any(each["key"] == "service.name" for each in resource["resource"]["attributes"])
        for scope in resource["scopeSpans"]:
            assert set(scope) <= {"scope", "spans", "schemaUrl"} and set(scope["scope"]) <= {
                "name",
                "version",
            }
    spans = spans_of(request)
    ids = {span["spanId"] for span in spans}
    assert len(ids) == len(spans)
    for span in spans:
        known = {"traceId", "spanId", "parentSpanId", "name", "kind", "attributes", "status"}
        assert set(span) <= {*known, "startTimeUnixNano", "endTimeUnixNano"}
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and re.fullmatch("[0-9a-f]{16}", span["spanId"])
        assert "parentSpanId" not in span or span["parentSpanId"] in ids
        assert span["kind"] in range(6) and span["status"]["code"] in range(3)
        assert isinstance(span["status"].get("message", ""), str)
        began, ended = span["startTimeUnixNano"], span["endTimeUnixNano"]
        assert re.fullmatch(r"\d+", began) and re.fullmatch(r"\d+", ended) and int(began) <= int(ended)
        check_attributes(span["attributes"])
    return spans


def check_attributes(given: list[dict[str, Any]]) -> None:
    keys = [each["key"] for each in given]
    assert len(set(keys)) == len(keys)
    for each in given:
        ((kind, value),) = each["value"].items()
        assert (
            set(each) == {"key", "value"} and kind in {"stringValue", "intValue"} and isinstance(value, str)
        )
        assert kind == "stringValue" or re.fullmatch(r"-?\d+", value)


def spans_of(request: Any) -> list[dict[str, Any]]:
    return [
        span
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
