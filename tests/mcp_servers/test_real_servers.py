"""Real MCP servers are started confined and used: for git, fetching, files, SQLite, and one that has everything."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from planloom.tools.external_tools import LISTED_BYTES, offered
from tests.mcp_servers.support import bench
from tests.support.http_server import Asked, Wire, serving

pytestmark = [pytest.mark.process, pytest.mark.slow]
TOOLS = Path(os.environ.get("PLANLOOM_TOOLS") or Path.home() / ".cache" / "planloom-tools") / "mcp"
PYTHON_SERVERS = TOOLS / "python" / "bin"
SQLITE_SERVER = TOOLS / "sqlite" / "bin"
NODE_SERVERS = TOOLS / "node" / "node_modules" / ".bin"
AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="confined by the means of Linux")


def program(folder: Path, name: str) -> str:
    """The program of a server. Skips the test if it is not installed."""
    path = folder / name
    if not path.exists() or (folder == NODE_SERVERS and shutil.which("node") is None):
        pytest.skip(f"{name} is not installed: make mcp-servers")
    return str(path)


def repository(folder: Path) -> Path:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\n")
    for command in (["init", "-q"], ["add", "."], [*AUTHOR, "commit", "-qm", "The first"]):
        subprocess.run(["git", *command], cwd=workspace, check=True)
    return workspace


async def test_the_server_for_git_reads_and_says_what_only_reads(tmp_path: Path) -> None:
    git = program(PYTHON_SERVERS, "mcp-server-git")
    workspace = repository(tmp_path)
    async with bench(tmp_path, f"git (reads): {git} --repository {workspace}") as found:
        assert await found.servers.ready() == ()
        reads = {each.own_name: each.reads for each in found.servers.tools()}
        assert reads["git_log"] and reads["git_status"] and not reads["git_commit"]
        assert "The first" in (await found.call("git_log", repo_path=str(workspace))).text


@needs_linux
async def test_the_server_for_files_changes_nothing_unless_it_may(tmp_path: Path) -> None:
    files = program(NODE_SERVERS, "mcp-server-filesystem")
    workspace = repository(tmp_path)
    for words, may in (("reads", False), ("writes", True)):
        async with bench(tmp_path, f"files ({words}): {files} {workspace}") as found:
            assert await found.servers.ready() == ()
            assert "one" in (await found.call("read_text_file", path=str(workspace / "a.txt"))).text
            written = await found.call("write_file", path=str(workspace / "b.txt"), content="x")
            assert (written.ok, (workspace / "b.txt").exists()) == (may, may)


@needs_linux
@pytest.mark.parametrize(("words", "reaches"), [("reads", False), ("local", True), ("network", True)])
async def test_the_server_that_fetches_reaches_what_its_words_give_it(
    tmp_path: Path, words: str, reaches: bool
) -> None:
    fetch = program(PYTHON_SERVERS, "mcp-server-fetch")

    async def page(_asked: Asked, wire: Wire) -> None:
        await wire.reply(200, b"of the page", content_type="text/plain")

    async with (
        serving(page) as server,
        bench(tmp_path, f"web ({words}): {fetch} --ignore-robots-txt --allow-private-ips") as found,
    ):
        assert await found.servers.ready() == ()
        result = await found.call("fetch", url=f"{server.origin}/")
        assert ("of the page" in result.text, bool(server.asked)) == (reaches, reaches), result


async def test_a_server_of_the_librarys_first_version_has_a_database_a_memo_and_a_prompt(
    tmp_path: Path,
) -> None:
    database = program(SQLITE_SERVER, "mcp-server-sqlite")
    async with bench(tmp_path, f"db (writes): {database} --db-path {tmp_path}/workspace/a.db") as found:
        assert await found.servers.ready() == ()
        assert (await found.call("create_table", query="create table t (a text)")).ok
        assert (await found.call("write_query", query="insert into t values ('x')")).ok
        assert "'x'" in (await found.call("read_query", query="select * from t")).text
        assert [each.uri for each in await found.servers.resources("db")] == ["memo://insights"]
        (prompt,) = await found.servers.prompts()
        assert prompt.required == {"topic"}
        assert "cats" in await found.servers.prompt("db", prompt.name, {"topic": "cats"})


async def test_the_server_that_has_everything_is_used_and_its_many_tools_are_bounded(tmp_path: Path) -> None:
    every, files = (
        program(NODE_SERVERS, "mcp-server-everything"),
        program(NODE_SERVERS, "mcp-server-filesystem"),
    )
    async with bench(tmp_path, f"every: {every}", f"files: {files} {tmp_path}/workspace") as found:
        assert await found.servers.ready() == ()
        assert (await found.call("echo", message="hi")).text == "Echo: hi"
        assert [each.media_type for each in (await found.call("get-tiny-image")).images] == ["image/png"]
        await found.call("trigger-long-running-operation", duration=1, steps=3)
        assert found.progress == ["every: 1/3", "every: 2/3", "every: 3/3"]
        assert (await found.call("trigger-elicitation-request")).asks is not None
        resource = (await found.servers.resources("every"))[0]
        assert (await found.servers.read("every", resource.uri)).startswith("# Everything Server")
        tools = offered(found.servers.tools())
        assert sum(each.size for each in found.servers.tools()) > LISTED_BYTES
        assert {"find_tool", "use_tool"} < {each.name for each in tools if each.listed}


async def test_a_server_is_reached_by_http(tmp_path: Path) -> None:
    every = program(NODE_SERVERS, "mcp-server-everything")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        every, "streamableHttp", env={**os.environ, "PORT": str(port)}, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(30):
            while b"listening" not in await process.stderr.readline():
                pass
        async with bench(tmp_path, f"every: http://127.0.0.1:{port}/mcp") as found:
            assert await found.servers.ready() == ()
            assert (await found.call("echo", message="hi")).text == "Echo: hi"
            assert not found.servers.is_confined("every")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
