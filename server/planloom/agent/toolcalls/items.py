"""Reads one call or one list of calls after a marker; its first characters show which family's form it has."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.offered_tools import OfferedTools, RawCall
from planloom.agent.toolcalls.pythonic import read_arguments, read_list
from planloom.agent.toolcalls.shapes import calls_in
from planloom.agent.toolcalls.tokens import read_json, token_at
from planloom.agent.toolcalls.xml_calls import read_pairs, read_tagged
from planloom.domain.model_text.cursor import Cursor, ParseError
from planloom.domain.model_text.fences import enter_fence, leave_fence
from planloom.domain.values import Json

_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,120}")
_ARRAY_START = re.compile(r"\[\s*")
_BEFORE_ARGUMENTS = re.compile(
    r"<\|tool_call_argument_begin\|>|\[ARGS\]|\[CALL_ID\][\w-]{0,80}|<[｜|]tool[▁_ ]sep[｜|]>|<\|constrain\|>"
    r"|<\|message\|>|(?:json|code|commentary|analysis)\b"
)
_BEFORE_WORDS = ("<|tool_call_argument_begin|>", "[ARGS]", "[CALL_ID]", "<|constrain|>", "<|message|>")
_SEPARATORS = tuple(f"<{bar}tool{gap}sep{bar}>" for bar in "｜|" for gap in "▁_ ")
_GEMMA = "call:"
_CHANNELS = ("commentary", "analysis", "json")
_MOST_SEPARATORS = 6


def read_item(cursor: Cursor, offered: OfferedTools) -> tuple[RawCall, ...] | None:
    """The calls at the cursor, which moves past them; None, with the cursor anywhere, if no call begins.

    Raises NeedMoreText, or ParseError if a call begins but cannot be read.
    """
    sign = cursor.peek()
    if sign in ("{", '"'):
        return _calls_of(read_json(cursor), offered)
    if sign == "[":
        return _read_array(cursor, offered)
    if sign == "`":
        return _read_fenced(cursor, offered)
    if sign in "<ctas":
        token = token_at(cursor)
        if token.kind == "item":
            if token.text.startswith("<"):
                return (read_tagged(cursor, token.text, offered),)
            cursor.at += len(token.text)
            return _read_named(cursor, offered)
    return _read_named(cursor, offered) if sign and (sign.isalpha() or sign == "_") else None


def _calls_of(value: Json, offered: OfferedTools) -> tuple[RawCall, ...]:
    found = calls_in(value, offered, marked=True)
    if found is None:
        raise ParseError("it names no tool with arguments")
    return found


def _read_array(cursor: Cursor, offered: OfferedTools) -> tuple[RawCall, ...] | None:
    ahead = cursor.ahead()
    ahead.match(_ARRAY_START)
    sign = ahead.peek()
    if sign in ("{", "]", '"', "“") or sign == "":
        return _calls_of(read_json(cursor), offered)
    if sign.isalpha() or sign == "_":
        return read_list(cursor, offered)
    return None


def _read_fenced(cursor: Cursor, offered: OfferedTools) -> tuple[RawCall, ...] | None:
    """A call in a fence after a marker; the closing fence belongs to it."""
    found = read_item(cursor, offered) if enter_fence(cursor) and cursor.peek() in ("{", "[") else None
    if found is not None:
        leave_fence(cursor)
    return found


def _read_named(cursor: Cursor, offered: OfferedTools) -> tuple[RawCall, ...] | None:
    """A name followed by the arguments, in one of many forms."""
    cursor.accept(_GEMMA)
    start = cursor.at
    found = cursor.match(_NAME)
    if found is None:
        return None
    name = found[0]
    if cursor.at_end():
        _require_other_name(name, offered)
        return None
    known = max(filter(name.startswith, offered.tools), key=len, default=name)
    if known != name and cursor.text.startswith(_CHANNELS, start + len(known)):
        # A server that strips tokens joins the channel to the name.
        name, cursor.at = known, start + len(known)
    if cursor.accept("("):
        return (read_arguments(cursor, name.removesuffix(".call"), offered),)
    after_name = cursor.at
    cursor.skip_space()
    if cursor.looking_at("<arg_key>") or cursor.looking_at("<longcat_arg_key>"):
        return (read_pairs(cursor, name),)
    separated = False
    for _ in range(_MOST_SEPARATORS):
        if not _step_over_separator(cursor):
            break
        separated = True
        cursor.skip_space()
        if name in ("function", "tool"):
            return read_item(cursor, offered)
    fenced = enter_fence(cursor)
    sign = cursor.peek()
    if sign == "{" or (sign == '"' and separated and not fenced):
        call = RawCall(name, read_json(cursor))
        if fenced:
            leave_fence(cursor)
        return (call,)
    if fenced:
        return None
    if token_at(cursor).kind == "close" and (separated or offered.knows(name)):
        return (RawCall(name, None),)
    at_end = sign == ""
    cursor.at = after_name
    if separated:
        raise ParseError("the arguments are missing", cut=cursor.at_end())
    if at_end and cursor.text[after_name : after_name + 1] in ("\n", ""):
        _require_other_name(name, offered)
    return None


def _require_other_name(name: str, offered: OfferedTools) -> None:
    """Raise ParseError if a name at the end of the text is a tool's name or a beginning of it: the call is cut."""
    bare = offered.name_of(name)
    if any(tool.startswith(bare) for tool in offered.tools):
        raise ParseError("it ends early", cut=True)


def _step_over_separator(cursor: Cursor) -> bool:
    if cursor.peek() not in ("<", "[", "j", "c", "a"):
        return False
    for word in (*_BEFORE_WORDS, *_SEPARATORS):
        if cursor.looking_at(word):
            break
    else:
        if cursor.peek() not in ("j", "c", "a"):
            return False
    found = cursor.match(_BEFORE_ARGUMENTS, slack=0)
    if found is None and len(cursor.text) - cursor.at < 40:
        cursor.require_final()
    return found is not None
