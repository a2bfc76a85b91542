// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";

import { type FromPanel, readFromPanel, type ServerState } from "../src/panel/messages";
import type { Explained } from "../src/protocol";
import { pausedForModel } from "../src/webview/mends";
import { outcome } from "../src/webview/plan/summary";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi, written } from "../src/webview/uiState";
import { modelSetUp, welcome, windowState } from "../src/webview/welcome";
import { plan, step, viewOf } from "./plans";

const RUNNING = {
  kind: "running",
  model: "m",
  problems: [],
  trusted: true,
  review: "each",
  reviews: [],
} satisfies ServerState;
const WRONG_KEY: Explained = { words: "https://x refused the key.", mends: ["key", "models"] };

function panelOf(server: Partial<Extract<ServerState, { kind: "running" }>> = {}): {
  panel: Panel;
  sent: FromPanel[];
} {
  const sent: FromPanel[] = [];
  const ui = { ...freshUi(), server: { ...RUNNING, ...server } };
  return { panel: createPanel(ui, { post: (message) => void sent.push(message), changed: () => undefined }), sent };
}

function drawn(view: unknown): HTMLElement {
  const root = document.createElement("div");
  render(view, root);
  return root;
}

const press = (root: HTMLElement, selector: string): void => root.querySelector<HTMLElement>(selector)?.click();

test("an example is written into the composer, for the user to change and send", () => {
  const { panel, sent } = panelOf();
  press(drawn(welcome(panel)), ".examples button");
  expect(panel.ui.draft).toMatch(/README/);
  expect(panel.ui.caret).toBe(panel.ui.draft.length);
  expect(sent).toEqual([]);
});

test.each([
  [{ noFolder: true }, "folder"],
  [{ trusted: false }, "trust"],
] as const)("a window with %j says so, with its button", (server, mend) => {
  const { panel, sent } = panelOf(server);
  panel.update((ui) => written(ui, "Build it", 0));
  press(drawn(windowState(panel)), `[data-mend="${mend}"]`);
  // A folder opens in another window, which goes on with what is written in this one.
  expect(sent).toEqual([{ kind: "mend", mend, ...(mend === "folder" ? { draft: "Build it" } : {}) }]);
  expect(readFromPanel(sent[0])).toEqual(sent[0]);
});

test("a request that is held says so in the card of the ways to a model", () => {
  const card = (held: boolean) => drawn(modelSetUp(panelOf({ needsModel: { editor: false, held } }).panel));
  expect(card(true).textContent).toMatch(/Your request is held/);
  expect(card(false).textContent).not.toMatch(/held/);
  expect(drawn(modelSetUp(panelOf().panel)).textContent).toBe("");
});

test("a pause for the model tells its cause, and its buttons name the plan that goes on", () => {
  const { panel, sent } = panelOf();
  const view = viewOf(plan([step("a")], { status: "paused", pauseDetail: "Set --base-url." }), { problem: WRONG_KEY });
  const banner = drawn(pausedForModel(panel, view));
  expect(banner.textContent).toMatch(/https:\/\/x refused the key\./);
  expect(banner.textContent).not.toMatch(/--base-url/);
  press(banner, '[data-mend="key"]');
  expect(sent).toEqual([{ kind: "mend", mend: "key", planId: view.plan.planId }]);
});

test("a draft that failed for its model has the buttons too, one that failed for itself its own sentence", () => {
  const { panel } = panelOf();
  const failed = (problem: Explained) =>
    drawn(
      outcome(panel, viewOf(plan([], { status: "failed", error: { code: "x", message: "For a log." } }), { problem })),
    );
  const forModel = failed(WRONG_KEY);
  expect(forModel.querySelector(".failure h3")?.textContent).toMatch(/refused the key/);
  expect(forModel.querySelectorAll("[data-mend]")).toHaveLength(2);
  const itself = failed({ words: "Step 2 failed.", mends: [] });
  expect(itself.querySelector(".failure h3")?.textContent).toBe("Step 2 failed.");
  expect(itself.textContent).not.toMatch(/For a log/);
  expect(itself.querySelector("[data-mend]")).toBeNull();
});
