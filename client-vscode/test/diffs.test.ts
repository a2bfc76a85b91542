import { beforeEach, expect, test, vi } from "vitest";

import type { Approval, ApprovalFile } from "../src/protocol";
import type { Proposals } from "../src/review/proposals";
import type { Uri } from "./uri";

/** As much of the editor as a diff touches: addresses, tabs, and editors that scroll. */
const editor = await vi.hoisted(async () => {
  const { Uri } = await import("./uri");
  type Shown = [file: Uri, before: Uri | undefined, after: Uri | undefined];
  return {
    Uri,
    lists: [] as Shown[][],
    tabs: [] as object[],
    TabInputTextDiff: class {
      constructor(
        readonly original: Uri,
        readonly modified: Uri,
      ) {}
    },
    scrolled: [] as ((event: object) => void)[],
    nothing: { dispose: () => undefined },
  };
});
vi.mock("vscode", () => ({
  Uri: editor.Uri,
  EventEmitter: class {},
  TabInputText: class {},
  TabInputTextDiff: editor.TabInputTextDiff,
  commands: { executeCommand: (_: string, __: string, list: never) => Promise.resolve(editor.lists.push(list)) },
  window: {
    onDidChangeTextEditorVisibleRanges: (listener: (event: object) => void) => {
      editor.scrolled.push(listener);
      return editor.nothing;
    },
    onDidChangeVisibleTextEditors: () => editor.nothing,
    tabGroups: {
      get all() {
        return [{ tabs: editor.tabs }];
      },
      close: (closed: object[]) => {
        editor.tabs = editor.tabs.filter((tab) => !closed.includes(tab));
        return Promise.resolve(true);
      },
      onDidChangeTabs: () => editor.nothing,
      onDidChangeTabGroups: () => editor.nothing,
    },
  },
  workspace: { registerTextDocumentContentProvider: () => editor.nothing },
}));
vi.mock("../src/connection/workspaceFiles", () => ({
  exists: (uri: string) => Promise.resolve(!uri.includes("gone")),
}));
const { Diffs } = await import("../src/diffs");

const [BEFORE, AFTER] = ["a\nb\nc\n", "A\nb\nC\n"];
const EDITED = { uri: "file:///w/edited.txt", change: "edit" } as ApprovalFile;
const DELETED = { uri: "file:///w/deleted.txt", change: "delete" } as ApprovalFile;
const APPROVAL = { approvalId: "x", files: [EDITED, DELETED] } as unknown as Approval;
const proposals = {
  show: (approvalId: string, uri: string) =>
    Promise.resolve(
      editor.Uri.from({
        scheme: "planloom-proposal",
        path: "/w/edited.txt",
        query: new URLSearchParams({ approvalId, uri }).toString(),
      } as never),
    ),
  textsOf: () => ({ before: BEFORE, after: AFTER }),
  forget: () => undefined,
} as unknown as Proposals;

let told: unknown[];
let diffs: InstanceType<typeof Diffs>;

/** The editor of a document shows its lines up to this one, from 0. */
async function scroll(uri: unknown, text: string, line: number): Promise<void> {
  const document = { uri, getText: () => text, lineCount: text.split("\n").length };
  for (const listener of editor.scrolled) listener({ textEditor: { document, visibleRanges: [{ end: { line } }] } });
  await new Promise((resolve) => setImmediate(resolve));
}

/** The sides of a file in the list that was opened: before, and after. */
const sides = (index: number) => editor.lists[0]?.[index]?.slice(1) ?? [];

beforeEach(() => {
  [told, editor.lists.length, editor.scrolled.length, editor.tabs] = [[], 0, 0, []];
  const texts = (_: string, uri: string) =>
    Promise.resolve({ before: BEFORE, after: uri === DELETED.uri ? null : AFTER } as never);
  diffs = new Diffs(texts, texts, (file) => void told.push(file), proposals);
});

test("a file in the list of all changes is seen once its last change is in view, and no more once that was answered", async () => {
  await diffs.showAll(APPROVAL);
  const [, after] = sides(0);
  const [before] = sides(1);
  await scroll(after, AFTER, 1);
  await scroll(before, BEFORE, 1);
  expect(told).toEqual([]);
  await scroll(after, AFTER, 2);
  await scroll(before, BEFORE, 3);
  await scroll(after, AFTER, 2);
  const both = [EDITED, DELETED].map(({ uri }) => ({ approvalId: "x", uri }));
  expect([told, diffs.seen]).toEqual([both, both]);
  await diffs.forget("x");
  expect(diffs.seen).toEqual([]);
});

test("the side of a diff that has no last change of its own says nothing", async () => {
  await diffs.showAll(APPROVAL);
  await scroll(editor.Uri.parse(EDITED.uri), BEFORE, 3);
  const [before] = sides(1);
  const query = before?.query.replace("side=before", "side=after");
  await scroll({ ...before, query }, "", 3);
  expect(told).toEqual([]);
});

test("a diff that an editor has brought back is closed unless its change still waits", async () => {
  const tab = (approvalId: string) => {
    const query = new URLSearchParams({ approvalId, uri: EDITED.uri }).toString();
    const proposed = editor.Uri.from({ scheme: "planloom-proposal", path: "/w/edited.txt", query } as never);
    return { label: "", input: new editor.TabInputTextDiff(editor.Uri.parse(EDITED.uri), proposed) };
  };
  const [waits, gone, other] = [tab("waits"), tab("gone"), { label: "edited.txt" }];
  editor.tabs = [waits, gone, other];
  await diffs.keepOnly(["waits"]);
  expect(editor.tabs).toEqual([waits, other]);
});

test("the changes of a plan are shown beside what stands now, and what is gone again is not shown as there", async () => {
  const files = [
    { uri: "file:///w/edited.txt", change: "edit" },
    { uri: "file:///w/gone.txt", change: "create" },
    { uri: "file:///w/back.txt", change: "delete" },
    { uri: "file:///w/gone-too.txt", change: "delete" },
  ] as const;
  const plan = { planId: "p", seq: 9 } as never;
  expect(await diffs.showPlan(plan, files)).toBe(true);
  expect(editor.lists[0]?.map(([file, , after]) => [file.path, after?.scheme])).toEqual([
    ["/w/edited.txt", "file"],
    ["/w/gone-too.txt", undefined],
  ]);
  expect(await diffs.showPlan(plan, files.slice(1, 3))).toBe(false);
});
