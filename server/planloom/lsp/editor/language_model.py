"""Asks the editor's own language model, by `planloom/editor/complete`."""

from __future__ import annotations

from pydantic import ValidationError

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.domain.values import CallId
from planloom.lsp.transport.codec import PlanloomProtocol
from planloom.lsp.transport.outgoing import ClientGone, ClientRefused
from planloom.lsp.wire.methods import editor as wire
from planloom.models.port import Message, ModelRequest, ToolCall
from planloom.models.providers.editor_model import EditorModelAnswer

_UNREACHABLE = ModelProblem(cause="unreachable", provider="editor")
_HINT = "Choose a model in the editor, or set `planloom.model.provider`."


class LanguageModel:
    """The editor's model; cancelling a call cancels the request to the editor."""

    def __init__(self, protocol: PlanloomProtocol) -> None:
        self._protocol = protocol

    async def complete(self, request_id: str, name: str, request: ModelRequest) -> EditorModelAnswer:
        """One answer. Raises ModelFailed if the editor is gone, refuses, or sends an unreadable answer."""
        params = wire.EditorCompleteParams(
            request_id=request_id,
            model=name or None,
            messages=tuple(_message(message) for message in request.messages),
            tools=tuple(
                wire.ChatTool(name=tool.name, description=tool.description, parameters=tool.parameters)
                for tool in request.tools
            )
            or None,
            response_schema=request.response_schema,
            max_tokens=request.max_tokens,
        )
        try:
            raw = await self._protocol.request("planloom/editor/complete", params)
            answer = wire.EditorCompleteResult.model_validate(raw, by_alias=True, by_name=False)
        except ClientGone as error:
            raise ModelFailed("model_unavailable", "The editor is gone.", problem=_UNREACHABLE) from error
        except ClientRefused as error:
            message = f"The editor's model refused: {error.message}"
            raise ModelFailed("model_refused", message, hint=_HINT) from error
        except ValidationError as error:
            message = "The answer of the editor's model could not be read."
            raise ModelFailed("model_output_invalid", message, hint=_HINT, raw_text=str(raw)) from error
        return EditorModelAnswer(
            text=answer.text,
            tool_calls=tuple(
                ToolCall(call_id=CallId(call.call_id), name=call.name, arguments=call.arguments)
                for call in answer.tool_calls or ()
            ),
            prompt_tokens=None if answer.usage is None else answer.usage.prompt_tokens,
            completion_tokens=None if answer.usage is None else answer.usage.completion_tokens,
        )


def _message(message: Message) -> wire.ChatMessage:
    calls = tuple(
        wire.ChatCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
        for call in message.tool_calls
    )
    return wire.ChatMessage(
        role=message.role, text=message.text, tool_calls=calls or None, tool_call_id=message.tool_call_id
    )
