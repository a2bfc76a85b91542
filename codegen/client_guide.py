"""The beginning of the page on the protocol: what an author of a client needs, in the order in which they need it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SESSION: Final = Path(__file__).parents[1] / "docs" / "clients" / "session.txt"
"""A whole session, which a test plays against the real server."""

_STEPS: Final = """\
## A client, step by step

[Two clients](clients/README.md) of 150 lines each, in Python and in TypeScript, do all of this but the last.
[protocol.schema.json](protocol.schema.json) is a JSON schema (draft 2020-12) of every message of this page, to generate
types from and to check messages with; for TypeScript there is `client-vscode/src/protocol.ts`. The server never sends
null for a field that may be left out, and takes it for one.

1. **Start** `planloom serve --stdio`; messages are framed by `Content-Length` as in LSP. Send `initialize`, await its
   answer, send `initialized`. The end is `shutdown`, its answer, `exit`.
2. **Declare** what the client does: [capabilities of LSP](#capabilities-of-lsp-that-are-used), and in
   [`planloomClient`](#initialization) `events` plus each decision that it asks for itself. Without `events` the server
   takes the client for an editor [without an extension](#without-an-extension), even with `views`: it asks for the
   review by messages and writes the plan's document.
3. **Report documents**: `didOpen`, `didChange` and `didClose` of all that the person has open. What is open is what the
   server reads and edits, saved or not.
4. **Create** a plan by `planloom/plan/create`. The answer comes at once, with a `draft` of version 0 without steps;
   what follows comes as notifications, some of it before that answer.
5. **Show** the plan. With `views` the server says what to show: words, signs, and every action that is offered, in the
   language of `locale`. It sends the first `planloom/plan/view` of each plan whole, then patches. A patch replaces
   fields of `view.plan` by `plan`, fields of the view by `head` (null: the field is left out now), and steps with the
   same id by `steps`; `order`, if it is there, lists the ids of all steps. `view.plan.steps` is always empty: the steps
   are `view.steps`, each with its `step`. Events are for what views do not keep: the history, a sound, a test. A view
   comes with the event that changes it or up to 1/30 s later, and shows all events up to its `plan.seq`.
6. **Review** while `status` is `pending_approval`, by `planloom/plan/approve` with the `version` that was shown. The
   event to ask on is `plan_approval_request`: it follows each `plan_ready` at once, and comes without one where a plan
   goes back to review or gets steps for a failed one. An edit, under review or while paused, sends `plan_edited` with
   the new version alone, an import `tasks_list` alone: the status counts.
7. **Decide** what is in `plan.pending`: `approvals` by `planloom/approval/respond` (`planloom/approval/diff` has the
   texts of each file), `questions` by `planloom/step/answer`, `recoveries` by `planloom/step/recover`, `conflicts` by
   `planloom/conflict/resolve`. Each `actions` entry of a view is ready for `workspace/executeCommand`. While
   `view.causes` is not empty the plan calls for the person; a plan that they have paused waits without a cause. A view
   shows a decision once its `plan.seq` is that of a later `planloom/plan/get`; an older one still has the question.
8. **Make edits**: [`workspace/applyEdit`](#edits), in the open buffers.
9. **Show the end**: `view.live` is false; `plan.report` has what was done. `planloom/plan/undo` takes it back, and
   `planloom/plan/message` goes on with a new plan, whose id is in the answer.
10. **Other plans** of the folder: `planloom/plan/list` has all, `planloom/status` those that this server runs or can
    resume. Nothing is sent of a plan that another server runs, such as that of another window: it can be listed and
    read, and every change of it is refused (`owned_elsewhere`). When that server ends, a plan that it ran already when
    this one started is taken over within a second (`plan_paused`, reason `restart`), any other one by the first request
    that changes it.

An event is one flat object: its fields stand beside `type`. `Step.order` counts from 0; `StepView.number`, which people
see, from 1; `version` and `seq` from 1.

## A whole session

`→` is what the client sends, `←` what the server sends; `jsonrpc` is left out, `…` is what is left out here, and
`<plan>` an id. Other notifications come between. The test `tests/docs/test_session.py` plays it.
"""


def sections() -> str:
    """Both sections."""
    return f"{_STEPS}\n```js\n{SESSION.read_text(encoding='utf-8')}```"
