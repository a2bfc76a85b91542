"""Turns exceptions into JSON-RPC errors, by one table."""

from __future__ import annotations

import logging
from typing import Any

from pydantic.alias_generators import to_camel

from planloom.domain import errors
from planloom.serving.envelope import INTERNAL_ERROR, INVALID_PARAMS, REQUEST_FAILED

logger = logging.getLogger(__name__)

CODES: dict[type[errors.PlanloomError], int] = {
    errors.InvalidParams: INVALID_PARAMS,
    errors.UnknownThing: REQUEST_FAILED,
    errors.PlanElsewhere: REQUEST_FAILED,
    errors.WrongState: REQUEST_FAILED,
    errors.FilesRefused: REQUEST_FAILED,
    errors.StaleVersion: REQUEST_FAILED,
    errors.InvalidPlan: REQUEST_FAILED,
    errors.OwnedElsewhere: REQUEST_FAILED,
    errors.LimitExceeded: REQUEST_FAILED,
    errors.StorageFailed: REQUEST_FAILED,
    errors.PlanUnreadable: REQUEST_FAILED,
    errors.ModelFailed: REQUEST_FAILED,
    errors.PlannerFailed: REQUEST_FAILED,
    errors.ReferenceUnresolved: REQUEST_FAILED,
    errors.WorkspaceRequired: REQUEST_FAILED,
    errors.UntrustedWorkspace: REQUEST_FAILED,
    errors.PathDenied: REQUEST_FAILED,
    errors.BudgetExhausted: REQUEST_FAILED,
    errors.ContextOverflow: REQUEST_FAILED,
}
"""The JSON-RPC code of each failure that a client may get. Its `data.code` is the `code` of the class."""


def to_wire(error: BaseException, request: str) -> dict[str, Any]:
    """The `error` object of an answer; `request` names the request in the log.

    An exception that is not in `CODES` is a defect: its trace is logged, and the client gets `errors.DEFECT`.
    """
    if isinstance(error, errors.PlanloomError) and (code := _code(error)) is not None:
        return {"code": code, "message": error.message, "data": _data(error)}
    logger.error("Answering %s failed unexpectedly", request, exc_info=error)
    return {
        "code": INTERNAL_ERROR,
        "message": errors.DEFECT,
        "data": {"code": "internal", "message": errors.DEFECT},
    }


def _code(error: errors.PlanloomError) -> int | None:
    return next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), None)


def _data(error: errors.PlanloomError) -> dict[str, Any]:
    data: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.hint is not None:
        data["hint"] = error.hint
    if error.details is not None:
        data["details"] = error.details
    elif isinstance(error, errors.ModelFailed) and error.problem is not None:
        # A test checks that this equals the model of the wire, which this room may not import.
        data["details"] = {to_camel(name): value for name, value in error.problem if value is not None}
    elif isinstance(error, errors.ModelFailed) and error.raw_text is not None:
        data["details"] = {"rawText": error.raw_text}
    return data
