"""What a run finds: the editor's abilities and habits, the review mode, the model, and what is allowed unasked."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tests.campaigns.manners import Manner
from tests.campaigns.minds import Mind
from tests.support.lsp_client import EXTENSION, FULL

Review = Literal["each", "end", "auto"]
Encoding = Literal["utf-8", "utf-16", "utf-32"]
NewFiles = Literal["contents", "saved", "plain"]
"""How an editor that makes files makes one: whole, saved when it is asked, or left as unsaved text in a buffer."""
Able = Literal["full", "no_document_changes", "no_resource_operations", "no_apply_edit"]


@dataclass(frozen=True)
class Circumstances:
    """One draw; `commands_allowed` is the setting that lets commands run unasked, `manner` how the editor answers.

    `covers` is what the approval of the plan covers.
    """

    review: Review = "each"
    mind: Mind = "careful"
    encoding: Encoding = "utf-16"
    able: Able = "full"
    save: bool = True
    open_on_edit: bool = True
    commands_allowed: bool = False
    manner: Manner = "honest"
    new_files: NewFiles = "saved"
    covers: Literal["literal", "none"] = "none"

    def capabilities(self) -> dict[str, Any]:
        """What the client declares to LSP."""
        said = copy.deepcopy(FULL)
        said["general"]["positionEncodings"] = list(dict.fromkeys([self.encoding, "utf-16"]))
        if self.encoding == "utf-16":
            said["general"]["positionEncodings"] = ["utf-16"]
        if self.able == "no_apply_edit":
            del said["workspace"]["applyEdit"]
        elif self.able == "no_document_changes":
            # File operations exist only in `documentChanges`.
            del said["workspace"]["workspaceEdit"]["documentChanges"]
            del said["workspace"]["workspaceEdit"]["resourceOperations"]
        elif self.able == "no_resource_operations":
            del said["workspace"]["workspaceEdit"]["resourceOperations"]
        return said

    def extension(self) -> dict[str, Any]:
        """What the client declares to Planloom."""
        contents = self.new_files == "contents"
        return {**EXTENSION, "save": self.save, "createContents": contents, "createFolder": contents}

    def settings(self, model_url: str) -> dict[str, Any]:
        """The settings of `initializationOptions`."""
        return {
            "model": {"provider": "openai", "baseUrl": f"{model_url}/v1", "name": "scripted"},
            "planning": {"perspectives": "never", "classifyWithModel": "never"},
            "approvals": {"execute": "allow" if self.commands_allowed else "ask", "plan": self.covers},
            "edits": {"newFiles": "editor" if self.new_files == "plain" else "auto"},
        }


def draw(rng: random.Random, **fixed: Any) -> Circumstances:
    """Random circumstances; `fixed` are those that a test decides itself."""
    drawn: dict[str, Any] = {
        "review": rng.choice(("each", "end", "auto")),
        "mind": rng.choice(("careful", "obedient")),
        "encoding": rng.choice(("utf-8", "utf-16", "utf-32")),
        "able": rng.choices(
            ("full", "no_document_changes", "no_resource_operations", "no_apply_edit"), (6, 1, 1, 1)
        )[0],
        "save": rng.random() < 0.7,
        "open_on_edit": rng.random() < 0.8,
        "commands_allowed": rng.random() < 0.3,
        "new_files": rng.choice(get_args(NewFiles)),
        "covers": rng.choice(("literal", "none")),
        **fixed,
    }
    # An editor that can be asked to save leaves no text of a new file unsaved.
    return Circumstances(**{**drawn, "save": drawn["save"] and drawn["new_files"] != "plain"})
