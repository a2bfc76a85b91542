"""The client at the other end: updates, questions to the person, and the files of its editor."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from acp import schema
from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import CLIENT_METHODS
from pydantic import BaseModel, ValidationError

from planloom.acp import shown
from planloom.acp.wire import Abilities, Wire
from planloom.workspace.editor import EditorGone, EditorSilent

READ_SECONDS: Final = 10.0
"""How long a client may take to say what a file holds."""
WRITE_SECONDS: Final = 30.0
"""How long a client may take to write a file; it may still do so later."""


class CannotAsk(Exception):
    """The client does not show questions: it answered with an error, or with what cannot be read."""


class Client:
    """One client. What it sends is believed only as far as its models fit."""

    def __init__(self, connection: Connection, wire: Wire) -> None:
        self._connection = connection
        self._wire = wire

    @property
    def abilities(self) -> Abilities:
        """The features of the client that are used."""
        return self._wire.abilities

    @property
    def congested(self) -> bool:
        """Whether the client reads so slowly that text which can be missed should be dropped."""
        return self._wire.congested

    def update(self, session_id: str, update: Any) -> None:
        """Send an update of a session, in the order of the calls."""
        params = schema.SessionNotification(session_id=session_id, update=update)
        self._wire.write(
            {"jsonrpc": "2.0", "method": CLIENT_METHODS["session_update"], "params": as_json(params)}
        )

    async def ask(
        self, session_id: str, about: schema.ToolCallUpdate, options: Sequence[schema.PermissionOption]
    ) -> str | None:
        """Ask the person, who may take as long as they like; the id of the option, None if they dismissed it.

        Raises CannotAsk, and ConnectionError when the client is gone.
        """
        self.update(session_id, shown.asked(about))
        params = schema.RequestPermissionRequest(
            session_id=session_id, tool_call=about, options=list(options)
        )
        try:
            answer = await self._connection.send_request(
                CLIENT_METHODS["session_request_permission"], as_json(params)
            )
            outcome = schema.RequestPermissionResponse.model_validate(answer).outcome
        except (RequestError, ValidationError) as error:
            raise CannotAsk(str(error)) from error
        return outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else None

    async def read(self, session_id: str, path: str) -> str | None:
        """The text of a file as the client's editor has it; None if it has none to tell. Raises EditorSilent."""
        params = schema.ReadTextFileRequest(session_id=session_id, path=path)
        request = self._sent(CLIENT_METHODS["fs_read_text_file"], params)
        try:
            return schema.ReadTextFileResponse.model_validate(await within(request, READ_SECONDS)).content
        except RequestError:
            # It does not open such files, or there is none.
            return None
        except ValidationError as error:
            raise EditorSilent("The client's answer to fs/read_text_file could not be read.") from error
        finally:
            request.cancel()

    def write(self, session_id: str, path: str, text: str) -> asyncio.Task[Any]:
        """Have the client's editor write a file; the request is on its way when the task first runs."""
        params = schema.WriteTextFileRequest(session_id=session_id, path=path, content=text)
        return self._sent(CLIENT_METHODS["fs_write_text_file"], params)

    def _sent(self, method: str, params: BaseModel) -> asyncio.Task[Any]:
        work: Coroutine[Any, Any, Any] = self._connection.send_request(method, as_json(params))
        return asyncio.get_running_loop().create_task(work, name=method)


async def within(request: asyncio.Task[Any], seconds: float) -> Any:
    """The answer to a request, which goes on if it takes longer. Raises EditorSilent, EditorGone, RequestError."""
    done, _ = await asyncio.wait({request}, timeout=seconds)
    if not done:
        raise EditorSilent(f"The client gave no answer within {seconds:g} seconds.")
    try:
        return request.result()
    except (ConnectionError, asyncio.CancelledError) as error:
        raise EditorGone("The connection to the client is closed.") from error


def as_json(model: BaseModel) -> dict[str, Any]:
    """A message as the schema has it, without what was not set."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
