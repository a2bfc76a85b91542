"""Texts, files and changes as the models of the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from acp import schema

from planloom.domain.text.counted import cut
from planloom.domain.text.hidden_characters import in_message
from planloom.domain.values import Uri
from planloom.service.requests import FileDiff
from planloom.workspace.paths.uris import to_path

MOST_DIFF: Final = 400_000
"""Characters of both texts of a file from which its change is told in words alone."""
MOST_TEXT: Final = 20_000
_TITLE: Final = 200

ToolContent = schema.ContentToolCallContent | schema.FileEditToolCallContent


def words(text: str) -> str:
    """A text as a person may see it: hidden characters are written out, and half of a surrogate pair is `?`."""
    return in_message(text).encode("utf-8", "replace").decode()


def title(text: str) -> str:
    """A text in one line."""
    return words(cut(" ".join(text.split()), _TITLE))


def message(text: str) -> schema.AgentMessageChunk:
    """Words of the agent, which end a paragraph."""
    return schema.AgentMessageChunk(
        session_update="agent_message_chunk", content=_block(f"{words(text)}\n\n")
    )


def said(text: str) -> schema.UserMessageChunk:
    """Words of the person, for a client that shows an old conversation."""
    return schema.UserMessageChunk(session_update="user_message_chunk", content=_block(words(text)))


def thought(text: str) -> schema.AgentThoughtChunk:
    """Words of a model at work, in pieces of any size."""
    return schema.AgentThoughtChunk(session_update="agent_thought_chunk", content=_block(words(text)))


def content(text: str) -> list[ToolContent]:
    """The text of a tool call; nothing for an empty one."""
    shown = words(cut(text, MOST_TEXT))
    return [schema.ContentToolCallContent(type="content", content=_block(shown))] if shown.strip() else []


def settled(
    ident: str, status: schema.ToolCallStatus, found: list[ToolContent] | None = None
) -> schema.ToolCallProgress:
    """The end of a call, an edit or a question."""
    return schema.ToolCallProgress(
        session_update="tool_call_update", tool_call_id=ident, status=status, content=found or None
    )


def asked(about: schema.ToolCallUpdate) -> schema.ToolCallStart:
    """A question as a call, which its client knows before it is asked about it."""
    fields = {name: getattr(about, name) for name in about.model_fields_set}
    return schema.ToolCallStart(session_update="tool_call", **fields)


def diff(found: FileDiff) -> list[ToolContent]:
    """A change of a file; nothing if it is too large, or its texts cannot be sent as they are."""
    path, before, after = path_of(found.uri), found.before, found.after
    texts = (before or "") + (after or "")
    if path is None or len(texts) > MOST_DIFF or not _is_sendable(texts):
        return []
    return [schema.FileEditToolCallContent(type="diff", path=path, old_text=before, new_text=after or "")]


def locations(uris: Iterable[Uri]) -> list[schema.ToolCallLocation]:
    """The files on this machine."""
    paths = (path_of(uri) for uri in dict.fromkeys(uris))
    return [schema.ToolCallLocation(path=path) for path in paths if path is not None]


def path_of(uri: str) -> str | None:
    """The absolute path of a file; None if it is on another machine or cannot be sent."""
    path = to_path(uri)
    return str(path) if path is not None and _is_sendable(str(path)) else None


def raw(value: Any) -> Any:
    """The arguments of a call as a person may see them."""
    if isinstance(value, str):
        return words(cut(value, MOST_TEXT))
    if isinstance(value, dict):
        return {str(raw(key)): raw(each) for key, each in value.items()}
    return [raw(each) for each in value] if isinstance(value, list | tuple) else value


def _is_sendable(text: str) -> bool:
    return text.isascii() or text == text.encode("utf-8", "replace").decode()


def _block(text: str) -> schema.TextContentBlock:
    return schema.TextContentBlock(type="text", text=text)
