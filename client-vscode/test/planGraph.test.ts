// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";

import type { FromPanel } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";
import type { Plan } from "../src/protocol";
import { neighbour } from "../src/webview/graph/planGraph";
import { steps } from "../src/webview/steps/steps";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi, taken } from "../src/webview/uiState";
import { plan, step, viewOf } from "./plans";

test("arrow keys walk along a row and to the nearest step of the next", () => {
  const box = (x: number, y: number) => ({ x, y, width: 100, height: 40 });
  const boxes = [box(60, 0), box(0, 60), box(120, 60), box(60, 120)];
  const walk = (...keys: string[]) => keys.reduce((at, key) => neighbour(boxes, at, key) ?? at, 0);
  expect(walk("ArrowDown")).toBe(1);
  expect(walk("ArrowDown", "ArrowRight")).toBe(2);
  expect(walk("ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown")).toBe(3);
  expect(walk("End")).toBe(3);
  expect(walk("End", "Home", "ArrowUp")).toBe(0);
  expect(neighbour(boxes, 0, "a")).toBeUndefined();
});

const THREE = [step("a"), step("b", { dependsOn: ["a"] }), step("c", { dependsOn: ["a"], when: "true" })];

function panelOf(): Panel {
  const sent: FromPanel[] = [];
  return createPanel(freshUi(), { post: (message) => void sent.push(message), changed: () => undefined });
}

function drawn(panel: Panel, now: Plan): HTMLElement {
  const root = document.createElement("div");
  const after = { wave: 1, links: ["a"] };
  render(steps(panel, viewOf(now, {}, { b: after, c: after })), root);
  return root;
}

test("the graph has each step with its status, and the selected one below it", () => {
  const panel = panelOf();
  expect(drawn(panel, plan(THREE)).querySelectorAll(".step-row").length).toBe(3);
  panel.update((ui) => taken(ui, { kind: "graph" }, { ...EMPTY, current: plan(THREE).planId }));
  const before = drawn(panel, plan(THREE));
  expect(before.querySelectorAll(".node").length).toBe(3);
  before.querySelector<HTMLElement>('.node[data-node="c"]')!.click();
  const running = plan(
    THREE.map((each) => (each.stepId === "c" ? { ...each, status: "running" as const } : each)),
    { status: "executing" },
  );
  const after = drawn(panel, running);
  expect([...after.querySelectorAll(".step")].map((each) => each.getAttribute("data-step"))).toEqual(["c"]);
  expect(after.querySelectorAll(".details").length, "a click shows the details").toBe(1);
  const node = after.querySelector('.node[data-node="c"]')!;
  expect([node.getAttribute("data-status"), node.getAttribute("tabindex")]).toEqual(["running", "0"]);
  expect(node.querySelector(".codicon")!.getAttribute("aria-label")).toBe("running");
  expect([node.textContent?.replace(/\s+/g, " "), node.getAttribute("aria-description")]).toEqual([
    "3 Do c",
    "after 1, wave 2 of 2",
  ]);
  expect([...after.querySelectorAll(".wave")].map((wave) => wave.children.length)).toEqual([1, 2]);
});

test("a plan of one step has no graph, and a button of the graph shows the list again", () => {
  const panel = panelOf();
  panel.change(plan([]).planId, (forms) => (forms.drawn = true));
  expect(drawn(panel, plan([step("a")])).querySelector(".graph")).toBeNull();
  drawn(panel, plan(THREE)).querySelector<HTMLElement>('button[aria-label="Show as List"]')!.click();
  expect(drawn(panel, plan(THREE)).querySelectorAll(".step-row").length).toBe(3);
});
