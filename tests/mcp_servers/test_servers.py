"""MCP servers that die, hang, flood, lie or ask are bounded, said once, and lose nothing; good ones are used."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest

from planloom.mcp_servers import forms
from planloom.mcp_servers import server as module
from planloom.mcp_servers.entries import of_settings, proposed
from planloom.storage.decisions import Decisions
from planloom.tools.external_tools import NotThere
from tests.mcp_servers.support import PYTHON, SCRIPT, Bench, bench, line, scripted
from tests.support.http_server import Asked, Wire, serving

NEWEST = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("new")

async def other() -> str:
    return "other"

@server.tool()
async def grow(context: Context) -> str:
    server.add_tool(other)
    await context.notify_tools_changed()
    return "grown"

server.run()
"""


async def names(found: Bench) -> list[str]:
    assert await found.servers.ready() == ()
    return [each.name for each in found.servers.tools()]


async def test_a_server_starts_when_it_is_first_needed_and_its_tools_are_called(tmp_path: Path) -> None:
    async with scripted(tmp_path, "is good") as found:
        assert found.servers.tools() == () and found.asked() == ""
        assert found.servers.reports()[0].state == "ready to start"
        assert await names(found) == ["box__look", "box__change"]
        result = await found.call("look", what="that")
        assert (result.ok, result.text) == (True, 'look {"what": "that"}')
        assert found.servers.reports()[0][2:] == ("running", "", 2)


async def test_what_only_reads_is_believed_only_where_the_user_says_so(tmp_path: Path) -> None:
    for words, reads in (("writes", [False, False]), ("writes reads", [True, False])):
        async with scripted(tmp_path, "is good", words) as found:
            await found.servers.ready()
            assert [each.reads for each in found.servers.tools()] == reads


async def test_nothing_starts_in_a_folder_that_is_not_trusted(tmp_path: Path) -> None:
    async with scripted(tmp_path, "is good") as found:
        found.session.trust(False)
        assert await found.servers.ready() == () and found.servers.tools() == ()
        assert found.asked() == ""


@pytest.mark.skipif(sys.platform != "linux", reason="confined by the means of Linux")
async def test_it_is_confined(tmp_path: Path) -> None:
    """By default it sees the workspace and changes nothing in it."""
    async with scripted(tmp_path, "is good", words="local") as found:
        (sentence,) = await found.servers.ready()
        assert "PermissionError" in sentence or "Read-only" in sentence
        assert found.asked() == ""


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("dies", "The server box has ended: out of ideas. Whether the call was made is not known."),
        ("floods", "The server box has sent more than can be read. Whether the call was made is not known."),
        (
            "sends a giant",
            "The server box has sent more than can be read. Whether the call was made is not known.",
        ),
        ("hangs", "The server box did not answer within 2 seconds. Whether the call was made is not known."),
        ("refuses", "The server box refused: not<U+202E> today"),
        ("speaks nonsense", "The server box refused: "),
    ],
)
async def test_a_call_that_fails_is_an_error_in_time(tmp_path: Path, how: str, says: str) -> None:
    async with scripted(tmp_path, how, call_seconds=2 if how == "hangs" else 30) as found:
        await found.servers.ready()
        began = time.monotonic()
        with pytest.raises(NotThere) as failure:
            await found.call("look")
        assert str(failure.value).startswith(says)
        assert time.monotonic() - began < 25


async def test_a_server_that_dies_is_started_once_more_and_then_given_up(tmp_path: Path) -> None:
    async with scripted(tmp_path, "dies") as found:
        await found.servers.ready()
        for _ in range(2):
            with pytest.raises(NotThere, match="out of ideas"):
                await found.call("look")
        with pytest.raises(NotThere, match="It is not started again"):
            await found.call("look")
        assert found.servers.reports()[0].state == "given up"
        assert await found.servers.ready() == ("The server box has ended: out of ideas.",)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("does not start", "The server box has ended: no licence."),
        ("never answers", "The server box did not answer within 4 seconds."),
    ],
)
async def test_a_server_that_does_not_start_is_said_and_holds_nothing_up(
    tmp_path: Path, how: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "never answers":
        monkeypatch.setattr(module, "START_SECONDS", 4.0)
    async with bench(tmp_path, line(tmp_path, how), line(tmp_path, "is good", "other")) as found:
        assert says in await found.servers.ready()
        assert [each.name for each in found.servers.tools()] == ["other__look", "other__change"]


async def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with bench(tmp_path, "box: no-such-program", "web: http://127.0.0.1:9/mcp") as found:
        program, web = await found.servers.ready()
        assert program == "The server box failed: [Errno 2] No such file or directory: 'no-such-program'."
        assert web.startswith("The server web failed: ")


async def test_tools_that_change_are_said_and_survived(tmp_path: Path) -> None:
    async with scripted(tmp_path, "changes its tools") as found:
        await found.servers.ready()
        old = found.tool("change")
        assert (await found.call("look")).text.endswith("[box has changed its tools.]")
        with pytest.raises(NotThere, match="no longer has the tool box__change"):
            await found.servers.call(old, {}, print, lambda _: None)
        assert await found.servers.ready() == ("box has changed its tools.",)
        assert [each.name for each in found.servers.tools()] == ["box__other"]


async def test_hostile_schemas_and_names_are_cleaned_and_bounded(tmp_path: Path) -> None:
    async with scripted(tmp_path, "hostile schemas") as found:
        news = await found.servers.ready()
        tools = {each.name: each for each in found.servers.tools()}
    assert [*tools] == [
        "box__recursive",
        "box__outside",
        "box__huge",
        "box__deep",
        "box__slow",
        "box__read_file",
        "box__read_file_x",
        f"box__{'x' * 59}",
        "box__injected",
    ]
    # The second of two names that are the same once they are cut, and one without any letter.
    assert len(news) == 2 and all("without a name of its own" in each for each in news)
    assert all(each.size < 9_000 for each in tools.values())
    outside = json.loads(tools["box__outside"].parameters)
    assert outside["properties"] == {"a": {}, "b": {}}
    assert "pattern" not in tools["box__slow"].parameters
    assert (
        "\u202e" not in tools["box__injected"].description and "\n" not in tools["box__injected"].description
    )


async def test_a_server_with_very_many_tools_or_none_that_can_be_read_is_bounded(tmp_path: Path) -> None:
    async with scripted(tmp_path, "many tools") as found:
        assert await found.servers.ready() == ("box has more than 300 tools, of which the first are used.",)
        assert len(found.servers.tools()) == 300
    async with scripted(tmp_path, "no tools that can be read") as found:
        await found.servers.ready()
        assert found.servers.tools() == ()
    async with scripted(tmp_path, "lists for ever") as found:
        assert len(await found.servers.ready()) <= 50
        assert len(found.servers.tools()) == 2


async def test_progress_is_shown_within_bounds(tmp_path: Path) -> None:
    async with scripted(tmp_path, "reports") as found:
        await found.servers.ready()
        assert (await found.call("look")).ok
        assert 0 < len(found.progress) <= 200
        assert found.progress[0] == "box: 0/1000 going on"


async def test_sampling_is_refused_and_folders_are_told_only_by_the_word(tmp_path: Path) -> None:
    for words in ("writes", "writes folders"):
        async with scripted(tmp_path, "wants more", words) as found:
            await found.servers.ready()
            sampling, roots, other = (await found.call("look")).text.splitlines()
            assert sampling == "sampling/createMessage: refused" and other == "never/heard: refused"
            told = f"roots/list: {[str(found.session.folders[0])]}"
            assert roots == (told if "folders" in words else "roots/list: refused")


async def test_a_question_to_the_user_is_declined_and_passed_on_or_answered(tmp_path: Path) -> None:
    async with scripted(tmp_path, "asks") as found:
        await found.servers.ready()
        result = await found.call("look")
        assert json.loads(result.text) == {"action": "decline"}
        assert result.asks == ("Which colour shall it be?", ("red", "blue"))
        result = await found.call("look", answer="Blue")
        assert json.loads(result.text) == {"action": "accept", "content": {"colour": "blue"}}
        assert result.asks is None
        # What is none of the choices is no answer, and nobody is asked the same for ever.
        result = await found.call("look", answer="green")
        said, told = result.text.splitlines()
        assert json.loads(said) == {"action": "decline"} and result.asks is None
        assert told == "[The user answered 'green' to this, so it was declined: Which colour shall it be?]"


async def test_an_address_to_open_is_shown_whole_and_agreed_to_by_the_user_alone(tmp_path: Path) -> None:
    async with scripted(tmp_path, "asks to open") as found:
        await found.servers.ready()
        result = await found.call("look")
        assert result.asks == ("Agree here. (https://example.org/consent)", ("yes", "no"))
        for answer, action in (("yes", "accept"), ("no", "decline")):
            said = (await found.call("look", answer=answer)).text.splitlines()[0]
            assert json.loads(said)["action"] == action


STATED: dict[str, dict[str, object]] = {
    "name": {"type": "string"},
    "age": {"type": "integer"},
    "size": {"enum": ["s", "l"], "enumNames": ["Small", "Large"]},
    "of": {"oneOf": [{"const": "a", "title": "Apples"}, {"const": "p", "title": "Pears"}]},
    "some": {
        "type": "array",
        "items": {"anyOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]},
    },
    "sure": {"type": "boolean"},
}


@pytest.mark.parametrize(
    ("fields", "said", "content"),
    [
        ("name", " Ada ", {"name": "Ada"}),
        ("age", "36", {"age": 36}),
        ("age", "old", None),
        ("size", "large", {"size": "l"}),
        ("of", "Pears", {"of": "p"}),
        ("of", "Plums", None),
        ("some", "one, Two", {"some": [1, 2]}),
        ("sure", "no", {"sure": False}),
        ("sure", "perhaps", None),
        ("", "yes", {}),
        ("", "no", None),
        ("name age", "Name: Ada\nAGE: 36", {"name": "Ada", "age": 36}),
        ("name age", "name: Ada", None),
        ("name age", "Ada", None),
    ],
)
def test_an_answer_in_words_fills_in_a_form(fields: str, said: str, content: object) -> None:
    names = fields.split()
    schema = {"type": "object", "properties": {name: STATED[name] for name in names}, "required": names}
    assert forms.filled(schema, said) == content


async def test_prompts_are_listed_and_written_by_their_server(tmp_path: Path) -> None:
    async with scripted(tmp_path, "is good") as found:
        (prompt,) = await found.servers.prompts()
        assert prompt[:3] == ("box", "tidy", "Tidies.")
        assert prompt.arguments == (("what", ""), ("how", "")) and prompt.required == {"what"}
        text = await found.servers.prompt("box", "tidy", {"what": "it"})
        assert text == "Tidy it up: look into the box.<U+202E>"


async def test_a_server_of_the_newest_protocol_tells_of_its_tools(tmp_path: Path) -> None:
    program = tmp_path / "newest.py"
    program.write_text(NEWEST)
    async with bench(tmp_path, f"new: {sys.executable} -I {program}") as found:
        assert await names(found) == ["new__grow"]
        assert (await found.call("grow")).ok
        async with asyncio.timeout(10):
            while len(found.servers.tools()) < 2:
                await found.servers.ready()
        assert await found.servers.ready() == ()


async def test_a_server_that_floods_by_http_is_left_in_time(tmp_path: Path) -> None:
    async def flood(asked: Asked, wire: Wire) -> None:
        body = asked.json() if asked.method == "POST" else {}
        match body.get("method"):
            case "initialize":
                can = {"protocolVersion": body["params"]["protocolVersion"], "capabilities": {"tools": {}}}
                result = {**can, "serverInfo": {"name": "flood", "version": "1"}}
                await wire.json(200, {"jsonrpc": "2.0", "id": body["id"], "result": result})
            case "tools/list":
                await wire.head(content_type="text/event-stream")
                while True:
                    note = {"level": "info", "data": "x" * 1_000_000}
                    await wire.events({"jsonrpc": "2.0", "method": "notifications/message", "params": note})
            case None:
                await wire.reply(405, b"")
            case name if name.startswith("notifications/"):
                await wire.reply(202, b"")
            case _:
                error = {"code": -32601, "message": "Method not found"}
                await wire.json(200, {"jsonrpc": "2.0", "id": body["id"], "error": error})

    async with serving(flood) as server, bench(tmp_path, f"web: {server.origin}/mcp") as found:
        began = time.monotonic()
        (said,) = await found.servers.ready()
        assert said.startswith("The server web "), said
        assert found.servers.tools() == () and time.monotonic() - began < 20


async def test_contents_that_are_no_text_are_said_and_long_ones_are_cut(tmp_path: Path) -> None:
    async with scripted(tmp_path, "shows a picture") as found:
        await found.servers.ready()
        assert (await found.call("look")).text == (
            "[image, image/png, 5 bytes]\n[image, text/html, 14 bytes]\nof a resource\n[resource a:c: linked]"
        )
        # What it is, its bytes say: what is no image is not passed on as one.
        assert [each.media_type for each in (await found.call("look")).images] == ["image/gif"]
    async with scripted(tmp_path, "answers at length") as found:
        await found.servers.ready()
        assert len((await found.call("look")).text) == 200_000
    async with scripted(tmp_path, "says no") as found:
        await found.servers.ready()
        assert (await found.call("look"))[:2] == (False, "no such thing")


async def test_a_result_is_not_matched_with_a_pattern_of_the_server(tmp_path: Path) -> None:
    async with scripted(tmp_path, "lies of its results") as found:
        await found.servers.ready()
        began = time.process_time()
        assert (await found.call("look")).ok
        assert time.process_time() - began < 5


async def test_calls_of_one_server_wait_for_each_other_and_an_ended_wait_ends_nothing(tmp_path: Path) -> None:
    async with scripted(tmp_path, "is good") as found:
        await found.servers.ready()
        results = await asyncio.gather(*(found.call("look", what=str(n)) for n in range(20)))
        assert [each.text for each in results] == [f'look {{"what": "{n}"}}' for n in range(20)]


async def test_a_server_whose_line_is_changed_or_gone_is_ended(tmp_path: Path) -> None:
    async with scripted(tmp_path, "is good") as found:
        await found.servers.ready()
        held = [*found.servers._servers.values()]
        settings = found.session.settings
        mcp = settings.mcp.model_copy(update={"servers": ()})
        found.session.configure(settings.model_copy(update={"mcp": mcp}))
        assert await found.servers.ready() == () and found.servers.tools() == ()
        assert held[0]._client is None


def test_lines_are_read_with_their_words_variables_and_headers() -> None:
    entries, problems = of_settings(
        [
            "git (reads, network): A=1 TOKEN=$SECRET uvx 'mcp server' --x=$SECRET",
            "web (reads): https://example.org/mcp Authorization='Bearer ${SECRET}'",
            "odd (root): x",
            "git: again",
            "open: 'never closed",
            "none: A=1",
        ],
        {"SECRET": "s3cret"},
    )
    git, web = entries
    assert git.command == ("uvx", "mcp server", "--x=$SECRET") and git.given == (
        ("A", "1"),
        ("TOKEN", "s3cret"),
    )
    assert git.network == "all" and git.is_confined and "s3cret" not in git.line
    assert web.url == "https://example.org/mcp" and web.given == (("Authorization", "Bearer s3cret"),)
    assert not web.is_confined
    assert [each.partition(": ")[2] for each in problems] == [
        "odd: there is no word 'root'; the words are folders, local, network, reads, unconfined, writes.",
        "there are two servers called git.",
        "open: No closing quotation.",
        "none: there is no command.",
    ]


def test_a_folder_proposes_by_its_files_and_gets_nothing_of_the_environment(tmp_path: Path) -> None:
    servers = {
        "My Files": {"command": "npx", "args": ["-y", "x; rm"], "env": {"A": "$SECRET"}},
        "bad": {"command": 7},
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode" / "mcp.json").write_text(
        '{"servers": {"web": {"url": "https://a/b"}, "f": {"url": "file:x"}}}'
    )
    files, web = proposed(tmp_path)
    assert files.line == "'A=$SECRET' npx -y 'x; rm'" and files.name == "my-files" and not files.words
    assert web.line == "https://a/b"
    (tmp_path / ".mcp.json").write_text("[" * 90_000)
    assert [each.name for each in proposed(tmp_path)] == ["web"]


@pytest.mark.parametrize("answer", [True, False, None])
async def test_a_proposal_is_asked_once_with_its_whole_line_and_kept(
    tmp_path: Path, answer: bool | None
) -> None:
    asked: list[tuple[str, str, str]] = []

    async def ask(name: str, shown: str, folder: str) -> bool | None:
        asked.append((name, shown, folder))
        return answer

    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "server.py").write_bytes(SCRIPT.read_bytes())
    proposal = {"mcpServers": {"box": {"command": PYTHON, "args": [f"{folder}/server.py", "is good"]}}}
    (folder / ".mcp.json").write_text(json.dumps(proposal))
    decisions = Decisions(tmp_path / "decisions.sqlite3")
    for _ in range(2):
        async with bench(tmp_path, ask=ask) as found:
            found.session.decisions = decisions
            found.session.trust(False)
            await found.servers.ready()
            found.session.trust(True)
            await found.servers.ready()
            await found.servers.ready()
            assert bool(found.servers.tools()) is (answer is True)
    once = ("box", f"{PYTHON} {folder}/server.py 'is good'", str(folder))
    assert asked == ([once] if answer is not None else [once, once])


def test_a_folder_cannot_add_a_server() -> None:
    from planloom.settings import resolve

    found = resolve({"workspace": {"mcp.servers": ["box: evil"], "mcp": {"proposals": True}}})
    assert found.settings.mcp.servers == ()
    assert "user settings" in str(found.problems)


async def test_what_a_server_offers_is_listed_and_read(tmp_path: Path) -> None:
    async with scripted(tmp_path, "is good") as found:
        offered = await found.servers.resources("box")
        assert [each.uri for each in offered] == ["note://one", "note://two words"]
        assert (await found.servers.read("box", "note://one")).startswith("text of note://one\n")
        with pytest.raises(NotThere, match="There is no server called other"):
            await found.servers.read("other", "note://one")
