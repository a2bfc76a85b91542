import { beforeEach, expect, test, vi } from "vitest";

import { OtherLanguages } from "../src/connection/language";
import type { EditorLanguageParams } from "../src/protocol";

/** As much of the editor as is asked: commands that answer as a test says, and texts that can be opened. */
const editor = await vi.hoisted(async () => {
  const { Uri } = await import("./uri");
  class Position {
    constructor(
      readonly line: number,
      readonly character: number,
    ) {}
  }
  class Range {
    constructor(
      readonly start: Position,
      readonly end: Position,
    ) {}
  }
  const state = {
    answers: {} as Record<string, unknown>,
    asked: [] as [string, ...unknown[]][],
    versions: {} as Record<string, number>,
  };
  return { Uri, Position, Range, state };
});
const { Uri, Position, Range, state } = editor;
vi.mock("vscode", () => ({
  Uri: editor.Uri,
  Position: editor.Position,
  Range: editor.Range,
  commands: {
    executeCommand: (id: string, ...given: unknown[]) => {
      const name = id.replace("vscode.", "");
      state.asked.push([name, ...given]);
      const answer = state.answers[name];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  },
  workspace: {
    workspaceFolders: [],
    fs: { stat: ({ path }: { path: string }) => (path.includes("absent") ? Promise.reject() : Promise.resolve()) },
    openTextDocument: () => Promise.resolve({ languageId: "python", lineCount: 9 }),
    get textDocuments() {
      return Object.entries(state.versions).map(([uri, version]) => ({ uri: editor.Uri.parse(uri), version }));
    },
    getConfiguration: () => ({ get: (name: string) => ({ tabSize: 3, insertSpaces: false })[name] }),
  },
}));

const A = "file:///w/a.py";
const at = (line: number, character = 0) => new Position(line, character);
const span = (line: number) => new Range(at(line), at(line, 4));
const there = (line: number, uri = A) => ({ uri: Uri.parse(uri), range: span(line) });
const plain = (line: number) => ({ start: { line, character: 0 }, end: { line, character: 4 } });
const edits = (files: readonly [string, readonly object[]][], size = files.length) => ({
  size,
  entries: () => files.map(([uri, changes]) => [Uri.parse(uri), changes]),
});
const same = (value: unknown) => value;
const asLocation = ({ uri, range }: ReturnType<typeof there>) => ({ uri: uri.toString(), range });
const converters = {
  code2ProtocolConverter: {
    asUri: String,
    asRange: same,
    asRanges: same,
    asLocation,
    asSymbolKind: (kind: number) => kind + 1,
    asTextEdit: same,
    asCommand: same,
    asCodeAction: (action: object) => Promise.resolve(action),
    asCallHierarchyItem: same,
    asWorkspaceSymbol: ({ location, ...rest }: { location: ReturnType<typeof there> }) => ({
      ...rest,
      location: asLocation(location),
    }),
  },
  protocol2CodeConverter: { asUri: Uri.parse, asPosition: same, asRange: same },
} as unknown as Parameters<OtherLanguages["answer"]>[1];

const SYMBOL = { name: "f", detail: "", kind: 11, range: span(1), selectionRange: span(1), children: [] };
const HERE = { textDocument: { uri: A }, position: { line: 1, character: 2 } };

beforeEach(() => {
  Object.assign(state, { answers: { executeDocumentSymbolProvider: [SYMBOL] }, asked: [], versions: { [A]: 7 } });
});

function knows(command: string, answer: unknown): void {
  state.answers[command] = answer;
}

function ask(method: EditorLanguageParams["method"], params: object = HERE, languages = new OtherLanguages()) {
  const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };
  return languages.answer({ method, params: params as EditorLanguageParams["params"] }, converters, token);
}

test("symbols stand within others", async () => {
  knows("executeDocumentSymbolProvider", [{ ...SYMBOL, children: [{ ...SYMBOL, name: "g" }] }]);
  const g = { name: "g", detail: "", kind: 12, range: plain(1), selectionRange: plain(1), children: [] };
  expect(await ask("textDocument/documentSymbol")).toEqual({ result: [{ ...g, name: "f", children: [g] }] });
});

test("a link to a definition is the place of its name", async () => {
  const link = { targetUri: Uri.parse("file:///w/b.py"), targetRange: span(3), targetSelectionRange: span(4) };
  knows("executeDefinitionProvider", [there(2), link]);
  expect(await ask("textDocument/definition")).toEqual({
    result: [
      { uri: A, range: plain(2) },
      { uri: "file:///w/b.py", range: plain(4) },
    ],
  });
});

test("what several extensions show of a name is one text", async () => {
  knows("executeHoverProvider", [
    { contents: [{ language: "python", value: "def f()" }, "plain"] },
    { contents: [{ value: "**more**" }] },
  ]);
  const value = "```python\ndef f()\n```\n\nplain\n\n**more**";
  expect(await ask("textDocument/hover")).toEqual({ result: { contents: { kind: "markdown", value } } });
});

test("calls are asked of the item that the editor has at that place", async () => {
  knows("prepareCallHierarchy", [{ name: "the editor's own" }]);
  knows("provideIncomingCalls", [{ from: SYMBOL, fromRanges: [span(5)] }]);
  const item = { uri: A, selectionRange: plain(4) };
  const { result } = await ask("callHierarchy/incomingCalls", { item });
  expect(result).toMatchObject([{ from: { name: "f" }, fromRanges: [plain(5)] }]);
  expect(state.asked).toContainEqual(["prepareCallHierarchy", Uri.parse(A), { line: 4, character: 0 }]);
  expect(state.asked).toContainEqual(["provideIncomingCalls", { name: "the editor's own" }]);
});

test("edits name the version of an open text, and none of a closed file", async () => {
  const edit = { range: span(1), newText: "g" };
  knows(
    "executeDocumentRenameProvider",
    edits([
      [A, [edit]],
      ["file:///w/b.py", [edit]],
    ]),
  );
  expect(await ask("textDocument/rename", { ...HERE, newName: "g" })).toMatchObject({
    result: {
      documentChanges: [
        { textDocument: { uri: A, version: 7 }, edits: [{ range: plain(1), newText: "g" }] },
        { textDocument: { uri: "file:///w/b.py", version: null } },
      ],
    },
  });
});

test.each<[string, unknown, object]>([
  ["moves a file too", edits([[A, []]], 2), { problem: "This rename also creates, moves or deletes files." }],
  ["is refused", new Error("You cannot rename this element."), { problem: "You cannot rename this element." }],
  ["changes nothing", edits([]), {}],
])("a rename that %s gives no edits", async (_, answer, expected) => {
  knows("executeDocumentRenameProvider", answer);
  expect(await ask("textDocument/rename", { ...HERE, newName: "g" })).toEqual({ result: null, ...expected });
});

test("actions come with their edits, without those of the server itself", async () => {
  knows("executeCodeActionProvider", [
    { title: "Import x", edit: edits([[A, []]]) },
    { title: "Move", edit: edits([[A, []]], 2), command: { title: "", command: "move.after" } },
    { title: "Fix with Planloom", command: { title: "", command: "planloom.plan" } },
    { title: "Plan", command: "planloom.plan" },
    { title: "Run", command: "other.run" },
  ]);
  const context = { only: ["quickfix"] };
  expect(await ask("textDocument/codeAction", { ...HERE, range: plain(1), context })).toEqual({
    result: [
      { title: "Import x", edit: { documentChanges: [{ textDocument: { uri: A, version: 7 }, edits: [] }] } },
      { title: "Move", command: { title: "", command: "move.after" } },
      { title: "Run", command: "other.run" },
    ],
  });
  expect(state.asked).toContainEqual(["executeCodeActionProvider", Uri.parse(A), plain(1), "quickfix", 30]);
});

test("a file is formatted as the user has set", async () => {
  knows("executeFormatDocumentProvider", [{ range: span(1), newText: "" }]);
  const options = { tabSize: 8, insertSpaces: true, trimFinalNewlines: true };
  expect(await ask("textDocument/formatting", { ...HERE, options })).toMatchObject({ result: [{ newText: "" }] });
  const [, , used] = state.asked.find(([name]) => name === "executeFormatDocumentProvider") ?? [];
  expect(used).toEqual({ tabSize: 3, insertSpaces: false, trimFinalNewlines: true });
});

test("symbols of the workspace have their own names", async () => {
  knows("executeWorkspaceSymbolProvider", [{ name: "f()", location: there(1) }]);
  expect(await ask("workspace/symbol", { query: "f" })).toEqual({
    result: [{ name: "f", location: { uri: A, range: plain(1) } }],
  });
});

test("nothing is known of the workspace before something is of a file", async () => {
  knows("executeWorkspaceSymbolProvider", []);
  const languages = new OtherLanguages();
  const early = await ask("workspace/symbol", { query: "f" }, languages);
  expect(early).toEqual({ result: null, problem: "No extension of the editor knows code yet." });
  await ask("textDocument/documentSymbol", HERE, languages);
  expect(await ask("workspace/symbol", { query: "f" }, languages)).toEqual({ result: [] });
});

test.each(["file:///w/x.plan.md", "output://x", "file:///w/absent.py"])("%s is no file of code", async (uri) => {
  const asked = { ...HERE, textDocument: { uri } };
  expect(await ask("textDocument/hover", asked)).toEqual({
    result: null,
    problem: "Language servers are asked about files alone, and not about documents of plans.",
  });
  expect(state.asked).toEqual([]);
});

test("a language whose extension is starting is waited for, and an empty answer is one afterwards", async () => {
  vi.useFakeTimers();
  try {
    state.answers = {};
    const languages = new OtherLanguages();
    const early = ask("textDocument/references", HERE, languages);
    await vi.advanceTimersByTimeAsync(1000);
    state.answers = { executeDocumentSymbolProvider: [SYMBOL], executeReferenceProvider: [there(2)] };
    await vi.advanceTimersByTimeAsync(1000);
    expect(await early).toEqual({ result: [{ uri: A, range: plain(2) }] });
    state.answers = {};
    expect(await ask("textDocument/references", HERE, languages)).toEqual({ result: [] });
  } finally {
    vi.useRealTimers();
  }
});

test("a language that no extension knows is waited for once, and named", async () => {
  vi.useFakeTimers();
  try {
    state.answers = {};
    const languages = new OtherLanguages();
    const first = ask("textDocument/references", HERE, languages);
    await vi.advanceTimersByTimeAsync(10_000);
    knows("executeHoverProvider", [{ contents: ["Changed by you."] }]);
    expect(await ask("textDocument/hover", HERE, languages)).toMatchObject({ result: { contents: {} } });
    for (const answer of [await first, await ask("textDocument/references", HERE, languages)])
      expect(answer).toMatchObject({ result: null, problem: expect.stringContaining("python") });
  } finally {
    vi.useRealTimers();
  }
});
