// Shows a proposed change beside the live text, or what a plan has changed on two read-only documents.

import * as vscode from "vscode";

import { openDocument } from "./connection/editor";
import { exists } from "./connection/workspaceFiles";
import type { Approval, ApprovalFile, DiffResult, Plan, ReportedFile } from "./protocol";
import { PROPOSAL, type Proposals } from "./review/proposals";
import { lastChangedLine } from "./text/lineDiff";
import { t } from "./words";

const SCHEME = "planloom-diff";
type Fetch = (id: string, uri: string) => Promise<DiffResult>;
type DiffTexts = Pick<DiffResult, "before" | "after">;
type Side = "before" | "after";
/** A file of an approval. */
interface ApprovedFile {
  readonly approvalId: string;
  readonly uri: string;
}
/** How long a diff must be shown before it can be answered: it may come up below a key or a click. */
const ARM_MS = 250;
/** Whether a change that waits for an answer is in front, for the keys and buttons that answer it. */
const IN_FRONT = "planloom.changeInFront";

export class Diffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly seenFiles = new Map<string, ApprovedFile>();
  /** The titles of the lists of all changes of an approval: the editor does not say what such a tab shows, and adds a number to its title. */
  private readonly lists = new Map<string, string>();
  private arming: ReturnType<typeof setTimeout> | undefined;
  /** The change in front, as it was last seen there. */
  private front = "";
  private readonly fetched = new Map<string, Promise<DiffResult>>();
  private readonly registrations = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => void this.watch(textEditor)),
    vscode.window.onDidChangeVisibleTextEditors((editors) => {
      for (const editor of editors) void this.watch(editor);
    }),
    vscode.window.tabGroups.onDidChangeTabs(() => this.arm()),
    vscode.window.tabGroups.onDidChangeTabGroups(() => this.arm()),
  ];

  /** Calls `onSeen` once the last change of a file that waits for approval has been in view. */
  constructor(
    private readonly ofApproval: Fetch,
    private readonly ofPlan: Fetch,
    private readonly onSeen: (file: ApprovedFile) => void,
    private readonly proposals: Proposals,
  ) {}

  /** The files whose last change has been in view, of approvals without an answer yet. */
  get seen(): readonly ApprovedFile[] {
    return [...this.seenFiles.values()];
  }

  /** The file of an approval whose diff is in front; without a file if all of its files are. */
  inFront(): { approvalId: string; uri?: string } | undefined {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    const file = fileOf(proposedOf(tab));
    if (file !== undefined || tab === undefined) return file;
    const [approvalId] = [...this.lists].findLast(([, title]) => shows(tab, title)) ?? [];
    return approvalId === undefined ? undefined : { approvalId };
  }

  /** Show an approval in the editor and give that the focus: its file, or all of them below each other. */
  async open(approval: Approval): Promise<void> {
    const [only, ...others] = approval.files;
    await (only === undefined || others.length > 0
      ? this.showAll(approval)
      : this.show(approval.approvalId, only, false));
  }

  /** Show one file of an approval while that waits for an answer; what is proposed as a text can be changed there. */
  async show(approvalId: string, file: ApprovalFile, preserveFocus = true, line?: number): Promise<void> {
    const title = (name: string): string => t("{0} (now ↔ proposed)", name);
    await openFile(await this.ofFile(approvalId, file), title, preserveFocus, line);
  }

  /** Show all files of an approval below each other; what is proposed as a text can be changed there. */
  async showAll({ approvalId, title, files }: Approval): Promise<void> {
    const listed = files.filter(({ change }) => change !== "createFolder");
    const shown = await Promise.all(listed.map((file) => this.ofFile(approvalId, file)));
    const label = t("Proposed changes: {0}", title);
    this.lists.delete(approvalId);
    this.lists.set(approvalId, label);
    await openAll(label, shown);
  }

  /**
   * Show files as they were before a plan, beside what stands in them now; what was made and is gone again is left out.
   * Whether there was anything. The number of the plan's last event makes the texts new after an undo.
   */
  async showPlan({ planId, seq }: Plan, files: readonly ReportedFile[]): Promise<boolean> {
    const side = (at: string, uri: string, which: Side): vscode.Uri =>
      address(vscode.Uri.parse(at).path, { planId, seq: String(seq), uri, side: which });
    const all = await Promise.all(
      files.map(async ({ uri, oldUri, change }): Promise<Shown | undefined> => {
        const isThere = await exists(uri);
        if (change === "create" ? !isThere : change === "delete" && isThere) return undefined;
        const now = vscode.Uri.parse(uri);
        const shown = isThere ? change : "delete";
        return {
          uri: now,
          change: shown,
          before: side(oldUri ?? uri, uri, "before"),
          after: isThere ? now : side(uri, uri, "after"),
        };
      }),
    );
    const [only, ...others] = all.filter((each) => each !== undefined);
    if (only === undefined) return false;
    await (others.length > 0
      ? openAll(t("Changes of the plan"), [only, ...others])
      : openFile(only, (name) => t("{0} (before the plan ↔ now)", name), true));
    return true;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const query = new URLSearchParams(uri.query);
    const [planId, file] = [query.get("planId"), query.get("uri") ?? ""];
    try {
      const diff =
        planId === null ? await this.texts(query.get("approvalId") ?? "", file) : await this.ofPlan(planId, file);
      return (query.get("side") === "before" ? diff.before : diff.after) ?? "";
    } catch {
      return planId === null
        ? `${t("This change no longer waits for an answer.")}\n`
        : `${t("The texts of this change are not available: the change was undone, or the server does not answer.")}\n`;
    }
  }

  /** Close the diffs of an approval that has been answered, and forget its texts. Else than with `preserveFocus` the next tab gets the focus. */
  async forget(approvalId: string, preserveFocus = true): Promise<void> {
    const list = this.lists.get(approvalId);
    this.lists.delete(approvalId);
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter((tab) => fileOf(proposedOf(tab))?.approvalId === approvalId || (list !== undefined && shows(tab, list)));
    for (const tab of tabs.filter((each) => each.isDirty)) {
      const shown = proposedOf(tab);
      if (shown !== undefined) await openDocument(shown)?.save();
    }
    await vscode.window.tabGroups.close(tabs, preserveFocus);
    this.proposals.forget(approvalId);
    for (const kept of [this.fetched, this.seenFiles])
      for (const key of [...kept.keys()]) if (key.startsWith(`${approvalId} `)) kept.delete(key);
  }

  /** Close the diffs of all approvals but these: an editor that starts brings back tabs of what was withdrawn. */
  async keepOnly(waiting: readonly string[]): Promise<void> {
    const shown = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .flatMap((tab) => fileOf(proposedOf(tab))?.approvalId ?? []);
    for (const each of new Set([...shown, ...this.lists.keys()])) if (!waiting.includes(each)) await this.forget(each);
  }

  dispose(): void {
    clearTimeout(this.arming);
    for (const each of this.registrations) each.dispose();
    this.fetched.clear();
  }

  /** Another tab is in front: what it shows can be answered once it has been there for a moment. */
  private arm(): void {
    const front = JSON.stringify(this.inFront() ?? "");
    if (front === this.front) return;
    this.front = front;
    clearTimeout(this.arming);
    const say = (shown: boolean): void => void vscode.commands.executeCommand("setContext", IN_FRONT, shown);
    say(false);
    if (this.inFront() !== undefined) this.arming = setTimeout(() => say(true), ARM_MS);
  }

  /** A deleted file is seen on the side before, any other on the side after. */
  private async watch({ document, visibleRanges }: vscode.TextEditor): Promise<void> {
    const file = fileOf(document.uri);
    if (file === undefined || this.seenFiles.has(keyOf(file))) return;
    const texts = await this.shownIn(document, file);
    if (texts === undefined) return;
    const last =
      texts.after === null ? document.lineCount - 1 : lastChangedLine(texts.before ?? "", document.getText());
    if (last !== undefined && !visibleRanges.some((range) => range.end.line >= last)) return;
    this.seenFiles.set(keyOf(file), file);
    this.onSeen(file);
  }

  /** The texts of the diff that is seen in this document; undefined if it is seen in the other one, or was answered. */
  private async shownIn({ uri }: vscode.TextDocument, file: ApprovedFile): Promise<DiffTexts | undefined> {
    if (uri.scheme === PROPOSAL) return this.proposals.textsOf(file.approvalId, file.uri);
    const texts = await this.fetched.get(keyOf(file));
    const side = new URLSearchParams(uri.query).get("side");
    return side === (texts?.after === null ? "before" : "after") ? texts : undefined;
  }

  /** A file of an approval between the live text and the changeable proposal where there is one, else read-only texts. */
  private async ofFile(approvalId: string, { uri, newUri, change }: ApprovalFile): Promise<Shown> {
    const place = vscode.Uri.parse(newUri ?? uri);
    const side = (which: Side): vscode.Uri => address(place.path, { approvalId, uri, side: which });
    const isText = change === "create" || change === "edit";
    const proposal = isText ? await this.proposals.show(approvalId, uri) : undefined;
    if (proposal === undefined) await this.texts(approvalId, uri);
    return {
      uri: place,
      change,
      before: proposal !== undefined && change === "edit" ? vscode.Uri.parse(uri) : side("before"),
      after: proposal ?? side("after"),
    };
  }

  private texts(approvalId: string, uri: string): Promise<DiffResult> {
    const key = keyOf({ approvalId, uri });
    const known = this.fetched.get(key);
    if (known !== undefined) return known;
    const fetching = this.ofApproval(approvalId, uri);
    this.fetched.set(key, fetching);
    fetching.catch(() => this.fetched.delete(key));
    return fetching;
  }
}

/** Whether a tab is the list of changes with this title. */
function shows({ label, input }: vscode.Tab, title: string): boolean {
  return label.startsWith(title) && !(input instanceof vscode.TabInputText);
}

function keyOf({ approvalId, uri }: ApprovedFile): string {
  return `${approvalId} ${uri}`;
}

/** The file of an approval that a document shows; undefined for any other document. */
export function fileOf(shown: vscode.Uri | undefined): ApprovedFile | undefined {
  if (shown?.scheme !== SCHEME && shown?.scheme !== PROPOSAL) return undefined;
  const query = new URLSearchParams(shown.query);
  const [approvalId, uri] = [query.get("approvalId"), query.get("uri")];
  return approvalId === null || uri === null ? undefined : { approvalId, uri };
}

function address(path: string, query: Record<string, string>): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path, query: new URLSearchParams(query).toString() });
}

/** A file with the documents of its text before and after. */
interface Shown {
  readonly uri: vscode.Uri;
  readonly change: ApprovalFile["change"];
  readonly before: vscode.Uri;
  readonly after: vscode.Uri;
}

/** The document of a proposed change that a tab shows. */
function proposedOf(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  const input = tab?.input;
  const shown =
    input instanceof vscode.TabInputTextDiff
      ? input.modified
      : input instanceof vscode.TabInputText
        ? input.uri
        : undefined;
  return shown?.scheme === PROPOSAL || shown?.scheme === SCHEME ? shown : undefined;
}

/** Open one file, a new one as it is; `title` names the sides of what is neither new nor deleted. */
async function openFile(
  { uri: { path }, change, before, after }: Shown,
  title: (name: string) => string,
  preserveFocus: boolean,
  line?: number,
): Promise<void> {
  const name = path.split("/").pop() ?? path;
  const selection = line === undefined ? {} : { selection: new vscode.Range(line, 0, line, 0) };
  const look = { preview: true, preserveFocus, ...selection };
  if (change === "create") await vscode.commands.executeCommand("vscode.open", after, look, t("{0} (new file)", name));
  else {
    const words = change === "delete" ? t("{0} (deleted)", name) : title(name);
    await vscode.commands.executeCommand("vscode.diff", before, after, words, look);
  }
}

/** Open files below each other; the workbench marks one as new or deleted if the text that is not there is left out. */
async function openAll(title: string, all: readonly Shown[]): Promise<void> {
  const resources = all.map(({ uri, change, before, after }) => [
    uri,
    change === "create" ? undefined : before,
    change === "delete" ? undefined : after,
  ]);
  await vscode.commands.executeCommand("vscode.changes", title, resources);
}
