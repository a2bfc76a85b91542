import { beforeEach, expect, test, vi } from "vitest";

import type { PanelState } from "../src/plan/views";
import type { JudgedView } from "../src/protocol";

/** As much of the editor as the marks touch: documents, who hears of them, and the marks of each. */
const editor = vi.hoisted(() => ({
  documents: [] as { uri: { scheme: string; query: string } }[],
  marks: new Map<string, { message: string; range: { line: number } }[]>(),
  hears: { open: (_: object) => undefined as unknown, change: (_: object) => undefined as unknown },
}));
vi.mock("vscode", () => ({
  DiagnosticSeverity: { Error: 0, Warning: 1 },
  Range: class {
    constructor(readonly line: number) {}
  },
  Diagnostic: class {
    constructor(
      readonly range: object,
      readonly message: string,
    ) {}
  },
  languages: {
    createDiagnosticCollection: () => ({
      set: ({ query }: { query: string }, found: never[]) => editor.marks.set(query, found),
      delete: ({ query }: { query: string }) => editor.marks.delete(query),
    }),
  },
  workspace: {
    textDocuments: editor.documents,
    onDidOpenTextDocument: (listener: typeof editor.hears.open) => (editor.hears.open = listener),
    onDidChangeTextDocument: (listener: typeof editor.hears.change) => (editor.hears.change = listener),
    onDidCloseTextDocument: () => undefined,
  },
}));
vi.mock("../src/diffs", () => ({
  fileOf: ({ query }: { query: string }) => {
    const [approvalId, uri] = query.split(" ");
    return { approvalId, uri };
  },
}));
vi.mock("../src/review/proposals", () => ({ PROPOSAL: "proposal" }));
const { Judgements } = await import("../src/review/judgements");

const document = { uri: { scheme: "proposal", query: "x file:///a.py" } };
const judged: JudgedView = {
  words: "2 new problems (ty)",
  problems: [
    { uri: "file:///a.py", path: "a.py", line: 12, severity: "error", kind: "error", message: "Unknown" },
    { uri: "file:///b.py", path: "b.py", line: 1, severity: "error", kind: "error", message: "Elsewhere" },
  ],
};
const state = (found?: JudgedView): PanelState =>
  ({ plans: { p: { approvals: [{ approvalId: "x", judged: found }] } } }) as unknown as PanelState;
const marks = () => (editor.marks.get(document.uri.query) ?? []).map(({ message, range }) => [message, range.line]);

beforeEach(() => {
  editor.documents.length = 0;
  editor.marks.clear();
});

test("the problems of a proposed text are marked in it, also those that are known only later", () => {
  const judgements = new Judgements();
  judgements.look(state());
  editor.documents.push(document);
  editor.hears.open(document);
  expect(marks()).toEqual([]);
  judgements.look(state(judged));
  expect(marks()).toEqual([["Unknown", 11]]);
});

test("a text that was changed keeps no marks of the one that was judged", () => {
  const judgements = new Judgements();
  editor.documents.push(document);
  judgements.look(state(judged));
  editor.hears.change({ document, contentChanges: [{}] });
  expect(marks()).toEqual([]);
  judgements.look(state({ ...judged, words: "again" }));
  expect(marks()).toEqual([]);
});
