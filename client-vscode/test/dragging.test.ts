// @vitest-environment happy-dom
import { html, render } from "lit";
import { expect, test } from "vitest";

import type { FromPanel } from "../src/panel/messages";
import { placeOf } from "../src/webview/steps/dragging";
import { steps } from "../src/webview/steps/steps";
import { createPanel } from "../src/webview/ui";
import { freshUi } from "../src/webview/uiState";
import { plan, step, viewOf } from "./plans";

const IDS = ["a", "b", "c"];

test.each([
  ["a", "c", "below", "c"],
  ["a", "c", "above", "b"],
  ["c", "a", "above", null],
  ["c", "a", "below", "a"],
  ["a", "b", "above", undefined],
  ["b", "a", "below", undefined],
  ["b", "b", "below", undefined],
  ["x", "a", "below", undefined],
] as const)("a step %s that is dropped on %s, %s, comes to stand after %s", (dragged, target, side, after) => {
  expect(placeOf(IDS, dragged, target, side)).toBe(after);
});

function drag(root: HTMLElement, type: string, index: number, data: Map<string, string>): Event {
  const event = new Event(type, { bubbles: true, cancelable: true });
  const dataTransfer = {
    setData: (kind: string, text: string) => data.set(kind, text),
    getData: (kind: string) => data.get(kind) ?? "",
    types: [...data.keys()],
  };
  Object.assign(event, { dataTransfer, clientY: 1 });
  root.querySelector(`[data-index="${index}"]`)!.dispatchEvent(event);
  return event;
}

test("a row is dragged onto another while the plan waits for review, and shows the side", () => {
  const sent: FromPanel[] = [];
  const panel = createPanel(freshUi(), { post: (message) => void sent.push(message), changed: () => undefined });
  const now = plan(
    IDS.map((stepId) => step(stepId)),
    { status: "pending_approval", version: 4 },
  );
  const root = document.createElement("div");
  render(html`${steps(panel, viewOf(now))}`, root);
  const data = new Map<string, string>();
  drag(root, "dragstart", 0, data);
  expect(drag(root, "dragover", 2, data).defaultPrevented).toBe(true);
  expect(root.querySelector('[data-index="2"]')!.getAttribute("data-drop")).toBe("below");
  drag(root, "drop", 2, data);
  expect(root.querySelector("[data-drop]")).toBeNull();
  expect(sent).toEqual([
    {
      kind: "decide",
      requestId: expect.anything(),
      method: "planloom/plan/edit",
      params: { planId: now.planId, version: 4, edits: [{ op: "move", stepId: "a", after: "c" }] },
    },
  ]);
});
