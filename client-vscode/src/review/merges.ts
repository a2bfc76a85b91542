// Conflicts in the editor's merge editor. What is saved there becomes a choice of the conflict's card.

import * as vscode from "vscode";

import { openDocument } from "../connection/editor";
import type { ConflictTextsResult } from "../protocol";
import { t } from "../words";
import { type KeptText, TextFiles } from "./textFiles";

const SCHEME = "planloom-merge";
const MARKER = /^(<{7}|>{7})( |$)/m;

interface Merge {
  readonly planId: string;
  readonly editId: string;
  readonly uri: string;
  readonly mine: string;
  readonly result: KeptText;
  readonly sides: Readonly<Record<string, KeptText>>;
  /** What was saved without conflict markers. */
  merged?: string;
}

/** A text that was merged in the editor, beside the user's own. */
export type Merged = Pick<Merge, "planId" | "editId" | "uri" | "mine"> & { text: string };

export class Merges implements vscode.Disposable {
  private readonly open = new Map<string, Merge>();
  private readonly files = new TextFiles(
    SCHEME,
    (uri) => this.find(uri),
    (uri) => this.saved(uri),
  );

  constructor(
    private readonly texts: (editId: string, uri: string) => Promise<ConflictTextsResult>,
    private readonly onMerged: (merged: Merged) => void,
  ) {}

  /** Open a conflicted file in the merge editor, or as one document with both sides where the editor has none. */
  async show(planId: string, editId: string, uri: string): Promise<void> {
    const key = keyOf(editId, uri);
    if (!this.open.has(key)) {
      const { base, mine, theirs, both } = await this.texts(editId, uri);
      const side = (text: string): KeptText => ({ text, at: Date.now(), isReadonly: true });
      const sides = { base: side(base), mine: side(mine), theirs: side(theirs) };
      this.open.set(key, { planId, editId, uri, mine, sides, result: { text: both, at: Date.now() } });
    }
    const output = address(editId, uri, "result");
    try {
      // Not documented, but what the editor's own Git extension calls.
      await vscode.commands.executeCommand("_open.mergeEditor", {
        base: address(editId, uri, "base"),
        input1: { uri: address(editId, uri, "mine"), title: t("Yours") },
        input2: { uri: address(editId, uri, "theirs"), title: t("The plan's") },
        output,
      });
    } catch {
      await vscode.window.showTextDocument(output, { preview: false });
    }
  }

  /** Save the merge that is in front and close it; the editor asks if overlaps are left. */
  async complete(): Promise<void> {
    const { activeTab } = vscode.window.tabGroups.activeTabGroup;
    if (!(activeTab?.input instanceof vscode.TabInputText))
      return void (await vscode.commands.executeCommand("mergeEditor.acceptMerge"));
    const { uri } = activeTab.input;
    const document = openDocument(uri);
    if (document?.isDirty === true) await document.save();
    await vscode.window.tabGroups.close(activeTab, true);
  }

  /** What was merged so far, for a page that has not heard of it. */
  merged(): readonly Merged[] {
    return [...this.open.values()].flatMap(({ merged, planId, editId, uri, mine }) =>
      merged === undefined ? [] : [{ planId, editId, uri, mine, text: merged }],
    );
  }

  /** Close the merge editors of a conflict that was resolved. */
  async forget(editId: string): Promise<void> {
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter((tab) => resultOf(tab)?.get("editId") === editId);
    if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
    for (const [key, each] of [...this.open]) if (each.editId === editId) this.open.delete(key);
  }

  dispose(): void {
    this.files.dispose();
  }

  private find({ query }: vscode.Uri): KeptText | undefined {
    const params = new URLSearchParams(query);
    const merge = this.open.get(keyOf(params.get("editId") ?? "", params.get("uri") ?? ""));
    const side = params.get("side") ?? "";
    return side === "result" ? merge?.result : merge?.sides[side];
  }

  private saved({ query }: vscode.Uri): void {
    const params = new URLSearchParams(query);
    const merge = this.open.get(keyOf(params.get("editId") ?? "", params.get("uri") ?? ""));
    if (merge === undefined || MARKER.test(merge.result.text)) return;
    merge.merged = merge.result.text;
    const { planId, editId, uri, mine, merged } = merge;
    this.onMerged({ planId, editId, uri, mine, text: merged });
  }
}

function keyOf(editId: string, uri: string): string {
  return `${editId} ${uri}`;
}

function address(editId: string, uri: string, side: string): vscode.Uri {
  const query = new URLSearchParams({ editId, uri, side }).toString();
  return vscode.Uri.from({ scheme: SCHEME, path: vscode.Uri.parse(uri).path, query });
}

/** The parts of the address of the document that a tab merges into, or shows with both sides. */
function resultOf({ input }: vscode.Tab): URLSearchParams | undefined {
  const shown =
    input instanceof vscode.TabInputText
      ? input.uri
      : typeof input === "object" && input !== null && "result" in input && input.result instanceof vscode.Uri
        ? input.result
        : undefined;
  return shown?.scheme === SCHEME ? new URLSearchParams(shown.query) : undefined;
}
