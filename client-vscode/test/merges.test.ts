import { beforeEach, expect, test, vi } from "vitest";

import type { Merged } from "../src/review/merges";
import type { Uri } from "./uri";

/** As much of the editor as a merge touches: the files of a scheme, one command, and a document that is shown. */
const editor = await vi.hoisted(async () => {
  const { Uri } = await import("./uri");
  interface Files {
    readFile(uri: Uri): Uint8Array;
    writeFile(uri: Uri, content: Uint8Array): void;
  }
  const state = { files: undefined as Files | undefined, hasMergeEditor: true, sides: [] as Uri[], shown: [] as Uri[] };
  return { Uri, state };
});
const { state } = editor;
vi.mock("vscode", () => ({
  Uri: editor.Uri,
  EventEmitter: class {
    event = () => undefined;
    dispose = () => undefined;
  },
  FileSystemError: { NoPermissions: () => new Error("read-only"), FileNotFound: () => new Error("not found") },
  commands: {
    executeCommand: (_id: string, { base, input1, input2, output }: Record<string, unknown>) => {
      if (!state.hasMergeEditor) return Promise.reject(new Error("command not found"));
      const uriOf = (input: unknown) => (input as { uri: Uri }).uri;
      state.sides.push(base as Uri, uriOf(input1), uriOf(input2), output as Uri);
      return Promise.resolve();
    },
  },
  window: {
    showTextDocument: (uri: Uri) => Promise.resolve(state.shown.push(uri)),
    tabGroups: { all: [] },
  },
  workspace: {
    registerFileSystemProvider: (_scheme: string, files: typeof state.files) => {
      state.files = files;
      return { dispose: () => undefined };
    },
  },
}));
const { Merges } = await import("../src/review/merges");

const URI = "file:///w/a.txt";
const BOTH = "<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> Planloom's\n";
const TEXTS = { uri: URI, base: "base\n", mine: "mine\n", theirs: "theirs\n", both: BOTH };
const read = (uri: Uri) => Buffer.from(state.files!.readFile(uri)).toString();
const write = (uri: Uri, text: string) => state.files!.writeFile(uri, Buffer.from(text));
let told: Merged[];
let merges: InstanceType<typeof Merges>;

beforeEach(() => {
  Object.assign(state, { hasMergeEditor: true, sides: [], shown: [] });
  told = [];
  merges = new Merges(
    () => Promise.resolve(TEXTS),
    (merged) => void told.push(merged),
  );
});

test("the merge editor gets the three texts, which cannot be changed, and a result to save", async () => {
  await merges.show("p", "e", URI);
  const [base, mine, theirs, result] = state.sides;
  expect([base!, mine!, theirs!, result!].map(read)).toEqual(["base\n", "mine\n", "theirs\n", BOTH]);
  expect(() => write(mine!, "x\n")).toThrow("read-only");
  write(result!, "merged\n");
  expect(told).toEqual([{ planId: "p", editId: "e", uri: URI, mine: "mine\n", text: "merged\n" }]);
  expect(merges.merged()).toEqual(told);
});

test("where there is no merge editor, a document with both sides counts once no marker is left in it", async () => {
  state.hasMergeEditor = false;
  await merges.show("p", "e", URI);
  const [document] = state.shown;
  expect(read(document!)).toBe(BOTH);
  write(document!, BOTH.replace("mine", "more"));
  write(document!, "half\n>>>>>>> Planloom's\n");
  expect(told).toEqual([]);
  write(document!, "a <<<<<<< b\n");
  expect(told.map(({ text }) => text)).toEqual(["a <<<<<<< b\n"]);
});

test("a merge that was begun goes on, and is gone with its conflict", async () => {
  await merges.show("p", "e", URI);
  const result = state.sides[3]!;
  write(result, "merged\n");
  await merges.show("p", "e", URI);
  expect(read(result)).toBe("merged\n");
  await merges.forget("e");
  expect(merges.merged()).toEqual([]);
  expect(() => read(result)).toThrow("not found");
});
