import { expect, test, vi } from "vitest";

import type { Ctx } from "../src/ctx";

const editor = vi.hoisted(() => ({
  opened: [] as ((document: object) => void)[],
  documents: [] as object[],
  nothing: { dispose: () => undefined },
}));
vi.mock("vscode", () => ({
  languages: { registerCodeActionsProvider: () => editor.nothing },
  workspace: {
    textDocuments: editor.documents,
    onDidOpenTextDocument: (listener: (document: object) => void) => {
      editor.opened.push(listener);
      return editor.nothing;
    },
  },
}));
const { whatNeedsTheServer } = await import("../src/needs");

test.each([
  ["file", "/w/.planloom/plans/login.plan.md", true],
  ["file", "/w/docs/login.plan.md", true],
  ["file", "/w/.planloom/image-1.png", false],
  ["file", "/w/plan.md", false],
  ["git", "/w/docs/login.plan.md", false],
])("%s:%s needs the server: %s", (scheme, path, isNeeded) => {
  const document = { uri: { scheme, path, fsPath: path } };
  const needed = vi.fn();
  const ctx = { hasLivePlan: false, needed } as unknown as Ctx;
  whatNeedsTheServer(ctx);
  editor.opened.at(-1)?.(document);
  expect(needed).toHaveBeenCalledTimes(isNeeded ? 1 : 0);
  // It may be open before the extension is.
  editor.documents.splice(0, 1, document);
  whatNeedsTheServer(ctx);
  expect(needed).toHaveBeenCalledTimes(isNeeded ? 2 : 0);
  editor.documents.length = 0;
});
