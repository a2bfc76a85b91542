// Leads a person through the changes of a plan: the next one is shown when it comes, until they turn to something else.

import * as vscode from "vscode";

import { isFile } from "../connection/workspaceFiles";
import type { Diffs } from "../diffs";
import { displayedFirst, type PanelState } from "../plan/views";
import type { Approval } from "../protocol";

/** What asks about texts can be looked at in the editor. */
export function isInEditor({ files }: Approval): boolean {
  return files.some(({ change }) => change === "edit" || change === "create" || change === "delete");
}

/** The approvals that the editor can show, of all plans, the displayed plan first. */
export function reviewable(state: PanelState): readonly Approval[] {
  return displayedFirst(state).flatMap(({ plan }) => plan.pending.approvals.filter(isInEditor));
}

export class Walk implements vscode.Disposable {
  /** The plan that is walked through, and whether the last change of it was answered in the editor. */
  private at: { readonly planId: string; readonly inEditor: boolean } | undefined;
  /** The approval that was shown or answered last. As long as it waits, no other one takes its place. */
  private last: string | undefined;
  private readonly typing = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    const isTyped = vscode.window.activeTextEditor?.document === document && !this.isServers();
    if (contentChanges.length > 0 && isFile(document.uri) && isTyped) this.end();
  });

  /** `isServers` says whether the server edits files in this moment; `toPanel` gives the panel the focus. */
  constructor(
    private readonly diffs: Pick<Diffs, "open">,
    private readonly isServers: () => boolean,
    private readonly toPanel: () => Promise<void>,
  ) {}

  /** A person has started a plan: its first change is shown when it comes. */
  begin(planId: string): void {
    this.at = { planId, inEditor: false };
  }

  /** A person has answered a change in the editor: the plan's next one is shown when it comes. */
  answer({ planId, approvalId }: Approval): void {
    this.last = approvalId;
    this.at = { planId, inEditor: true };
  }

  /** Whether the person goes from change to change in the editor. */
  get isInEditor(): boolean {
    return this.at?.inEditor === true;
  }

  /** The person has turned to something else. */
  end(): void {
    this.at = undefined;
  }

  /** Show what the plan asks for next; once it asks for no change after one was answered, the panel says what is next. */
  look(state: PanelState): void {
    const { at } = this;
    const view = at === undefined ? undefined : state.plans[at.planId];
    if (at === undefined || view === undefined) return;
    const { approvals } = view.plan.pending;
    if (approvals.some(({ approvalId }) => approvalId === this.last)) return;
    const next = approvals.find(isInEditor);
    if (next !== undefined) {
      this.last = next.approvalId;
      void this.diffs.open(next).catch(() => undefined);
      return;
    }
    if (view.live && approvals.length === 0 && view.waits === undefined) return;
    this.at = view.live ? { ...at, inEditor: false } : undefined;
    if (at.inEditor) void this.toPanel();
  }

  dispose(): void {
    this.typing.dispose();
  }
}
