"""The only module that uses private names of pygls; each is wrapped in a method of ours.

pyproject.toml pins pygls to the minor version that has these names, and tests/lsp/test_pygls_private.py fails if one
is missing or if another module uses one. To move to a new version, check `PRIVATE_NAMES` against its
`pygls/protocol/json_rpc.py`, then raise the pin.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from pygls.protocol import LanguageServerProtocol

PRIVATE_NAMES = {
    "_execute_handler": "Runs plain, async, generator and thread handlers alike. Without it no message reaches its"
    " handler. The public entry, `handle_message`, leaves malformed requests unanswered.",
    "_request_futures": "The futures of running handlers by message id. Without it `$/cancelRequest` and `shutdown`"
    " cannot cancel a request.",
}
"""Each private name of pygls in use, with what it is used for and what breaks without it."""


class PyglsProtocol(LanguageServerProtocol):
    """The protocol of pygls with public names for the private ones that we need."""

    def run_handler(self, ident: object, handler: Any, params: Any, on_done: Callable[[Any], None]) -> None:
        """Call `handler(params)`, and `on_done` with its future when that is done.

        While a handler that suspends runs, its future is in `running` under `ident`.
        """
        self._execute_handler(ident, handler, on_done, args=(params,))  # type: ignore[arg-type]

    @property
    def running(self) -> MutableMapping[object, Any]:
        """The futures of running handlers by `ident`; pygls adds them, and our callbacks remove them."""
        return self._request_futures  # type: ignore[return-value]
