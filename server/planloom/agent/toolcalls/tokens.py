"""The tags and tokens of every family: one table, so that the next model's format is a row."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["open", "item", "close", "noise", "think", "unthink", "result", "harmony"]
"""What a token does.

`open` stands before one or more calls, `item` begins a call itself, `close` ends calls, `noise` is left by a server
and never shown, `think` and `unthink` enclose reasoning, `result` begins a tool result, `harmony` begins a header.
"""

_SPACES = ("", "antml:", "minimax:", "steptml:", "｜DSML｜", "|DSML|")
"""What stands in front of the names of tags: several families share the tags and differ in this."""
_BARS = ("｜", "|")
_GAPS = ("▁", "_", " ")


def _spellings(*words: str) -> tuple[str, ...]:
    """A DeepSeek token in every spelling: its bars and gaps are often replaced by ascii ones."""
    return tuple(f"<{bar}{gap.join(words)}{bar}>" for bar in _BARS for gap in _GAPS)


OPEN: dict[str, tuple[int, ...]] = {
    "<tool_call>": (1, 9, 14, 26, 29),
    "<tools>": (1,),
    "<|python_tag|>": (3,),
    "[TOOL_CALLS]": (6, 7, 8, 29),
    "<seed:tool_call>": (10,),
    **dict.fromkeys(_spellings("tool", "calls", "begin"), (11, 12, 30)),
    **dict.fromkeys(_spellings("tool", "call", "begin"), (11, 12, 30)),
    "<｜DSML｜tool_calls>": (13,),
    "<|DSML|tool_calls>": (13,),
    "<|tool_call|>": (14, 16),
    "<function_call>": (15,),
    "functools": (16, 17),
    "<tool_calls>": (18, 19),
    "<minimax:tool_call>": (20,),
    "<|python_start|>": (21,),
    **{f"<{space}function_calls>": (13, 22, 40) for space in _SPACES},
    "<|tool_call_start|>": (23,),
    "<|START_ACTION|>": (25,),
    "<|tool_calls_section_begin|>": (28,),
    "<|action_start|>": (31,),
    "<|plugin|>": (31,),
    "<|tool_call>": (33,),
    "<start_function_call>": (34,),
    "<|tools_prefix|>": (35,),
    "<TOOLCALL>": (36,),
    "function call<|role_sep|>": (37,),
    "<longcat_tool_call>": (38,),
    ">>>": (5,),
    "[TOOL_REQUEST]": (46,),
}
"""Tokens before calls, with the numbers of the families that print them."""

ITEM: dict[str, tuple[int, ...]] = {
    "<function=": (4, 9, 10),
    "<function name=": (4, 9),
    **{f"<{space}invoke name=": (13, 20, 30, 40) for space in _SPACES},
    "to=functions.": (39,),
    "commentary to=functions.": (39,),
    "assistantcommentary to=functions.": (39,),
    "assistant to=functions.": (39,),
    "analysis to=functions.": (39,),
}
"""Tokens that begin a call."""

_CLOSE = (
    "</tool_call>",
    "</tools>",
    "</function>",
    "</seed:tool_call>",
    *_spellings("tool", "calls", "end"),
    *_spellings("tool", "call", "end"),
    *(f"</{space}invoke>" for space in _SPACES),
    *(f"</{space}function_calls>" for space in _SPACES),
    "</｜DSML｜tool_calls>",
    "</|DSML|tool_calls>",
    "<|/tool_call|>",
    "</function_call>",
    "</tool_calls>",
    "</minimax:tool_call>",
    "<|python_end|>",
    "<|END_ACTION|>",
    "<|tool_calls_section_end|>",
    "<|action_end|>",
    "<tool_call|>",
    "<end_function_call>",
    "<|tools_suffix|>",
    "</TOOLCALL>",
    "</longcat_tool_call>",
    "[/TOOL_CALLS]",
    "[END_TOOL_REQUEST]",
    "<|call|>",
)
_NOISE = (
    "<|eom_id|>",
    "<|eot_id|>",
    "<|eom|>",
    "<|eot|>",
    "<|eos|>",
    "<|end_of_turn|>",
    "<|end|>",
    "<|return|>",
    "<|message|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|constrain|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|START_TEXT|>",
    "<|END_TEXT|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|message_sep|>",
    "<end_of_turn>",
    *_spellings("end", "of", "sentence"),
)
_RESULT = (
    "<tool_response>",
    "<|tool_response|>",
    "<|tool_response>",
    "<tool_result>",
    "<tool_results>",
    "<function_result>",
    "<function_results>",
    "<function_response>",
    "<start_function_response>",
    "<|START_TOOL_RESULT|>",
    "[TOOL_RESULTS]",
    "<|observation|>",
    "<|ipython|>",
    *_spellings("tool", "outputs", "begin"),
    *_spellings("tool", "output", "begin"),
)
THINK: dict[str, tuple[str, ...]] = {
    "<think>": ("</think>",),
    "<thinking>": ("</thinking>",),
    "[THINK]": ("[/THINK]",),
    "<seed:think>": ("</seed:think>",),
    "<|START_THINKING|>": ("<|END_THINKING|>",),
    "<reasoning>": ("</reasoning>",),
    "<thought>": ("</thought>",),
    "◁think▷": ("◁/think▷",),
}
"""Tags of reasoning and what closes them."""
HARMONY_ENDS = ("<|end|>", "<|start|>", "<|channel|>", "<|return|>", "<|call|>")
STRIPPED_ANSWER = "assistantfinal"
"""What is left of the header of an answer where a server strips tokens."""

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(OPEN, "open"),
    **dict.fromkeys(ITEM, "item"),
    **dict.fromkeys(_CLOSE, "close"),
    **dict.fromkeys(_NOISE, "noise"),
    **dict.fromkeys(_RESULT, "result"),
    **dict.fromkeys(THINK, "think"),
    **{end: "unthink" for ends in THINK.values() for end in ends},
    "<|start|>": "harmony",
    "<|channel|>": "harmony",
    STRIPPED_ANSWER: "harmony",
}

TOKENS = tuple(_KINDS)
LONGEST = max(map(len, TOKENS))
PREFIXES = frozenset(token[:length] for token in TOKENS for length in range(1, len(token)))
"""Every beginning of a token that is not yet a whole one."""


def kind_of(token: str) -> Kind:
    return _KINDS[token]


def one_of(words: tuple[str, ...]) -> str:
    """A pattern for any of the words in the shape of a tree, so that a failed try costs one look a level."""
    tree: dict[str, list[str]] = {}
    for word in words:
        tree.setdefault(word[:1], []).append(word[1:])
    parts = [
        re.escape(first) + (one_of(tuple(rests)) if rests != [""] else "")
        for first, rests in tree.items()
        if first
    ]
    body = parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
    return f"(?:{body})?" if "" in tree else body


TOKEN = re.compile(one_of(TOKENS))
CLOSE_OR_OPEN = re.compile(one_of((*_CLOSE, *(end for ends in THINK.values() for end in ends))))
"""Where a damaged call may be taken to end."""


def partial_at_end(text: str, start: int) -> int:
    """Where a beginning of a token stands at the end of the text; its length if there is none."""
    for at in range(max(start, len(text) - LONGEST + 1), len(text)):
        if text[at] in _FIRSTS and text[at:] in PREFIXES:
            return at
    return len(text)


_FIRSTS = frozenset(token[0] for token in TOKENS)
