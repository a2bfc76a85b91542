"""The model of a connection: selected when needed, and again after the settings have changed."""

from __future__ import annotations

import asyncio

from planloom.service.models import Models
from planloom.settings import resolve
from tests.support.studio import a_session

LISTING = b'{"data": [{"id": "small"}]}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


async def test_a_change_of_settings_during_a_selection_is_not_lost() -> None:
    listed, go_on = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        listed.set()
        await go_on.wait()
        writer.write(ANSWER % (len(LISTING), LISTING))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        user = {"model.provider": "openai", "model.baseUrl": f"http://127.0.0.1:{port}/v1"}
        session = a_session(user)
        models = Models(session, {})
        selection = asyncio.create_task(models.current())
        await listed.wait()
        session.configure(resolve({"user": {"model.provider": "embedded"}}).settings)
        forgotten = asyncio.create_task(models.forget())
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(selection, forgotten)
        assert await models.current() is None and models.identity.provider != "openai"


async def test_one_step_uses_a_server_on_this_machine_that_does_not_say_how_many_it_answers() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER % (len(LISTING), LISTING))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        for stated, steps in ((0, 1), (3, 3)):
            user = {
                "model.provider": "openai",
                "model.baseUrl": f"http://127.0.0.1:{port}/v1",
                **({"model.parallelRequests": stated} if stated else {}),
            }
            models = Models(a_session(user), {})
            assert await models.current() is not None
            assert models.parallelism == steps
