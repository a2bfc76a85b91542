// @vitest-environment happy-dom
// Loops, rounds, checks and gates as the panel shows them while their steps are at work.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { html, render } from "lit";
import { expect, test } from "vitest";

import { position, shareDone } from "../src/plan/loops";
import { replay } from "../src/plan/planState";
import type { PlanView } from "../src/plan/planView";
import type { Event } from "../src/protocol";
import { planGraph } from "../src/webview/graph/planGraph";
import { steps } from "../src/webview/steps/steps";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi } from "../src/webview/uiState";
import { plan, step } from "./events";

function viewOf(name: string): PlanView {
  const stream = JSON.parse(readFileSync(join(__dirname, "streams", `${name}.json`), "utf8")) as { events: Event[] };
  return replay(stream.events)!;
}

const panel: Panel = createPanel(freshUi(), { post: () => undefined, changed: () => undefined });

function drawn(view: unknown): HTMLElement {
  const root = document.createElement("div");
  render(html`${view}`, root);
  return root;
}

test.each([
  ["loop-under-way", "1 of 3 steps ended", 33],
  ["rounds-under-way", "round 2 of at most 4", 25],
])("%s says how far it has come", (name, words, percent) => {
  const root = drawn(steps(panel, viewOf(name)));
  const row = root.querySelector('.step[data-step="step_5"]')!;
  expect(row.getAttribute("data-status")).toBe("running");
  expect(row.querySelector(".loop-position")?.textContent?.trim()).toBe(words);
  expect(row.querySelector("vscode-progress-bar")).toHaveProperty("value", percent);
});

test("a loop that is paused or has ended shows no bar", () => {
  const view = viewOf("loop-under-way");
  for (const status of ["paused", "completed"] as const) {
    const root = drawn(steps(panel, { ...view, plan: { ...view.plan, status } }));
    expect(root.querySelector(".loop-position")).toBeNull();
    expect(root.querySelector('.step[data-step="step_5"] vscode-progress-bar')).toBeNull();
  }
});

test("the graph marks checks, gates and loops, and says what a step waits for", () => {
  const view = viewOf("loop-under-way");
  const waits = [{ stepId: "step_5_3", resource: "terminal", usedByPlan: "p", usedByStep: "s" }] as const;
  const root = drawn(planGraph(panel, { ...view, waits }));
  const marks = (id: string) =>
    [...root.querySelectorAll(`[data-node="${id}"] .node-mark`)].map(
      (mark) => /codicon-([a-z-]+)/.exec(mark.className)?.[1],
    );
  expect(["step_3", "step_4", "step_5", "step_5_1"].map(marks)).toEqual([["beaker"], ["pass"], ["list-unordered"], []]);
  expect(root.querySelector('[data-node="step_5"]')?.getAttribute("data-status")).toBe("running");
  expect(root.querySelector('[data-node="step_5_3"] .node-state')?.innerHTML).toContain("terminal");
});

test("steps at work count as far as they have come, and rounds against the most there can be", () => {
  const loop = step("l", { forEach: "[1, 2]" });
  const at = (progress: number) => step("l_1", { parent: "l", status: "running", progress });
  const items = plan([loop, at(50), step("l_2", { parent: "l", status: "failed" })]);
  expect(shareDone(items, loop)).toBe(75);
  expect(position(items, loop)).toEqual({ kind: "ended", count: 1, of: 2 });
  const rounds = step("l", { repeatUntil: "last.ok" });
  expect(shareDone(plan([rounds, at(50)]), rounds)).toBe(10);
  expect(shareDone(plan([rounds]), rounds)).toBeUndefined();
});
