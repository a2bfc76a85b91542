"""The generated files, each with the function that writes its content. Paths are relative to the repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from codegen import (
    announced_capabilities,
    attacks_page,
    command_line_page,
    confusables_table,
    extension_settings,
    json_schema,
    protocol_page,
    settings_page,
    tools_page,
    troubleshooting_page,
    typed_dicts,
    typescript,
)

ROOT: Final = Path(__file__).parents[1]
TARGETS: Final[Mapping[str, Callable[[], str]]] = {
    "client-vscode/package.json": extension_settings.manifest,
    "client-vscode/package.nls.json": extension_settings.english,
    "client-vscode/src/protocol.ts": typescript.module,
    "docs/command-line.md": command_line_page.page,
    "docs/protocol.md": protocol_page.page,
    "docs/protocol.schema.json": json_schema.text,
    "docs/security-attacks.md": attacks_page.page,
    "docs/settings.md": settings_page.page,
    "docs/tools.md": tools_page.page,
    "docs/troubleshooting.md": troubleshooting_page.page,
    "server/planloom/cli/client/messages.py": typed_dicts.module,
    "server/planloom/domain/text/confusables.py": confusables_table.module,
    "server/planloom/lsp/transport/announced.json": announced_capabilities.text,
}
