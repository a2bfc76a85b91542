import { expect, test } from "vitest";

import { workedMs } from "../src/plan/clocks";
import { EMPTY, fold, replay, withWaits } from "../src/plan/planState";
import type { PlanView } from "../src/plan/planView";
import { dependants, isPartly, notDone, restOf, waitingFor, waitOf } from "../src/plan/waiting";
import type { Approval, Plan, TaskSkipped } from "../src/protocol";
import { skippedWith, whatIsAsked } from "../src/webview/text/format";
import { plan, Stream, step } from "./events";

const approval = (approvalId: string, stepId?: string): Approval => ({
  approvalId,
  planId: "p1",
  stepId,
  proposal: "",
  effect: "write",
  title: "t",
  protected: false,
  files: [],
});
const viewOf = (now: Plan, more: Partial<PlanView> = {}): PlanView => ({
  ...replay(new Stream().start().events)!,
  plan: now,
  ...more,
});
const running = (): Stream =>
  new Stream()
    .start()
    .add("plan_ready", { plan: plan([step("a"), step("b")], { seq: 2 }) })
    .add("plan_approved", { version: 1, review: "each", covers: true })
    .add("plan_executing", {})
    .add("task_started", { taskId: "a", agent: "koda" });

test("each kind of decision is named, several are told as one", () => {
  const pending = (more: object) =>
    plan([step("a"), step("b")], {
      status: "executing",
      pending: { approvals: [], questions: [], recoveries: [], conflicts: [], ...more },
    });
  const one = pending({ approvals: [approval("x", "a")] });
  expect([waitOf(one, "a"), waitOf(one, "b"), waitingFor(viewOf(one))]).toEqual([
    "approval",
    undefined,
    "waits for your approval",
  ]);
  const two = pending({ approvals: [approval("x", "a")], questions: [{ stepId: "b", question: "?" }] });
  expect([waitOf(two, "b"), waitingFor(viewOf(two))]).toEqual(["answer", "waits for you"]);
  const whole = pending({ approvals: [approval("x")] });
  expect([waitOf(whole, "a"), waitingFor(viewOf(whole))]).toEqual([undefined, "waits for your approval"]);
});

test("a review and a pause wait for the user, unless the user paused", () => {
  expect(waitingFor(viewOf(plan([])))).toBe("waits for your review");
  const paused = viewOf(plan([], { status: "paused" }), { pause: { at: "", reason: "unsaved_files" } });
  expect([waitingFor(paused), waitingFor({ ...paused, pause: { at: "", reason: "user" } })]).toEqual([
    "is paused and waits for you",
    undefined,
  ]);
  expect(waitingFor(viewOf(plan([], { status: "executing" })))).toBeUndefined();
});

test("a clock does not count the time in which a step waits for the terminal", () => {
  const state = running().events.reduce((now, event) => fold(now, event).state, EMPTY);
  const wait = { stepId: "a", resource: "terminal", usedByPlan: "p2", usedByStep: "x" } as const;
  const at = (second: number) => new Date(Date.UTC(2030, 0, 1, 12, 0, second)).toISOString();
  const waiting = withWaits(state, { planId: "p1", waits: [wait] }, at(7));
  const worked = ({ plans }: typeof state, second: number) =>
    workedMs(plans.p1!.clocks, plans.p1!.plan.steps[0]!, Date.parse(at(second)));
  expect([worked(waiting, 60), worked(withWaits(waiting, { planId: "p1", waits: [] }, at(17)), 18)]).toEqual([
    2000, 3000,
  ]);
});

test("a clock does not count the time that a step waits", () => {
  const stream = running();
  const worked = (seconds: number) => {
    const view = replay(stream.events)!;
    return workedMs(view.clocks, view.plan.steps[0]!, Date.UTC(2030, 0, 1, 12, 0, seconds));
  };
  // The events are one second apart; the step began at second 5.
  expect(worked(6)).toBe(1000);
  stream.add("approval_request", { approval: approval("x", "a") });
  expect([worked(6), worked(100)]).toEqual([1000, 1000]);
  stream
    .add("approval_request", { approval: approval("y", "a") })
    .add("approval_resolved", { approvalId: "x", decision: "allow", by: "user" });
  expect(worked(100)).toBe(1000);
  stream.add("approval_resolved", { approvalId: "y", decision: "allow", by: "user" });
  expect(worked(10)).toBe(2000);
  stream.add("task_completed", { taskId: "a", result: { ok: true, durationMs: 5024, timestamp: "" } });
  expect(worked(100)).toBe(2024);
});

test("a new attempt has a new clock", () => {
  const stream = running()
    .add("approval_request", { approval: approval("x", "a") })
    .add("approval_resolved", { approvalId: "x", decision: "allow", by: "user" });
  stream
    .add("task_failed", { taskId: "a", error: "no", willRetry: true })
    .add("task_started", { taskId: "a", agent: "koda" });
  const view = replay(stream.events)!;
  expect(workedMs(view.clocks, view.plan.steps[0]!, Date.UTC(2030, 0, 1, 12, 0, 11))).toBe(2000);
});

test.each([
  ["nothing depends on it", [step("a"), step("b")], [], undefined],
  [
    "one step",
    [step("a"), step("b", { dependsOn: ["a"] }), step("c")],
    ["b"],
    "Step 2 depends on it and is skipped too, unless the model finds another way.",
  ],
  [
    "a chain",
    [
      step("a", { tool: "edit_file" }),
      step("b", { dependsOn: ["a"] }),
      step("c"),
      step("d", { dependsOn: ["b", "c"] }),
    ],
    ["b", "d"],
    "Steps 2 and 4 depend on it and are skipped too.",
  ],
  [
    "an order that is not the plan's",
    [step("d", { dependsOn: ["b"] }), step("a", { tool: "edit_file" }), step("b", { dependsOn: ["a"] })],
    ["d", "b"],
    "Steps 1 and 3 depend on it and are skipped too.",
  ],
  [
    "what only the server knows to depend on it",
    [step("a", { tool: "edit_file", blocks: ["b"] }), step("b")],
    ["b"],
    "Step 2 depends on it and is skipped too.",
  ],
  [
    "what is done already is not lost",
    [step("a"), step("b", { dependsOn: ["a"], status: "completed" })],
    [],
    undefined,
  ],
])("steps that are lost with another: %s", (_, steps, lost, words) => {
  const now = plan(steps, { status: "executing" });
  expect([dependants(now, "a").map((each) => each.stepId), skippedWith(now, "a")]).toEqual([lost, words]);
});

test("done is a plan only if everything is; a step whose condition did not hold was not meant to be", () => {
  const ended = (status: "completed" | "failed", skipped: TaskSkipped["reason"]) =>
    viewOf(
      plan([step("a", { status: "completed" }), step("b", { status: "skipped", skipReason: skipped })], { status }),
    );
  expect([
    isPartly(ended("completed", "condition")),
    isPartly(ended("completed", "user")),
    isPartly(ended("failed", "user")),
  ]).toEqual([false, true, false]);
  expect(notDone(ended("completed", "approval_denied")).map((each) => each.stepId)).toEqual(["b"]);
  expect(notDone(viewOf(plan([step("a")], { status: "executing" })))).toEqual([]);
});

test("the rest of a plan is a request that the rules can plan, and a model can understand", () => {
  const steps = [
    step("a", { status: "completed" }),
    step("b", { status: "failed", instruction: 'Replace "a" with "b" in c.txt' }),
    step("c", { status: "skipped" }),
  ];
  const rest = (author: "rules" | "model") => restOf(viewOf(plan(steps, { status: "completed", author })));
  expect(rest("rules")).toBe('1. Replace "a" with "b" in c.txt\n2. Do c');
  expect(rest("model")).toContain("The earlier request was:\n\nBuild a page");
});

test.each([
  ["each", [], "Asks in every step, before each change, deletion, command and web page."],
  ["each", ["writing"], "Asks only about deletions, commands, web pages and protected files."],
  ["each", ["writing", "deleting", "commands", "web pages"], "Asks only about protected files."],
  ["end", [], "Asks once, at the end, about changes and deletions; about commands and web pages it asks first."],
  ["end", ["commands"], "Asks once, at the end, about changes and deletions; about web pages it asks first."],
  ["end", ["commands", "web pages"], "Asks once, at the end, about changes and deletions."],
  ["auto", [], "Asks only about deletions, commands, web pages and protected files."],
  ["auto", ["commands", "web pages"], "Asks only about deletions and protected files."],
] as const)("review %s with %j unasked", (review, unasked, words) => {
  expect(whatIsAsked(review, unasked)).toBe(words);
});
