import { beforeEach, expect, test, vi } from "vitest";

import type { Ctx } from "../src/ctx";

/** A clipboard, whose image no extension can read, and a terminal in which this is selected. */
const editor = vi.hoisted(() => ({ text: "", hasImage: false, selected: "", answer: undefined as string | undefined }));
vi.mock("vscode", () => ({
  env: {
    clipboard: {
      readText: () => Promise.resolve(editor.text),
      writeText: (text: string) => {
        Object.assign(editor, { text, hasImage: false });
        return Promise.resolve();
      },
    },
  },
  commands: {
    executeCommand: () => {
      if (editor.selected !== "") Object.assign(editor, { text: editor.selected, hasImage: false });
      return Promise.resolve();
    },
  },
  window: { showWarningMessage: () => Promise.resolve(editor.answer) },
}));
const { addTerminal } = await import("../src/commands/adding");

let added: string[];
const ctx = {
  notify: () => undefined,
  panel: { compose: ({ references }: { references: string[] }) => void added.push(...references) },
};

beforeEach(() => {
  added = [];
  Object.assign(editor, { text: "", hasImage: false, selected: "", answer: undefined });
});

test.each([
  ["text in the clipboard comes back", { text: "mine", selected: "error" }, ["@terminal"], { text: "mine" }],
  ["text comes back where nothing is selected", { text: "mine" }, [], { text: "mine" }],
  ["an image stays without a yes", { hasImage: true, selected: "error" }, [], { hasImage: true }],
  ["an image stays where nothing is selected", { hasImage: true, answer: "Replace" }, [], { hasImage: true }],
  ["an image goes after a yes", { hasImage: true, selected: "error", answer: "Replace" }, ["@terminal"], {}],
])("the selection of a terminal is read through the clipboard: %s", async (_, before, references, after) => {
  Object.assign(editor, before);
  await addTerminal(ctx as unknown as Ctx);
  expect(added).toEqual(references);
  expect(editor).toMatchObject(after);
});
