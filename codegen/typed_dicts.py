"""Writes the messages that the command line reads as TypedDicts, from the models of the wire."""

from __future__ import annotations

import types
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import JsonValue

from codegen.notation import plain, quoted, shown_type
from planloom.lsp.wire import plan, report, review, view
from planloom.lsp.wire.base import Wire

_WIDTH: Final = 110
_MODELS: Final[tuple[type[Wire], ...]] = (
    review.Attachment,
    review.Unresolved,
    review.ApprovalFile,
    review.Confinement,
    review.ConfinementOffer,
    review.ConfinementRequest,
    review.ListPlace,
    review.Approval,
    review.ConflictHunk,
    review.ConflictFile,
    review.Conflict,
    plan.Detection,
    plan.PlanError,
    plan.StepResult,
    plan.Step,
    plan.Question,
    plan.Proposal,
    plan.Recovery,
    plan.Pending,
    report.ReportedStep,
    report.ReportedFile,
    report.ReportedCommand,
    report.Report,
    plan.Plan,
    plan.Progress,
    plan.PlanSummary,
    review.DiffResult,
    view.ChangedFile,
    view.StepView,
    view.PlanView,
)
"""What the command line reads, each after what its fields name. A model that is not here is plain JSON."""
_READ: Final[dict[type[Wire], str]] = {
    plan.Step: "step_id description instruction active_form kind agent tool args depends_on requires_approval status"
    " result question checks reverted template_id when for_each repeat_until repeat_most",
    plan.Plan: "plan_id version seq status workspace_folders request messages attachments detection summary"
    " commands_run steps sequential overall_risk asks_again route author execution_summary report error pending"
    " pause_reason pause_detail model_problem created_at",
    view.ChangedFile: "step_id created_by uri new_uri change kind state words by_command lasting",
    view.StepView: "step number sign words skipped worked_ms judged actions",
    view.PlanView: "plan state sign waits live partly progress pause pause_help problem thought perspectives left files"
    " steps used used_lines changes actions",
}
"""The fields that the command line reads of large models; of others it has all."""
_NAMES: Final[dict[Any, str]] = {
    str: "str",
    int: "int",
    bool: "bool",
    datetime: "str",
    type(None): "None",
    JsonValue: "Any",
    **{model: model.__name__ for model in _MODELS},
}
_HEAD: Final = '''\
"""The messages that the command line reads, as plain JSON. Written by `make generate`; a test compares it."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Json = dict[str, Any]
"""A JSON object as it was received; nothing of it is validated."""
'''


def module() -> str:
    """The whole module, as the formatter leaves it."""
    return "\n".join((_HEAD, *("\n".join(("", *_lines(model), "")) for model in _MODELS)))


def _lines(model: type[Wire]) -> Iterator[str]:
    model.model_rebuild()
    yield f"class {model.__name__}(TypedDict, total=False):"
    first, _, _ = (model.__doc__ or "").partition("\n\n")
    yield f'    """{" ".join(first.split())}"""'
    yield ""
    read = _READ[model].split() if model in _READ else model.model_fields
    for name, field in ((name, model.model_fields[name]) for name in read):
        yield from _broken(f"    {field.alias or name}: {_written(shown_type(field))}")


def _written(kind: Any) -> str:
    """A type as Python code."""
    kind = plain(kind)
    if kind in _NAMES:
        return _NAMES[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"Literal[{quoted(arguments, ', ')}]"
    if origin in (Union, types.UnionType):
        return " | ".join(_written(each) for each in arguments)
    if origin is tuple:
        return f"list[{_written(arguments[0])}]"
    assert origin is dict or issubclass(kind, Wire), kind
    return "Json"


def _broken(line: str) -> Iterator[str]:
    """A field on one line, or its words on the lines after it."""
    if len(line) <= _WIDTH:
        yield line
        return
    start, _, words = line.removesuffix("]").partition("Literal[")
    yield f"{start}Literal["
    if len(words) + 8 <= _WIDTH:
        yield f"        {words}"
    else:
        yield from (f"        {word}," for word in words.split(", "))
    yield "    ]"
