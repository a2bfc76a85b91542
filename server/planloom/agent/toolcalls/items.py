"""One call or one list of calls behind a marker, told apart by its first characters, whatever the family."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.cursor import Broken, Cursor
from planloom.agent.toolcalls.loose_json import read_value
from planloom.agent.toolcalls.offers import Offers, RawCall
from planloom.agent.toolcalls.pythonic import read_arguments, read_list
from planloom.agent.toolcalls.shapes import calls_in
from planloom.agent.toolcalls.xml_calls import read_pairs, read_tagged
from planloom.domain.values import Json

_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,120}")
_FENCE = re.compile(r"`{3,9}[ \t]*[A-Za-z_]{0,20}[ \t]*\r?\n?")
_ARRAY_START = re.compile(r"\[\s*")
_BEFORE_ARGUMENTS = re.compile(
    r"<\|tool_call_argument_begin\|>|\[ARGS\]|\[CALL_ID\][\w-]{0,80}|<[｜|]tool[▁_ ]sep[｜|]>|<\|constrain\|>"
    r"|<\|message\|>|(?:json|code|commentary|analysis)\b"
)
_BEFORE_WORDS = ("<|tool_call_argument_begin|>", "[ARGS]", "[CALL_ID]", "<|constrain|>", "<|message|>")
_SEPARATORS = tuple(f"<{bar}tool{gap}sep{bar}>" for bar in "｜|" for gap in "▁_ ")
_GEMMA = "call:"


def read_item(cursor: Cursor, offers: Offers) -> tuple[RawCall, ...] | None:
    """The calls that begin here, the cursor behind them; None, with the cursor moved, if none begins.

    Raises More, or Broken where a call begins that cannot be read.
    """
    sign = cursor.peek()
    if sign == "{":
        return _meant(read_value(cursor), offers)
    if sign == "[":
        return _listed(cursor, offers)
    if sign == "`":
        return _fenced(cursor, offers)
    if sign in "<ctas":
        token = cursor.token()
        if token is not None and token[1] == "item":
            if token[0].startswith("<"):
                return (read_tagged(cursor, token[0], offers),)
            cursor.at += len(token[0])
            return _named(cursor, offers)
    return _named(cursor, offers) if sign and (sign.isalpha() or sign == "_") else None


def _meant(value: Json, offers: Offers) -> tuple[RawCall, ...]:
    found = calls_in(value, offers, marked=True)
    if found is None:
        raise Broken("it names no tool with arguments")
    return found


def _listed(cursor: Cursor, offers: Offers) -> tuple[RawCall, ...] | None:
    ahead = Cursor(cursor.text, cursor.at, final=cursor.final)
    ahead.match(_ARRAY_START)
    sign = ahead.peek()
    if sign in ("{", "]", '"', "“") or sign == "":
        return _meant(read_value(cursor), offers)
    if sign.isalpha() or sign == "_":
        return read_list(cursor, offers)
    return None


def _fenced(cursor: Cursor, offers: Offers) -> tuple[RawCall, ...] | None:
    """A call in a fence behind a marker; the fence's end belongs to it."""
    if not step_into_fence(cursor):
        return None
    found = read_item(cursor, offers) if cursor.peek() in ("{", "[") else None
    if found is not None:
        take_fence_end(cursor)
    return found


def step_into_fence(cursor: Cursor) -> bool:
    """Step over the start of a fence and white space behind it; whether there was one."""
    if not cursor.looking_at("```") or cursor.match(_FENCE) is None:
        return False
    cursor.space()
    return True


def take_fence_end(cursor: Cursor) -> None:
    """Step over the end of a fence, if it is here behind white space."""
    start = cursor.at
    cursor.space()
    if not cursor.take("```"):
        cursor.at = start


def _named(cursor: Cursor, offers: Offers) -> tuple[RawCall, ...] | None:
    """A name, and then arguments in one of many ways."""
    if cursor.looking_at(_GEMMA):
        cursor.at += len(_GEMMA)
    start = cursor.at
    found = cursor.match(_NAME)
    if found is None:
        return None
    name = found[0]
    if cursor.at_end():
        if _begins_a_name(name, offers):
            raise Broken("it ends early", cut=True)
        return None
    known = _longest_known(name, offers)
    if (
        known is not None
        and known != name
        and cursor.text.startswith(("commentary", "analysis", "json"), start + len(known))
    ):
        # Where a server strips tokens, the channel sticks to the name.
        name, cursor.at = known, start + len(known)
    if cursor.take("("):
        return (read_arguments(cursor, name.removesuffix(".call"), offers),)
    behind_name = cursor.at
    cursor.space()
    if cursor.looking_at("<arg_key>") or cursor.looking_at("<longcat_arg_key>"):
        return (read_pairs(cursor, name),)
    marked = False
    for _ in range(6):
        if not _step_over_separator(cursor):
            break
        marked = True
        cursor.space()
        if name in ("function", "tool"):
            return read_item(cursor, offers)
    if step_into_fence(cursor):
        if cursor.peek() != "{":
            return None
        return _with_object(cursor, name, fenced=True)
    if cursor.peek() in ("{", '"') and (marked or cursor.peek() == "{"):
        return _with_object(cursor, name, fenced=False)
    token = cursor.token()
    if token is not None and token[1] == "close" and (marked or offers.knows(name)):
        return (RawCall(name, None),)
    cursor.at = behind_name
    if marked:
        raise Broken("the arguments are missing", cut=cursor.at_end())
    if (
        cursor.text[behind_name : behind_name + 1] in ("\n", "")
        and _begins_a_name(name, offers)
        and _only_space(cursor)
    ):
        raise Broken("it ends early", cut=True)
    return None


def _only_space(cursor: Cursor) -> bool:
    start = cursor.at
    cursor.space()
    ends = cursor.at_end()
    cursor.at = start
    return ends


def _with_object(cursor: Cursor, name: str, *, fenced: bool) -> tuple[RawCall, ...]:
    call = RawCall(name, read_value(cursor))
    if fenced:
        take_fence_end(cursor)
    return (call,)


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
        cursor.wait()
    return found is not None


def _longest_known(name: str, offers: Offers) -> str | None:
    best = None
    for tool in offers.tools:
        if name.startswith(tool) and (best is None or len(tool) > len(best)):
            best = tool
    return best


def _begins_a_name(name: str, offers: Offers) -> bool:
    bare = offers.name_of(name)
    return any(tool.startswith(bare) for tool in offers.tools)
