"""The table of tags and tokens of every model family (docs/model-text.md, Families)."""

from __future__ import annotations

from typing import Literal, NamedTuple

from planloom.domain.model_text.cursor import Cursor, NeedMoreText
from planloom.domain.model_text.lenient_json import Watch, read_value
from planloom.domain.model_text.reasoning import REASONING_TAGS
from planloom.domain.model_text.token_set import TokenSet
from planloom.domain.values import Json

Kind = Literal["open", "item", "close", "noise", "think", "unthink", "result", "harmony"]
"""The effect of a token.

`open` precedes one or more calls, `item` begins a call itself, `close` ends calls, `noise` is left over by a server
and never shown, `think` and `unthink` enclose reasoning, `result` begins a tool result, `harmony` begins a header.
"""

_PREFIXES = ("", "antml:", "minimax:", "steptml:", "｜DSML｜", "|DSML|")
"""Prefixes of tag names that several families share."""


def _spellings(*words: str) -> tuple[str, ...]:
    """A DeepSeek token in every spelling: its bars and gaps are often replaced by ASCII characters."""
    return tuple(f"<{bar}{gap.join(words)}{bar}>" for bar in "｜|" for gap in "▁_ ")


def _tokens(lines: str) -> tuple[str, ...]:
    return tuple(lines.split())


_OPEN = (
    *_tokens("""
    <tool_call> <tools> <|python_tag|> [TOOL_CALLS] <seed:tool_call> <｜DSML｜tool_calls> <|DSML|tool_calls>
    <|tool_call|> <function_call> functools <tool_calls> <minimax:tool_call> <|python_start|> <|tool_call_start|>
    <|START_ACTION|> <|tool_calls_section_begin|> <|action_start|> <|plugin|> <|tool_call> <start_function_call>
    <|tools_prefix|> <TOOLCALL> <longcat_tool_call> >>> [TOOL_REQUEST]
    """),
    "function call<|role_sep|>",
    *_spellings("tool", "calls", "begin"),
    *_spellings("tool", "call", "begin"),
    *(f"<{prefix}function_calls>" for prefix in _PREFIXES),
)
_ITEM = (
    *("<function=", "<function name=", "to=functions.", "commentary to=functions.", "analysis to=functions."),
    *("assistantcommentary to=functions.", "assistant to=functions."),
    *(f"<{prefix}invoke name=" for prefix in _PREFIXES),
)
_CLOSE = (
    *_tokens("""
    </tool_call> </tools> </function> </seed:tool_call> </｜DSML｜tool_calls> </|DSML|tool_calls> <|/tool_call|>
    </function_call> </tool_calls> </minimax:tool_call> <|python_end|> <|END_ACTION|> <|tool_calls_section_end|>
    <|action_end|> <tool_call|> <end_function_call> <|tools_suffix|> </TOOLCALL> </longcat_tool_call>
    [/TOOL_CALLS] [END_TOOL_REQUEST] <|call|>
    """),
    *_spellings("tool", "calls", "end"),
    *_spellings("tool", "call", "end"),
    *(f"</{prefix}{tag}>" for prefix in _PREFIXES for tag in ("invoke", "function_calls")),
)
_NOISE = (
    *_tokens("""
    <|eom_id|> <|eot_id|> <|eom|> <|eot|> <|eos|> <|end_of_turn|> <|end|> <|return|> <|message|> <|im_end|>
    <|endoftext|> <|end_of_text|> <|constrain|> <|START_RESPONSE|> <|END_RESPONSE|> <|START_TEXT|> <|END_TEXT|>
    <|END_OF_TURN_TOKEN|> <|message_sep|> <end_of_turn>
    """),
    *_spellings("end", "of", "sentence"),
)
_RESULT = (
    *_tokens("""
    <tool_response> <|tool_response|> <|tool_response> <tool_result> <tool_results> <function_result>
    <function_results> <function_response> <start_function_response> <|START_TOOL_RESULT|> [TOOL_RESULTS]
    <|observation|> <|ipython|>
    """),
    *_spellings("tool", "outputs", "begin"),
    *_spellings("tool", "output", "begin"),
)
_UNTHINK = tuple(dict.fromkeys(tag for closes in REASONING_TAGS.values() for tag in closes))
STRIPPED_ANSWER = "assistantfinal"
"""The rest of a Harmony header of an answer after a server has stripped its tokens."""

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(_OPEN, "open"),
    **dict.fromkeys(_ITEM, "item"),
    **dict.fromkeys(_CLOSE, "close"),
    **dict.fromkeys(_NOISE, "noise"),
    **dict.fromkeys(_RESULT, "result"),
    **dict.fromkeys(REASONING_TAGS, "think"),
    **dict.fromkeys(_UNTHINK, "unthink"),
    **dict.fromkeys(("<|start|>", "<|channel|>", STRIPPED_ANSWER), "harmony"),
}

TOKENS = tuple(_KINDS)
TOKEN_SET = TokenSet(TOKENS)
END_TAGS = TokenSet((*_CLOSE, *_UNTHINK)).pattern
"""Matches where a damaged call may end."""


def kind_of(token: str) -> Kind:
    return _KINDS[token]


class Token(NamedTuple):
    """A token in a text. If there is none, `text` is empty and `kind` None."""

    text: str
    kind: Kind | None


_NO_TOKEN = Token("", None)


def token_at(cursor: Cursor) -> Token:
    """The token at the cursor, which does not move. Raises NeedMoreText if the text ends within a token."""
    found = TOKEN_SET.pattern.match(cursor.text, cursor.at)
    if found is not None:
        return Token(found[0], kind_of(found[0]))
    rest = cursor.text[cursor.at : cursor.at + TOKEN_SET.longest]
    if not cursor.final and len(cursor.text) - cursor.at < TOKEN_SET.longest and TOKEN_SET.is_beginning(rest):
        raise NeedMoreText
    return _NO_TOKEN


def read_json(cursor: Cursor, watch: Watch | None = None) -> Json:
    """Like `read_value`, but the tags that end a call also end JSON whose closing brackets are missing (T8)."""
    return read_value(cursor, watch, _at_end_of_call)


def _at_end_of_call(cursor: Cursor) -> bool:
    return cursor.peek() in ("<", "[") and token_at(cursor).kind in ("close", "noise", "open")
