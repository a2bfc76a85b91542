import { beforeEach, expect, test, vi } from "vitest";

import type { ShownProposal } from "../src/panel/messages";
import type { PreviewResult, ProposalEdit } from "../src/protocol";

/** As much of the editor as a proposal touches: addresses, and documents that are open. */
const editor = await vi.hoisted(async () => {
  const { Uri } = await import("./uri");
  const typed: ((event: object) => void)[] = [];
  return { Uri, typed, documents: [] as object[], nothing: { dispose: () => undefined } };
});
vi.mock("vscode", () => ({
  Uri: editor.Uri,
  EventEmitter: class {
    event = () => editor.nothing;
    fire = () => undefined;
    dispose = () => undefined;
  },
  FileChangeType: { Changed: 1 },
  workspace: {
    registerFileSystemProvider: () => editor.nothing,
    onDidChangeTextDocument: (listener: (event: object) => void) => {
      editor.typed.push(listener);
      return editor.nothing;
    },
    textDocuments: editor.documents,
  },
}));
const { Proposals } = await import("../src/review/proposals");

const URI = "file:///w/a.txt";
const NOW = "a\nb\nc\nd\n";
const PROPOSED = "A\nb\nc\nD\n";
let file: string;
let shown: ShownProposal[];
let proposals: InstanceType<typeof Proposals>;

/** The server: the proposal, or the user's edit of it, in the text of now; nothing if line `b` was changed. */
function preview(_id: string, uri: string, edit?: ProposalEdit): Promise<PreviewResult> {
  const overlaps = !file.includes("b\nc\n");
  const text = edit?.text ?? PROPOSED;
  const proposed = overlaps ? null : text + file.slice(NOW.length);
  return Promise.resolve({ uri, now: file, proposed, overlaps });
}

async function type(text: string): Promise<void> {
  file = text;
  const count = shown.length;
  const document = { uri: editor.Uri.parse(URI), isDirty: true };
  for (const listener of editor.typed) listener({ document });
  await vi.waitUntil(() => shown.length > count);
}

beforeEach(() => {
  [file, shown] = [NOW, []];
  editor.typed.length = 0;
  proposals = new Proposals(preview, (each) => void shown.push(each));
});

test("a hunk that is left out is not in the text that is allowed", async () => {
  await proposals.review("x", URI);
  expect(proposals.edits("x", undefined)).toEqual([]);
  await proposals.leaveOut("x", URI, [1]);
  expect(proposals.edits("x", undefined)).toEqual([{ uri: URI, text: "A\nb\nc\nd\n", before: NOW }]);
  expect(shown.at(-1)).toMatchObject({ left: [1], text: "A\nb\nc\nd\n", proposed: PROPOSED });
  await proposals.leaveOut("x", URI, []);
  expect(proposals.edits("x", undefined)).toEqual([]);
  expect(proposals.edits("other", undefined)).toEqual([]);
});

test("what is typed into the file meanwhile keeps the choice", async () => {
  await proposals.leaveOut("x", URI, [0]);
  await type(`${NOW}typed\n`);
  expect(shown.at(-1)).toMatchObject({ now: `${NOW}typed\n`, text: "a\nb\nc\nD\ntyped\n" });
  expect(proposals.edits("x", undefined)).toEqual([{ uri: URI, text: "a\nb\nc\nD\ntyped\n", before: `${NOW}typed\n` }]);
});

test("an overlap is told, and the proposal is back once it is gone", async () => {
  await proposals.review("x", URI);
  await type("a\nmine\nd\n");
  expect(shown.at(-1)?.proposed).toBeNull();
  await type(NOW);
  expect(shown.at(-1)).toMatchObject({ proposed: PROPOSED, text: PROPOSED });
});

test("a proposal that overlaps when it is first looked at erases nothing once the overlap is gone", async () => {
  file = "a\nmine\nd\n";
  await proposals.review("x", URI);
  expect(shown.at(-1)?.proposed).toBeNull();
  expect(proposals.edits("x", undefined)).toEqual([]);
  await type(NOW);
  expect(shown.at(-1)).toMatchObject({ proposed: PROPOSED, text: PROPOSED });
  expect(proposals.edits("x", undefined)).toEqual([]);
});

test("what the user has written in the editor is not taken back by a box", async () => {
  await proposals.review("x", URI);
  const address = (await proposals.show("x", URI))!;
  const document = { uri: address, isDirty: true, getText: () => "mine\n", save: () => Promise.resolve(true) };
  editor.documents.push(document);
  await proposals.leaveOut("x", URI, [0]);
  expect(proposals.edits("x", undefined)).toEqual([{ uri: URI, text: "mine\n", before: NOW }]);
  editor.documents.length = 0;
});
