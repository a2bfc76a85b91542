"""Expressions of steps in JMESPath, a query language without side effects: read, checked, and evaluated over facts.

Three things differ from plain JMESPath (https://jmespath.org): numbers, `true`, `false` and `null` need no backticks,
`!a.b` negates the whole path, and `glob('…')` and `exists('…')` stand for what the workspace holds. Whatever can make
a value that grows with the depth of the expression (flattening, lists and hashes in brackets, `to_string`, `join`)
or go over the same list at each depth is refused, so that an evaluation takes time in proportion to the length of the
expression times the size of its facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from planloom.domain.values import Json, StepId

LONGEST: Final = 1_000
"""The most characters of an expression."""
ENVIRONMENT: Final = ("CI", "LANG", "NODE_ENV", "SHELL", "VIRTUAL_ENV")
"""The variables of the environment that an expression can read; none of them holds a secret."""
Name = Literal["steps", "env", "platform", "item", "index", "last"]
EVERYWHERE: Final[frozenset[Name]] = frozenset({"steps", "env", "platform"})
"""The names that every expression can use."""

_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None}
_FUNCTIONS: Final = frozenset(
    {
        "contains",
        "ends_with",
        "keys",
        "length",
        "max",
        "min",
        "not_null",
        "reverse",
        "sort",
        "starts_with",
        "sum",
        "to_number",
        "type",
        "values",
    }
)
_WORKSPACE: Final = ("glob", "exists")
_REFUSED: Final = {
    "flatten": "[]",
    "multi_select_list": "a list in brackets",
    "multi_select_dict": "a hash in braces",
    "expref": "&",
}

_Node = dict[str, Any]
"""A node of the syntax tree of jmespath: `type`, `children`, and where it has one, `value`."""


class Malformed(Exception):
    """Raised for an expression that cannot be used; `problem` is a sentence, `column` counts from 1."""

    def __init__(self, problem: str, column: int) -> None:
        super().__init__(f"Column {column}: {problem}")
        self.problem = problem
        self.column = column


class Unanswerable(Exception):
    """Raised where the facts do not fit the expression, such as the length of a number; the text is a sentence."""


class Expression(NamedTuple):
    """An expression that was read; `names` are those that it uses, `steps` the steps whose results it reads.

    `globs` and `paths` are the arguments of `glob` and `exists`.
    """

    text: str
    tree: _Node
    names: frozenset[str]
    steps: tuple[StepId, ...]
    globs: tuple[str, ...]
    paths: tuple[str, ...]


class Facts(NamedTuple):
    """The facts over which an expression is evaluated: values by name, files by glob, and which paths exist."""

    values: Mapping[str, Json]
    globs: Mapping[str, tuple[str, ...]] = {}
    paths: Mapping[str, bool] = {}

    def with_values(self, more: Mapping[str, Json]) -> Facts:
        """These facts with the values of further names."""
        return self._replace(values={**self.values, **more})


def read(text: str, names: frozenset[Name] = EVERYWHERE) -> Expression:
    """Read an expression that may use these names. Raises Malformed."""
    if len(text) > LONGEST:
        raise Malformed(f"An expression has at most {LONGEST} characters.", LONGEST + 1)
    try:
        tree = _tree(text)
        nodes = tuple(_nodes(tree))
    except RecursionError:
        raise Malformed("The expression is nested too deeply.", 1) from None
    for node, at_root in nodes:
        _check(text, node, names if at_root else None)
    called = [
        (node["value"], node["children"][0]["value"])
        for node, _ in nodes
        if node["type"] == "function_expression" and node["value"] in _WORKSPACE
    ]
    roots = {node["value"] for node, at_root in nodes if at_root and node["type"] == "field"}
    return Expression(
        text=text,
        tree=tree,
        names=frozenset(roots),
        steps=tuple(dict.fromkeys(_steps(text, nodes))),
        globs=tuple(dict.fromkeys(argument for name, argument in called if name == "glob")),
        paths=tuple(dict.fromkeys(argument for name, argument in called if name == "exists")),
    )


def evaluated(expression: Expression, facts: Facts) -> Json:
    """The value of an expression. Raises Unanswerable."""
    from jmespath.exceptions import JMESPathError
    from jmespath.visitor import TreeInterpreter

    try:
        value: Json = TreeInterpreter().visit(_bound(expression.tree, facts), dict(facts.values))
    except (JMESPathError, TypeError, RecursionError) as error:
        raise Unanswerable(f"“{expression.text}” has no value: {error}.") from error
    return value


def holds(expression: Expression, facts: Facts) -> bool:
    """Whether a condition holds: its value is not false, null, or an empty text, list or object.

    Raises Unanswerable, also for a number, which JMESPath counts as true even if it is 0.
    """
    value = evaluated(expression, facts)
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Unanswerable(f"“{expression.text}” is a number; compare it, as in “… > 0”.")
    return value not in (None, False, "", [], {})


@cache
def _parser() -> Callable[[], Any]:
    """The class of the parser, which is loaded where a plan has an expression."""
    from jmespath import ast
    from jmespath.parser import Parser

    class WithWords(Parser):  # type: ignore[misc]
        """Reads bare numbers and words as literals, and lets `!` negate a whole path."""

        _CACHE: dict[str, object] = {}  # noqa: RUF012 - the parser's own cache, apart from that of plain JMESPath

        def _token_nud_number(self, token: _Node) -> object:
            return ast.literal(token["value"])

        def _token_nud_unquoted_identifier(self, token: _Node) -> object:
            before = self._tokens[self._index - 2]["type"] if self._index > 1 else None
            if before != "dot" and token["value"] in _WORDS:
                return ast.literal(_WORDS[token["value"]])
            return super()._token_nud_unquoted_identifier(token)

        def _token_nud_not(self, _token: _Node) -> object:
            return ast.not_expression(self._expression(self.BINDING_POWER["eq"]))

    return WithWords


def _tree(text: str) -> _Node:
    from jmespath.exceptions import JMESPathError, ParseError

    if not text.strip():
        raise Malformed("It is empty.", 1)
    try:
        tree: _Node = _parser()().parse(text).parsed
    except ParseError as error:
        at = error.lex_position + 1
        if error.token_value in (None, ""):
            raise Malformed("The expression is not complete.", at) from error
        raise Malformed(f"“{str(error.token_value)[:40]}” is not expected here.", at) from error
    except JMESPathError as error:
        raise Malformed("The expression is not complete.", 1) from error
    return tree


def _nodes(tree: _Node, *, at_root: bool = True) -> Iterator[tuple[_Node, bool]]:
    """Every node, and whether it is evaluated on all facts instead of on a part of them."""
    yield tree, at_root
    for child, is_root in _children(tree, at_root):
        yield from _nodes(child, at_root=is_root)


def _children(node: _Node, at_root: bool) -> Iterator[tuple[_Node, bool]]:
    """The nodes below a node. Of a path and a projection only the first is evaluated where the whole is."""
    goes_down = node["type"] in (
        "subexpression",
        "index_expression",
        "pipe",
        "projection",
        "value_projection",
        "filter_projection",
    )
    for number, child in enumerate(node["children"]):
        if isinstance(child, dict):
            yield child, at_root and not (goes_down and number > 0)


def _check(text: str, node: _Node, names: frozenset[Name] | None) -> None:
    """Raise Malformed for what an expression must not hold; `names` is None below a path or in a projection."""
    kind, value = node["type"], node.get("value")
    if kind in _REFUSED:
        raise Malformed(f"Expressions cannot use {_REFUSED[kind]}.", 1)
    if kind == "literal" and isinstance(value, list | dict):
        raise Malformed("A literal is a text, a number, true, false or null.", text.find("`") + 1)
    if kind in ("current", "identity") and names is not None:
        raise Malformed("It does not begin with a name.", 1)
    if kind == "field" and names is not None and value not in names:
        known = ", ".join(sorted(names))
        hint = f"There is no {value!r} here; the names are {known}. Texts stand in single quotes."
        raise Malformed(hint, _column(text, str(value)))
    if kind == "function_expression":
        if value not in _FUNCTIONS and value not in _WORKSPACE:
            known = ", ".join(sorted({*_FUNCTIONS, *_WORKSPACE}))
            raise Malformed(f"There is no function {value!r}; there are {known}.", _column(text, str(value)))
        if value in _WORKSPACE and names is None:
            raise Malformed(f"{value} cannot stand inside [? … ].", _column(text, str(value)))
        if value in _WORKSPACE and not _is_one_text(node["children"]):
            raise Malformed(f"{value} takes one text in single quotes.", _column(text, str(value)))
        if value in _FUNCTIONS and not _takes(str(value), len(node["children"])):
            raise Malformed(f"{value} takes another number of arguments.", _column(text, str(value)))


def _takes(function: str, count: int) -> bool:
    from jmespath.functions import Functions

    signature = Functions.FUNCTION_TABLE[function]["signature"]
    return count == len(signature) or (bool(signature[-1].get("variadic")) and count > len(signature))


def _is_one_text(children: list[_Node]) -> bool:
    return len(children) == 1 and children[0]["type"] == "literal" and isinstance(children[0]["value"], str)


def _steps(text: str, nodes: tuple[tuple[_Node, bool], ...]) -> Iterator[StepId]:
    """The ids behind `steps.`. Raises Malformed for `steps` or `env` without a known name behind it."""
    named = set()
    for node, at_root in nodes:
        first = node["children"][0] if node["type"] == "subexpression" and at_root else None
        if first is None or first["type"] != "field" or first["value"] not in ("steps", "env"):
            continue
        named.add(id(first))
        second = node["children"][1]
        if second["type"] != "field":
            raise Malformed(f"A name follows “{first['value']}.”.", _column(text, first["value"]))
        if first["value"] == "steps":
            yield StepId(second["value"])
        elif second["value"] not in ENVIRONMENT:
            known = ", ".join(ENVIRONMENT)
            raise Malformed(f"Of the environment there is {known}.", _column(text, second["value"]))
    for node, at_root in nodes:
        alone = at_root and node["type"] == "field" and node["value"] in ("steps", "env")
        if alone and id(node) not in named:
            raise Malformed(f"A name follows “{node['value']}.”.", _column(text, node["value"]))


def _column(text: str, word: str) -> int:
    """Where a word stands in an expression that could be read, 1 if it is written with escapes."""
    from jmespath.lexer import Lexer

    found = (token["start"] for token in Lexer().tokenize(text) if token["value"] == word)
    return int(next(found, 0)) + 1


def _bound(node: _Node, facts: Facts) -> _Node:
    """The node with each call that looks into the workspace replaced by its result, as a literal."""
    if node["type"] == "function_expression" and node["value"] in _WORKSPACE:
        argument = node["children"][0]["value"]
        known: Json = (
            facts.paths.get(argument) if node["value"] == "exists" else [*facts.globs.get(argument, ())]
        )
        return {"type": "literal", "value": known, "children": []}
    children = [_bound(child, facts) if isinstance(child, dict) else child for child in node["children"]]
    return {**node, "children": children}
