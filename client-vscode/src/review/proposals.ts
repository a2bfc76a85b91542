// The proposed text of a file as a document that the user can change before it is applied; it follows the live buffer.
// Hunks that the user leaves out in the panel are left out of the document, too.

import * as vscode from "vscode";

import { openDocument } from "../connection/editor";
import type { ShownProposal } from "../panel/messages";
import type { PreviewResult, ProposalEdit } from "../protocol";
import { withoutHunks } from "../text/lineDiff";
import { type KeptText, TextFiles } from "./textFiles";

export const PROPOSAL = "planloom-proposal";
const FOLLOW_MS = 100;
const SAVE_MS = 200;

interface Proposal extends KeptText {
  readonly approvalId: string;
  readonly uri: string;
  /** The file's text with which the proposal was last merged, and that merge; null if they overlap. */
  now: string | null;
  proposed: string | null;
  /** The hunks from `now` to `proposed` that were left out, by their places. */
  left: number[];
}

type Preview = (approvalId: string, uri: string, edit?: ProposalEdit) => Promise<PreviewResult>;

export class Proposals implements vscode.Disposable {
  private readonly open = new Map<string, Proposal>();
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly files = new TextFiles(
    PROPOSAL,
    ({ query }) => this.open.get(query),
    ({ query }) => this.tell(this.open.get(query)),
  );
  private readonly typing = vscode.workspace.onDidChangeTextDocument(({ document }) => this.onTyped(document));

  /** Calls `onChanged` with each proposal that has changed, by the user or with the file. */
  constructor(
    private readonly preview: Preview,
    private readonly onChanged: (shown: ShownProposal) => void,
  ) {}

  /** The document of a proposed text; undefined if it overlaps with what the user has typed. */
  async show(approvalId: string, uri: string): Promise<vscode.Uri | undefined> {
    const { proposed } = await this.found(approvalId, uri);
    return proposed === null ? undefined : addressOf(approvalId, uri);
  }

  /** Tell what is proposed for a file; nothing if the approval was answered meanwhile. */
  async review(approvalId: string, uri: string): Promise<void> {
    this.tell(await this.found(approvalId, uri).catch(() => undefined));
  }

  /** Leave out these hunks of a proposal, and no others. */
  async leaveOut(approvalId: string, uri: string, left: number[]): Promise<void> {
    const each = await this.found(approvalId, uri);
    const { now, proposed } = each;
    // What the user has written there is not taken back by a box in the panel.
    if (proposed === null || this.textOf(each) !== withoutHunks(now ?? "", proposed, each.left)) return this.tell(each);
    each.left = left;
    this.replace(each, withoutHunks(now ?? "", proposed, left));
  }

  /** The texts that the user has changed, for the answer to an approval; `files` are those that it allows. */
  edits(approvalId: string, files: readonly string[] | undefined): readonly ProposalEdit[] {
    return [...this.open.values()]
      .filter((each) => each.approvalId === approvalId && (files === undefined || files.includes(each.uri)))
      .map((each) => ({ ...each, text: this.textOf(each) }))
      .filter(({ text, proposed }) => proposed !== null && text !== proposed)
      .map(({ uri, text, now }) => ({ uri, text, ...(now === null ? {} : { before: now }) }));
  }

  /** The text of a file with which its proposal was last merged, and the merged text; undefined if no proposal is open. */
  textsOf(approvalId: string, uri: string): { before: string | null; after: string } | undefined {
    const each = this.open.get(addressOf(approvalId, uri).query);
    return each === undefined ? undefined : { before: each.now, after: each.text };
  }

  forget(approvalId: string): void {
    for (const [key, each] of [...this.open]) if (each.approvalId === approvalId) this.open.delete(key);
  }

  dispose(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const each of [this.files, this.typing]) each.dispose();
  }

  private async found(approvalId: string, uri: string): Promise<Proposal> {
    const key = addressOf(approvalId, uri).query;
    const known = this.open.get(key);
    if (known !== undefined && known.proposed !== null) return known;
    const { now, proposed } = await this.preview(approvalId, uri);
    const found = { approvalId, uri, now, proposed, left: [], text: proposed ?? "", at: Date.now() };
    if (this.open.get(key) === known) this.open.set(key, found);
    return this.open.get(key) ?? found;
  }

  private documentOf({ approvalId, uri }: Proposal): vscode.TextDocument | undefined {
    return openDocument(addressOf(approvalId, uri));
  }

  /** What stands in the document, if that is not saved yet; else what it is to show, which it may not show yet. */
  private textOf(each: Proposal): string {
    const document = this.documentOf(each);
    return document?.isDirty === true ? document.getText() : each.text;
  }

  private replace(each: Proposal, text: string): void {
    this.files.replace(addressOf(each.approvalId, each.uri), each, text);
    this.tell(each);
  }

  private tell(each: Proposal | undefined): void {
    if (each === undefined) return;
    const { approvalId, uri, now, proposed, text, left } = each;
    this.onChanged({ approvalId, uri, now, proposed, text, left });
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
    const changed = each.proposed !== null && text !== each.proposed && now !== null;
    const next = await this.preview(each.approvalId, uri);
    const mine = changed ? await this.preview(each.approvalId, uri, { uri, text, before: now }) : next;
    if (each.text !== text || this.open.get(key) !== each) return;
    // What overlaps stays as it was: the answer to the approval asks about it.
    if (next.proposed === null || mine.proposed === null) return this.tell({ ...each, proposed: null });
    if (next.now !== mine.now) return;
    Object.assign(each, { now: next.now, proposed: next.proposed });
    this.replace(each, mine.proposed);
  }
}

function addressOf(approvalId: string, uri: string): vscode.Uri {
  const query = new URLSearchParams({ approvalId, uri }).toString();
  return vscode.Uri.from({ scheme: PROPOSAL, path: vscode.Uri.parse(uri).path, query });
}
