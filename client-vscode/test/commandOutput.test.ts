// @vitest-environment happy-dom
import { html, render } from "lit";
import { expect, test } from "vitest";

import type { FromPanel } from "../src/panel/messages";
import { type PlanView, withStream } from "../src/plan/views";
import type { CommandOutput } from "../src/protocol";
import { cards } from "../src/webview/cards/cards";
import { steps } from "../src/webview/steps/steps";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi, taken } from "../src/webview/uiState";
import { plan, stateOf, step, viewOf } from "./plans";

const run = { tool: "run_command", args: { command: "pytest" } };
const started = viewOf(
  plan([step("a", { ...run, kind: "tool_call", status: "running", attempts: 1 })], { status: "executing" }),
);
const summary = "`pytest` ended with exit code 1: 1 failed";
const error = `${summary}\nFAILED tests/a.py::x\n1 failed in 0.1s`;
const failed = viewOf(
  plan(
    [
      step("a", {
        ...run,
        kind: "tool_call",
        status: "failed",
        attempts: 1,
        toolsExecuted: [{ ...run, ok: false, deduplicated: false, summary, durationMs: 5 }],
        result: { ok: false, error, durationMs: 5, timestamp: "" },
      }),
    ],
    {
      status: "executing",
      pending: {
        approvals: [],
        questions: [],
        recoveries: [{ stepId: "a", error, options: ["retry"] }],
        conflicts: [],
      },
    },
  ),
);
const stored: CommandOutput = {
  callId: "c1",
  command: "pytest",
  ok: false,
  exitCode: 1,
  output: "FAILED tests/a.py::x\n1 failed in 0.1s\n",
  tests: { words: "Tests: 1 failed and 0 passed", good: false, failures: ["tests/a.py::x"] },
};

function page(): { panel: Panel; sent: FromPanel[]; draw(view: PlanView): HTMLElement } {
  const sent: FromPanel[] = [];
  const panel = createPanel(freshUi(), { post: (message) => void sent.push(message), changed: () => undefined });
  panel.change("p1", (forms) => (forms.open = ["a"]));
  const root = document.createElement("div");
  const draw = (view: PlanView): HTMLElement => {
    render(html`${cards(panel, view)} ${steps(panel, view)}`, root);
    return root;
  };
  return { panel, sent, draw };
}

/** The key of the output that is asked for. */
function keyIn(root: HTMLElement): string {
  return JSON.parse(root.querySelector<HTMLElement>("[data-asks]")!.dataset.asks!).key;
}

test("while a command runs its output stands as it comes; then what is stored is asked for and takes its place", () => {
  const { panel, draw } = page();
  const live = withStream(stateOf(started), { planId: "p1", stepId: "a", kind: "stdout", delta: "collecting" });
  const root = draw(live.plans.p1!);
  expect([root.querySelectorAll(".printed").length, root.querySelector("[data-asks]")]).toEqual([1, null]);
  const state = stateOf(failed);
  draw(state.plans.p1!);
  const key = keyIn(root);
  panel.update((ui) => taken(ui, { kind: "output", key, commands: [stored] }, state));
  draw(state.plans.p1!);
  expect(root.querySelector("[data-asks]")).toBeNull();
  expect(root.querySelector(".command-output .printed")?.textContent).toBe(stored.output);
  expect(root.querySelector(".test-results")?.textContent).toMatch(/Tests: 1 failed and 0 passed\s+tests\/a\.py::x/);
});

test("an output stands in the card of its failure and with its command, and in no row, error or list of calls", () => {
  const { panel, draw } = page();
  const state = stateOf(failed);
  const root = draw(state.plans.p1!);
  const key = keyIn(root);
  panel.update((ui) => taken(ui, { kind: "output", key, commands: [stored] }, state));
  draw(state.plans.p1!);
  const holders = [...root.querySelectorAll("p, pre, .step-meta, .calls")].filter((each) =>
    each.textContent.includes("1 failed in 0.1s"),
  );
  expect(holders.map((each) => each.className)).toEqual(["printed", "printed"]);
  expect(root.querySelector(".error-text")?.textContent).toBe(summary);
});

test("the buttons name the call, whose command the extension looks up", () => {
  const { panel, sent, draw } = page();
  const state = stateOf(failed);
  const root = draw(state.plans.p1!);
  const key = keyIn(root);
  panel.update((ui) =>
    taken(ui, { kind: "output", key, commands: [stored, { ...stored, callId: "c2", output: null }] }, state),
  );
  draw(state.plans.p1!);
  for (const button of root.querySelectorAll<HTMLElement>(".command-output button")) button.click();
  const where = { planId: "p1", stepId: "a" };
  expect(sent).toEqual([
    { kind: "openOutput", ...where, callId: "c1" },
    { kind: "runInTerminal", ...where, callId: "c1" },
    { kind: "runInTerminal", ...where, callId: "c2" },
  ]);
});
