// The proposed text of a file as a document that the user can change before it is applied; it follows the live buffer.

import * as vscode from "vscode";

import type { PreviewResult, ProposalEdit } from "../protocol";

export const PROPOSAL = "planloom-proposal";
const FOLLOW_MS = 100;
const SAVE_MS = 200;

interface Proposal {
  readonly approvalId: string;
  readonly uri: string;
  /** The file's text with which the proposal was last merged, and that merge. */
  now: string | null;
  proposed: string;
  /** What is going to be approved. */
  text: string;
  at: number;
}

type Preview = (approvalId: string, uri: string, edit?: ProposalEdit) => Promise<PreviewResult>;

export class Proposals implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  private readonly open = new Map<string, Proposal>();
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly owned = [
    this.changed,
    vscode.workspace.registerFileSystemProvider(PROPOSAL, this, { isCaseSensitive: true }),
    vscode.workspace.onDidChangeTextDocument(({ document }) => this.onTyped(document)),
  ];

  constructor(private readonly preview: Preview) {}

  /** The document of a proposed text; undefined if it overlaps with what the user has typed. */
  async show(approvalId: string, uri: string): Promise<vscode.Uri | undefined> {
    const address = addressOf(approvalId, uri);
    if (!this.open.has(address.query)) {
      const { now, proposed } = await this.preview(approvalId, uri);
      if (proposed === null) return undefined;
      this.open.set(address.query, { approvalId, uri, now, proposed, text: proposed, at: Date.now() });
    }
    return address;
  }

  /** The texts that the user has changed, for the answer to an approval; `files` are those that it allows. */
  edits(approvalId: string, files: readonly string[] | undefined): readonly ProposalEdit[] {
    return [...this.open.values()]
      .filter((each) => each.approvalId === approvalId && (files === undefined || files.includes(each.uri)))
      .map((each) => ({ ...each, text: this.documentOf(each)?.getText() ?? each.text }))
      .filter(({ text, proposed }) => text !== proposed)
      .map(({ uri, text, now }) => ({ uri, text, ...(now === null ? {} : { before: now }) }));
  }

  forget(approvalId: string): void {
    for (const [key, each] of [...this.open]) if (each.approvalId === approvalId) this.open.delete(key);
  }

  dispose(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const each of this.owned) each.dispose();
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { text, at } = this.found(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: at, size: Buffer.byteLength(text) };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return Buffer.from(this.found(uri).text);
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const found = this.found(uri);
    found.text = Buffer.from(content).toString();
    found.at = Math.max(Date.now(), found.at + 1);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  private found(uri: vscode.Uri): Proposal {
    const found = this.open.get(uri.query);
    if (found === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return found;
  }

  private documentOf({ approvalId, uri }: Proposal): vscode.TextDocument | undefined {
    const address = addressOf(approvalId, uri).toString();
    return vscode.workspace.textDocuments.find((each) => each.uri.toString() === address);
  }

  /** A changed proposal is kept, so that no tab stays unsaved; a changed file moves its proposal on. */
  private onTyped(document: vscode.TextDocument): void {
    if (document.uri.scheme === PROPOSAL) {
      if (document.isDirty) this.soon(document.uri.query, SAVE_MS, () => document.save());
      return;
    }
    const uri = document.uri.toString();
    for (const [key, each] of this.open)
      if (vscode.Uri.parse(each.uri).toString() === uri)
        this.soon(`${key} follows`, FOLLOW_MS, () => this.follow(key, each));
  }

  private soon(key: string, ms: number, run: () => PromiseLike<unknown>): void {
    clearTimeout(this.timers.get(key));
    this.timers.set(
      key,
      setTimeout(() => void run().then(undefined, () => undefined), ms),
    );
  }

  /** Merge the proposal, with what the user has changed in it, with the file's text of this moment. */
  private async follow(key: string, each: Proposal): Promise<void> {
    const document = this.documentOf(each);
    if (document?.isDirty === true) await document.save();
    const { uri, text, now } = each;
    const changed = text !== each.proposed && now !== null;
    const next = await this.preview(each.approvalId, uri);
    const mine = changed ? await this.preview(each.approvalId, uri, { uri, text, before: now }) : next;
    // What overlaps stays as it was: the answer to the approval asks about it.
    if (next.proposed === null || mine.proposed === null || next.now !== mine.now) return;
    if (each.text !== text || this.open.get(key) !== each) return;
    Object.assign(each, { now: next.now, proposed: next.proposed, text: mine.proposed });
    each.at = Math.max(Date.now(), each.at + 1);
    this.changed.fire([{ type: vscode.FileChangeType.Changed, uri: addressOf(each.approvalId, uri) }]);
  }
}

function addressOf(approvalId: string, uri: string): vscode.Uri {
  const query = new URLSearchParams({ approvalId, uri }).toString();
  return vscode.Uri.from({ scheme: PROPOSAL, path: vscode.Uri.parse(uri).path, query });
}
