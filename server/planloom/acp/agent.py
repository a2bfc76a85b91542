"""The agent: the methods of the protocol, each validated by the library's model, and the sessions of one client."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from acp import schema
from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS
from pydantic import BaseModel, ValidationError

from planloom.acp.client import Client
from planloom.acp.session import AcpSession, Mode, Opened
from planloom.acp.wire import Wire
from planloom.domain.model_text.surrogates import mend
from planloom.domain.values import SessionId
from planloom.execution.jobs import Jobs, only_logged
from planloom.serving import errors, process
from planloom.serving.envelope import INVALID_PARAMS
from planloom.view import problems
from planloom.view.words import Words

if TYPE_CHECKING:
    from planloom.serving.opening import MakeApplication
    from planloom.serving.process import CommandLine

logger = logging.getLogger(__name__)

_NOT_FOUND: Final = -32002
_MODES: Final[dict[Mode, tuple[str, str]]] = {
    "plan": ("Plan", "Plans first; you review the plan before anything is done"),
    "direct": ("Direct", "Does the request at once; changes and commands are asked all the same"),
    "perspectives": ("Perspectives", "Plans from the reports of three agents: strategy, code and operations"),
}


class Agent:
    """One client's agent. Its connection is that of the library."""

    def __init__(
        self,
        wire: Wire,
        options: CommandLine,
        make_application: MakeApplication | None = None,
        on_loaded: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_loaded` is called when everything is imported, and before a command can run."""
        self._wire = wire
        self._options = options
        self._make_application = make_application
        self._on_loaded = on_loaded
        # With the keys, which are taken out of that of the process before a command can run.
        self._environment = dict(os.environ)
        self._connection = Connection(self._answer, wire.messages, listening=False)
        self._client = Client(self._connection, wire)
        self.sessions: dict[str, AcpSession] = {}
        self._jobs = Jobs(only_logged)
        self._log_path: Path | None = None

    def start(self) -> None:
        """Begin to answer."""
        self._log_path = process.log_to_file(self._options.log_file, self._options.log_level)
        self._on_loaded()
        self._jobs.start("messages", self._connection.main_loop())

    async def close(self) -> None:
        """End all work of all sessions, in bounded time."""
        await self._connection.close()
        sessions, self.sessions = self.sessions, {}
        await asyncio.gather(*(session.close() for session in sessions.values()))
        await self._jobs.stop("")

    async def _answer(self, method: str, params: Any, is_notification: bool) -> Any:
        """Answer a request. Raises RequestError. A notification that cannot be taken in is logged."""
        if not is_notification:
            return await self._result(method, params)
        try:
            await self._result(method, params)
        except RequestError as error:
            logger.warning("The notification %s is ignored: %s", method, error)
        return None

    async def _result(self, method: str, params: Any) -> Any:
        found = METHODS.get(method)
        if found is None:
            raise RequestError.method_not_found(method)
        try:
            # Neither the ledger nor a path can hold half of a surrogate pair.
            request = found.model.model_validate_json(mend(json.dumps(params or {}, ensure_ascii=False)))
        except ValidationError as error:
            told = error.errors(include_url=False, include_context=False, include_input=False)
            raise RequestError.invalid_params({"errors": told}) from error
        try:
            return await found.run(self, request)
        except (RequestError, ConnectionError):
            raise
        except Exception as error:
            failure = errors.to_wire(error, method)
            said = problems.of_failure(error, datetime.now(UTC), Words())
            raise RequestError(failure["code"], said.words, failure["data"] | {"help": said.help}) from error

    async def new(self, request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        """Open a session in a folder."""
        session = await self._opened(uuid.uuid4().hex, request)
        return schema.NewSessionResponse(session_id=session.session_id, modes=_modes(session))

    async def load(self, request: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        """Open a session that the ledger knows, and tell it again."""
        known = self.sessions.pop(request.session_id, None)
        if known is not None:
            await known.close()
        session = await self._opened(request.session_id, request)
        if not session.load():
            await self._ended(request.session_id)
            raise RequestError(
                _NOT_FOUND, "The ledger knows no such session.", {"sessionId": request.session_id}
            )
        return schema.LoadSessionResponse(modes=_modes(session))

    async def close_session(self, request: schema.CloseSessionRequest) -> dict[str, Any]:
        """Close a session; its plans can be resumed."""
        self._session(request.session_id)
        await self._ended(request.session_id)
        return {}

    async def set_mode(self, request: schema.SetSessionModeRequest) -> dict[str, Any]:
        """Choose how the next request is worked on."""
        session = self._session(request.session_id)
        mode = next((mode for mode in get_args(Mode) if mode == request.mode_id), None)
        if mode is None:
            raise RequestError(INVALID_PARAMS, f"There is no mode {request.mode_id!r}.")
        session.mode = mode
        return {}

    async def prompt(self, request: schema.PromptRequest) -> schema.PromptResponse:
        """Work on a prompt until it is the person's turn."""
        return schema.PromptResponse(
            stop_reason=await self._session(request.session_id).prompt(request.prompt)
        )

    async def cancel(self, request: schema.CancelNotification) -> None:
        """Pause the work on a prompt."""
        if (session := self.sessions.get(request.session_id)) is not None:
            await session.cancel()

    async def authenticate(self, _: schema.AuthenticateRequest) -> dict[str, Any]:
        """Nothing is asked for: keys are kept by `planloom key`."""
        return {}

    async def _opened(
        self, session_id: str, request: schema.NewSessionRequest | schema.LoadSessionRequest
    ) -> AcpSession:
        folders = tuple(Path(each) for each in (request.cwd, *(request.additional_directories or ())))
        for folder in folders:
            if not folder.is_absolute() or not await asyncio.to_thread(folder.is_dir):
                raise RequestError(INVALID_PARAMS, f"{str(folder)!r} is no absolute path of a folder.")
        opened = Opened(SessionId(session_id), folders, tuple(request.mcp_servers or ()))
        session = AcpSession(self._client, opened)
        await session.open(self._options, self._log_path, self._environment, self._make_application)
        self.sessions[session_id] = session
        return session

    async def _ended(self, session_id: str) -> None:
        await self.sessions.pop(session_id).close()

    def _session(self, session_id: str) -> AcpSession:
        session = self.sessions.get(session_id)
        if session is None:
            raise RequestError(_NOT_FOUND, "There is no such session.", {"sessionId": session_id})
        return session


class Method(NamedTuple):
    """A method: the model of its params, and the function that answers."""

    model: type[BaseModel]
    run: Callable[[Agent, Any], Awaitable[Any]]


METHODS: Final[dict[str, Method]] = {
    AGENT_METHODS["authenticate"]: Method(schema.AuthenticateRequest, Agent.authenticate),
    AGENT_METHODS["session_new"]: Method(schema.NewSessionRequest, Agent.new),
    AGENT_METHODS["session_load"]: Method(schema.LoadSessionRequest, Agent.load),
    AGENT_METHODS["session_close"]: Method(schema.CloseSessionRequest, Agent.close_session),
    AGENT_METHODS["session_set_mode"]: Method(schema.SetSessionModeRequest, Agent.set_mode),
    AGENT_METHODS["session_prompt"]: Method(schema.PromptRequest, Agent.prompt),
    AGENT_METHODS["session_cancel"]: Method(schema.CancelNotification, Agent.cancel),
}
"""Every method but `initialize`, which `wire` answers."""


def _modes(session: AcpSession) -> schema.SessionModeState:
    modes = [
        schema.SessionMode(id=mode, name=name, description=words) for mode, (name, words) in _MODES.items()
    ]
    return schema.SessionModeState(current_mode_id=session.mode, available_modes=modes)
