import { expect, test } from "vitest";
import type { DeleteFile, WorkspaceEdit } from "vscode-languageclient";

import { createdFiles, editedFiles, inParts, withContents, withReason } from "../src/connection/workspaceEdit";

const OPTIONS = { overwrite: false, ignoreIfExists: false };
const at = (line: number, character: number) => ({ line, character });
const START = { start: at(0, 0), end: at(0, 0) };
const create = (uri: string, options: object = OPTIONS) => ({ kind: "create" as const, uri, options });
const whole = (uri: string, text: string, extra: object = {}) => ({
  textDocument: { uri, version: null },
  edits: [{ range: START, newText: text, ...extra }],
});
const edited = (uri: string, version: number) => ({
  textDocument: { uri, version },
  edits: [{ range: { start: at(1, 0), end: at(1, 4) }, newText: "BETA" }],
});
const renamed = { kind: "rename" as const, oldUri: "file:///b", newUri: "file:///c" };
const deleted = { kind: "delete" as const, uri: "file:///d" };
const made = (uri: string, text: string) =>
  create(uri, { ...OPTIONS, contents: Uint8Array.from(Buffer.from(text, "utf8")) });

test.each([
  ["a pair", [create("file:///a"), whole("file:///a", "ä\r\n")], [made("file:///a", "ä\r\n")]],
  ["a byte-order mark", [create("file:///a"), whole("file:///a", "\ufeffx")], [made("file:///a", "\ufeffx")]],
  ["an empty text", [create("file:///a"), whole("file:///a", "")], [made("file:///a", "")]],
  [
    "a pair among others, in order",
    [edited("file:///z", 3), renamed, create("file:///b"), whole("file:///b", "x"), deleted],
    [edited("file:///z", 3), renamed, made("file:///b", "x"), deleted],
  ],
  [
    "two pairs",
    [create("file:///a"), whole("file:///a", "1"), create("file:///b"), whole("file:///b", "2")],
    [made("file:///a", "1"), made("file:///b", "2")],
  ],
])("%s becomes a creation with contents", (_, documentChanges, expected) => {
  expect(withContents({ documentChanges })).toEqual({ documentChanges: expected });
});

test.each([
  ["a creation alone", [create("file:///a")]],
  ["the text of another file", [create("file:///a"), whole("file:///b", "x")]],
  ["a text that does not follow at once", [create("file:///a"), deleted, whole("file:///a", "x")]],
  ["a creation that overwrites", [create("file:///a", { overwrite: true }), whole("file:///a", "x")]],
  ["a text that is not put at the start", [create("file:///a"), edited("file:///a", 1)]],
])("%s stays as it is", (_, documentChanges) => {
  expect(withContents({ documentChanges })).toEqual({ documentChanges });
});

test("edits by URI stay as they are", () => {
  const edit: WorkspaceEdit = { changes: { "file:///a": [{ range: START, newText: "x" }] } };
  expect(withContents(edit)).toEqual(edit);
  expect(editedFiles(edit)).toEqual(["file:///a"]);
});

test("the files that an edit changes and creates", () => {
  const edit = { documentChanges: [create("file:///a"), whole("file:///a", "x"), edited("file:///b", 1), deleted] };
  expect(editedFiles(edit)).toEqual(["file:///a", "file:///b"]);
  expect(createdFiles(edit)).toEqual(["file:///a"]);
});

test.each([
  ["a newer document", { "file:///z": 4 }, [], "file:///z has version 4, not 3"],
  ["a file that is there by now", { "file:///z": 3 }, ["file:///a"], "file:///a exists already"],
  ["anything else", {}, [], "VS Code did not apply it"],
])("%s is the reason of a refusal", async (_, versions: Record<string, number>, there: string[], reason) => {
  const edit = { documentChanges: [edited("file:///z", 3), create("file:///a"), whole("file:///a", "x")] };
  const answer = await withReason(
    { applied: false },
    edit,
    (uri) => Promise.resolve(there.includes(uri)),
    (uri) => versions[uri],
  );
  expect(answer).toEqual({ applied: false, failureReason: reason });
});

test("a folder is deleted in a part of its own after what was in it", () => {
  const gone = (uri: string): DeleteFile => ({ kind: "delete", uri });
  const [file, inner, outer, other] = ["memfs:/a/b/c.md", "memfs:/a/b", "memfs:/a", "memfs:/ab"].map(gone);
  const edit = { documentChanges: [file, other, inner, outer].filter((each) => each !== undefined) };
  expect(inParts(edit).map((part) => part.documentChanges)).toEqual([[file, other], [inner], [outer]]);
  expect(inParts({ documentChanges: [edited("file:///z", 3), gone("file:///z")] })).toHaveLength(1);
});
