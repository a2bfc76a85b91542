"""Templates: reusable steps with `{{parameters}}`, which are filled in when the template is applied."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal, assert_never

from planloom.domain.plans.plan import Step
from planloom.domain.values import Json, TemplateId, Value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_PLACEHOLDER = re.compile(r"\{\{[ \t]{0,8}([A-Za-z_][A-Za-z0-9_-]{0,63})[ \t]{0,8}\}\}")
_TEXTS = ("description", "instruction", "active_form", "question", "when", "for_each", "repeat_until")


_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")

ParameterType = Literal["text", "path", "number", "choice"]
"""The type of a parameter. A path is one in the workspace, `@` before it or not; a choice is one of `options`."""


class TemplateParameter(Value):
    """A value that the user gives when applying a template; required without a default, optional with an empty one."""

    name: str
    description: str | None = None
    default: str | None = None
    type: ParameterType = "text"
    options: tuple[str, ...] = ()


class Template(Value):
    """Reusable steps. `builtin` templates ship with Planloom and cannot be deleted."""

    template_id: TemplateId
    name: str
    description: str | None = None
    parameters: tuple[TemplateParameter, ...] = ()
    steps: tuple[Step, ...]
    sequential: bool = True
    builtin: bool = False


class TemplateRefused(Value):
    """Why a template cannot be made or applied: pairs of a parameter's name and a sentence."""

    problems: tuple[tuple[str, str], ...]


class TemplatePreview(Value):
    """A template's steps with the values that are known so far, and why it cannot be applied yet."""

    steps: tuple[Step, ...]
    problems: tuple[tuple[str, str], ...]


def applied(template: Template, values: Mapping[str, str]) -> tuple[Step, ...] | TemplateRefused:
    """The template's steps with every parameter filled in, in one pass: values are not expanded again.

    `{{words}}` that are not a parameter stay unchanged.
    """
    filled = preview(template, values)
    return TemplateRefused(problems=filled.problems) if filled.problems else filled.steps


def preview(template: Template, values: Mapping[str, str]) -> TemplatePreview:
    """The template as these values fill it in; what has no value yet stays `{{name}}`."""
    filled = {each.name: values.get(each.name, each.default or "") for each in template.parameters}
    problems = [
        (each.name, problem)
        for each in template.parameters
        if (problem := _problem(each, filled[each.name].strip())) is not None
    ]
    problems += [(name, "the template has no such parameter") for name in values if name not in filled]

    def fill(text: str) -> str:
        return _PLACEHOLDER.sub(lambda placeholder: filled.get(placeholder[1]) or placeholder[0], text)

    steps = tuple(rewritten(step, fill, _argument_filler(fill)) for step in template.steps)
    return TemplatePreview(steps=steps, problems=tuple(problems))


def _problem(parameter: TemplateParameter, value: str) -> str | None:
    """Why a value is none for this parameter."""
    if not value:
        return None if parameter.default == "" else "it is required"
    match parameter.type:
        case "text":
            return None
        case "path":
            path = PurePosixPath(value.removeprefix("@").strip('"').replace("\\", "/"))
            outside = path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", str(path))
            return "it must be a path in the workspace" if outside else None
        case "number":
            return None if _NUMBER.fullmatch(value) else "it must be a number"
        case "choice":
            choices = ", ".join(parameter.options)
            return None if value in parameter.options else f"it must be one of {choices}"
        case _:
            assert_never(parameter.type)


def _argument_filler(fill: Callable[[str], str]) -> Callable[[str, str], str]:
    """A function that fills in an argument: it escapes a leading dollar sign and removes the @ of a path."""

    def filler(name: str, text: str) -> str:
        result = fill(text)
        if _PLACEHOLDER.match(text) is None:
            return result
        if name.endswith("path"):
            result = result.removeprefix("@")
        return f"${result}" if result.startswith("$") else result

    return filler


def template_of(
    steps: Sequence[Step],
    *,
    template_id: TemplateId,
    name: str,
    description: str | None = None,
    parameters: Sequence[tuple[str, str]] = (),
    sequential: bool = True,
) -> Template | TemplateRefused:
    """A template made of a plan's steps: each occurrence of a value becomes `{{name}}`, longer values first.

    The results of the steps are left out. The values become the parameters' defaults.
    """
    problems = [("name", "it is empty")] if not name.strip() else []
    checked: set[str] = set()
    for parameter, value in parameters:
        if _NAME.fullmatch(parameter) is None:
            problems.append((parameter, "it must be a letter or _, then letters, digits, - and _"))
        elif parameter in checked:
            problems.append((parameter, "it occurs twice"))
        elif not value:
            problems.append((parameter, "its value is empty"))
        checked.add(parameter)
    if problems:
        return TemplateRefused(problems=tuple(problems))
    names = {value: parameter for parameter, value in reversed(list(parameters))}
    pattern = re.compile("|".join(re.escape(value) for value in sorted(names, key=len, reverse=True)))

    def placeholder(text: str) -> str:
        return pattern.sub(lambda found: "{{" + names[found[0]] + "}}", text) if names else text

    # Attachments belong to the plan of the step, and what a loop was unrolled into to its run.
    ids = {step.step_id for step in steps}
    written = [step for step in steps if step.parent not in ids]
    fresh = [step.as_written().model_copy(update={"attachments": ()}) for step in written]
    return Template(
        template_id=template_id,
        name=name.strip(),
        description=description,
        parameters=tuple(TemplateParameter(name=parameter, default=value) for parameter, value in parameters),
        steps=tuple(rewritten(step, placeholder, lambda _, text: placeholder(text)) for step in fresh),
        sequential=sequential,
    )


def rewritten(step: Step, change: Callable[[str], str], change_argument: Callable[[str, str], str]) -> Step:
    """The step with every text in it changed; ids, tools and kinds stay."""
    update: dict[str, object] = {
        name: change(text) for name in _TEXTS if isinstance(text := getattr(step, name), str)
    }
    if step.args is not None:
        update["args"] = {
            name: change_argument(name, value) if isinstance(value, str) else _rewritten_json(value, change)
            for name, value in step.args.items()
        }
    update["options"] = tuple(change(option) for option in step.options)
    update["expected_files"] = tuple(change(path).removeprefix("@") for path in step.expected_files)
    update["checks"] = tuple(
        check.model_copy(
            update={
                name: change(text)
                for name in ("path", "text", "command")
                if isinstance(text := getattr(check, name), str)
            }
        )
        for check in step.checks
    )
    update["tools_to_execute"] = tuple(
        tool.model_copy(update={"args": _rewritten_json(tool.args, change)}) for tool in step.tools_to_execute
    )
    return step.model_copy(update=update)


def _rewritten_json(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_rewritten_json(entry, change) for entry in value]
    if isinstance(value, dict):
        return {key: _rewritten_json(entry, change) for key, entry in value.items()}
    return value
