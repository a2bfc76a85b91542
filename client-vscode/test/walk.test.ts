import { beforeEach, expect, test, vi } from "vitest";

import type { PanelState } from "../src/plan/views";
import type { Approval } from "../src/protocol";

/** As much of the editor as a walk touches: the active document, and who hears of typing. */
const editor = vi.hoisted(() => ({
  typed: [] as ((event: object) => void)[],
  document: { uri: { scheme: "file" } },
}));
vi.mock("vscode", () => ({
  window: { activeTextEditor: { document: editor.document } },
  workspace: {
    onDidChangeTextDocument: (listener: (event: object) => void) => {
      editor.typed.push(listener);
      return { dispose: () => undefined };
    },
  },
}));
vi.mock("../src/connection/workspaceFiles", () => ({ isFile: () => true }));
const { Walk } = await import("../src/review/walk");

const change = (approvalId: string): Approval =>
  ({ approvalId, planId: "p", files: [{ change: "edit" }] }) as unknown as Approval;
const command = { approvalId: "c", planId: "p", files: [], command: "ls" } as unknown as Approval;
const state = (approvals: readonly Approval[], live = true): PanelState =>
  ({
    current: "p",
    plans: { p: { live, plan: { planId: "p", pending: { approvals } } } },
  }) as unknown as PanelState;

let [shown, toPanel, serverEdits] = [[] as string[], 0, false];
let walk: InstanceType<typeof Walk>;
const type = (): void => {
  for (const hear of editor.typed) hear({ document: editor.document, contentChanges: [{}] });
};

beforeEach(() => {
  [shown, toPanel, serverEdits, editor.typed.length] = [[], 0, false, 0];
  walk = new Walk(
    { open: ({ approvalId }) => Promise.resolve(void shown.push(approvalId)) },
    () => serverEdits,
    () => Promise.resolve(void toPanel++),
  );
});

test("the changes of a started plan are shown one after the other, the next one after an answer, then the panel", () => {
  walk.begin("p");
  walk.look(state([]));
  walk.look(state([change("1")]));
  walk.look(state([change("1"), change("2")]));
  expect(shown).toEqual(["1"]);
  walk.answer(change("1"));
  walk.look(state([change("1"), change("2")]));
  walk.look(state([change("2")]));
  walk.answer(change("2"));
  walk.look(state([]));
  expect([shown, toPanel]).toEqual([["1", "2"], 0]);
  walk.look(state([command]));
  walk.look(state([command]));
  expect([shown, toPanel]).toEqual([["1", "2"], 1]);
});

test("without a start nothing is shown, and a plan's end takes nobody from where they are who answered in the panel", () => {
  walk.look(state([change("1")]));
  walk.begin("p");
  walk.look(state([], false));
  walk.look(state([change("2")]));
  expect([shown, toPanel]).toEqual([[], 0]);
});

test("typing in a file ends it, what the server writes there does not", () => {
  walk.begin("p");
  serverEdits = true;
  type();
  walk.look(state([change("1")]));
  serverEdits = false;
  type();
  walk.look(state([change("2")]));
  expect(shown).toEqual(["1"]);
});
