import { expect, test } from "vitest";

import {
  attention,
  currentView,
  EMPTY,
  fold,
  isRedoable,
  isUndoable,
  isWorkedOn,
  type PanelState,
  progressOf,
  replay,
  shownStatus,
  withPlan,
  withStream,
  withView,
} from "../src/plan/planState";
import type { Event } from "../src/protocol";
import { ended, plan, Stream, step } from "./events";

function folded(stream: Stream): PanelState {
  return stream.events.reduce((state: PanelState, event) => fold(state, event).state, EMPTY);
}

function view(stream: Stream) {
  const found = currentView(folded(stream));
  if (found === undefined) throw new Error("no plan");
  return found;
}

const approved = (): Stream => {
  const steps = [step("a"), step("b", { dependsOn: ["a"] })];
  return new Stream()
    .start()
    .add("plan_drafting", { version: 1 })
    .add("plan_ready", { plan: plan(steps, { seq: 3 }) })
    .add("plan_approved", { version: 1, review: "each", covers: true })
    .add("plan_executing", {});
};

test("steps appear while the plan is still being drafted", () => {
  const { plan: drafted } = view(
    new Stream()
      .start()
      .add("plan_drafting", { version: 1 })
      .add("task_created", { task: step("a") }),
  );
  expect([drafted.status, drafted.steps.map((each) => each.stepId)]).toEqual(["draft", ["a"]]);
});

test("a step runs, calls a tool and completes", () => {
  const stream = approved()
    .add("task_started", { taskId: "a", agent: "koda" })
    .add("tool_started", { taskId: "a", callId: "c", tool: "read_file", args: { path: "x" } });
  expect(view(stream).calls.map((call) => call.tool)).toEqual(["read_file"]);
  stream
    .add("tool_completed", { taskId: "a", callId: "c", ok: true, deduplicated: false, summary: "Read", durationMs: 3 })
    .add("task_completed", {
      taskId: "a",
      result: { ok: true, summary: "done", durationMs: 9, timestamp: "" },
      usage: { requests: 1, promptTokens: 10, completionTokens: 5 },
    });
  const { plan: now, calls } = view(stream);
  expect(calls).toEqual([]);
  expect(now.steps[0]).toMatchObject({
    status: "completed",
    attempts: 1,
    toolsExecuted: [{ tool: "read_file", args: { path: "x" }, ok: true }],
  });
  expect(now.usage).toEqual({ requests: 1, promptTokens: 10, completionTokens: 5 });
  expect(progressOf(now)).toMatchObject({ total: 2, completed: 1, percentComplete: 50 });
});

test("what waits for other steps is computed, not told", () => {
  const { plan: now } = view(approved());
  expect(now.steps.map((each) => shownStatus(now, each))).toEqual(["ready", "blocked"]);
  const reviewed = plan([step("a"), step("b", { dependsOn: ["a"] })]);
  expect(reviewed.steps.map((each) => shownStatus(reviewed, each))).toEqual(["pending", "pending"]);
});

test("approvals, questions, recoveries and conflicts come and go", () => {
  const approval = {
    approvalId: "x",
    planId: "p1",
    stepId: "a",
    proposal: "",
    effect: "write" as const,
    title: "t",
    protected: false,
    files: [],
  };
  const conflict = { editId: "e", stepId: "a", files: [] };
  const stream = approved()
    .add("task_started", { taskId: "a", agent: "koda" })
    .add("approval_request", { approval })
    .add("clarification_request", { taskId: "a", question: "Which?" })
    .add("recovery_request", { taskId: "b", error: "no", options: ["retry"] })
    .add("edit_conflict", { taskId: "a", conflict });
  expect(attention(view(stream).plan)).toBe(4);
  expect(view(stream).plan.steps[0]?.status).toBe("needs_clarification");
  stream
    .add("approval_resolved", { approvalId: "x", decision: "allow", by: "user" })
    .add("clarification_provided", { taskId: "a", answer: "this" })
    .add("recovery_chosen", { taskId: "b", action: "skip", by: "user" })
    .add("conflict_resolved", { taskId: "a", editId: "e", files: [], by: "user" });
  expect(attention(view(stream).plan)).toBe(0);
});

test("a failed step keeps its error, a retried one its reason", () => {
  const failed = view(
    approved()
      .add("task_started", { taskId: "a", agent: "koda" })
      .add("task_failed", { taskId: "a", error: "broke", willRetry: false }),
  );
  expect(failed.plan.steps[0]).toMatchObject({
    status: "failed",
    result: { ok: false, error: "broke", durationMs: 1000 },
  });
  const retried = view(
    approved()
      .add("task_started", { taskId: "a", agent: "koda" })
      .add("task_failed", { taskId: "a", error: "broke", willRetry: true }),
  );
  expect([retried.plan.steps[0]?.status, retried.retries]).toEqual(["pending", { a: "broke" }]);
});

test("applied files are remembered and can be taken back", () => {
  const files = [{ uri: "file:///w/a.txt", change: "edit" as const }];
  const stream = approved()
    .add("edit_started", { taskId: "a", editId: "e", files })
    .add("edit_applied", { taskId: "a", editId: "e", files, merged: true, outcome: "verified" })
    .add("plan_completed", ended("2 of 2 steps done"));
  expect(isUndoable(view(stream))).toBe(true);
  expect(view(stream).files).toMatchObject([{ state: "applied", merged: true, stepId: "a" }]);
  stream.add("edit_reverted", { taskId: "a", editId: "e", files });
  expect([view(stream).files[0]?.state, view(stream).plan.steps[0]?.reverted, isUndoable(view(stream))]).toEqual([
    "reverted",
    "whole",
    false,
  ]);
  stream.add("edit_applied", { taskId: "a", editId: "e", files, merged: true, outcome: "verified" });
  expect([view(stream).files[0]?.state, view(stream).plan.steps[0]?.reverted]).toEqual(["applied", undefined]);
});

test("an undo that the editor undoes and redoes itself is shown as it stands", () => {
  const files = [{ uri: "file:///w/a.txt", change: "edit" as const }];
  const made = { taskId: "a", files, merged: false, outcome: "verified" as const };
  const stream = approved()
    .add("edit_started", { taskId: "a", editId: "e", files })
    .add("edit_applied", { ...made, editId: "e" })
    .add("plan_completed", ended("2 of 2 steps done"))
    .add("edit_started", { taskId: "a", editId: "u", files })
    .add("edit_applied", { ...made, editId: "u" })
    .add("edit_reverted", { taskId: "a", editId: "e", files });
  const shown = () => [view(stream).files.map((file) => file.state), isRedoable(view(stream), "a")];
  expect(shown()).toEqual([["reverted"], true]);
  stream.add("edit_reverted", { taskId: "a", editId: "u", files });
  expect(shown()).toEqual([["applied"], false]);
  stream.add("edit_applied", { ...made, editId: "u" }).add("edit_reverted", { taskId: "a", editId: "e", files });
  expect(shown()).toEqual([["reverted"], true]);
});

test("an event seen before changes nothing, one too early asks for what was missed", () => {
  const stream = approved();
  const state = folded(stream);
  const [first, second] = stream.events as [Event, Event];
  expect(fold(state, second)).toEqual({ state });
  expect(fold(fold(EMPTY, first).state, stream.events[3] as Event).gap).toBe("p1");
  expect(fold(EMPTY, second)).toEqual({ state: EMPTY, gap: "p1" });
});

test("a snapshot ahead of the events is not undone by them", () => {
  const stream = approved();
  const early = stream.events.slice(0, 2).reduce((state: PanelState, event) => fold(state, event).state, EMPTY);
  const ahead = withPlan(early, plan([step("a")], { seq: 5, status: "executing" }));
  const caught = stream.events.slice(2).reduce((state: PanelState, event) => fold(state, event).state, ahead);
  expect([currentView(caught)?.plan.status, currentView(caught)?.plan.seq, currentView(caught)?.folded]).toEqual([
    "executing",
    5,
    5,
  ]);
  expect(withPlan(caught, plan([], { seq: 1 }))).toBe(caught);
});

test("a replayed history equals the events folded one by one", () => {
  const stream = approved()
    .add("task_started", { taskId: "a", agent: "koda" })
    .add("log", { level: "info", message: "hello" });
  const rebuilt = replay(stream.events);
  expect(rebuilt).toEqual(view(stream));
  expect(replay(stream.events.slice(1))).toBeUndefined();
  expect(currentView({ ...withView(EMPTY, rebuilt!), current: "p1" })).toEqual(rebuilt);
});

test("unknown event types are ignored but counted", () => {
  const stream = approved();
  const odd = {
    seq: stream.events.length + 1,
    planId: "p1",
    sessionId: "s1",
    at: "",
    type: "from_the_future",
  } as unknown as Event;
  const after = fold(folded(stream), odd).state;
  expect(currentView(after)).toMatchObject({ folded: odd.seq, plan: { seq: odd.seq, status: "executing" } });
});

test("a command in the background is shown until it ends, and its end is told", () => {
  const stream = approved()
    .add("task_started", { taskId: "a", agent: "koda" })
    .add("background_started", { taskId: "a", commandId: "c1", command: "npm run dev", pid: 7 });
  expect(view(stream).background).toEqual([{ commandId: "c1", stepId: "a", command: "npm run dev" }]);
  stream.add("background_ended", { taskId: "a", commandId: "c1", reason: "exit", exitCode: 1, line: "port in use" });
  const { background, log } = view(stream);
  expect(background).toEqual([]);
  expect(log.map((each) => each.message)).toEqual(["npm run dev: port in use"]);
});

test("text of a running answer keeps its tail and ends with its step", () => {
  let state = folded(approved().add("task_started", { taskId: "a", agent: "koda" }));
  for (let index = 0; index < 50; index++)
    state = withStream(state, { planId: "p1", stepId: "a", kind: "text", delta: "x".repeat(200) });
  expect(currentView(state)?.streams.a?.length).toBe(4000);
});

test("an ended plan waits for nothing and runs nothing", () => {
  const stream = approved()
    .add("task_started", { taskId: "a", agent: "koda" })
    .add("clarification_request", { taskId: "a", question: "?" })
    .add("plan_cancelled", ended("0 of 2 steps done"));
  const { plan: now } = view(stream);
  expect([now.status, attention(now), now.steps[0]?.status, now.executionSummary]).toEqual([
    "cancelled",
    0,
    "pending",
    "0 of 2 steps done",
  ]);
});

test("an edit and a regeneration bring the plan back to review", () => {
  const edited = view(
    approved()
      .add("plan_paused", { reason: "user" })
      .add("plan_edited", { version: 2, edits: [], plan: plan([step("a")], { version: 2 }), by: "user" }),
  );
  expect([edited.plan.status, edited.plan.version, edited.pause]).toEqual(["pending_approval", 2, undefined]);
  const again = view(
    new Stream()
      .start()
      .add("plan_ready", { plan: plan([step("a", { status: "completed" }), step("b")]) })
      .add("plan_drafting", { version: 2, feedback: "less" }),
  );
  expect([again.plan.status, again.plan.steps.length, again.feedback]).toEqual(["draft", 1, "less"]);
});

test("a step that the setting skips counts as failed, and a later run is told with its number", () => {
  const stream = approved()
    .add("task_started", { taskId: "a", agent: "koda", attempt: 2, activeForm: "Doing it again" })
    .add("task_update", { taskId: "a", status: "running", progress: 50, attempt: 2 });
  expect(view(stream).plan.steps[0]).toMatchObject({ attempts: 2, activeForm: "Doing it again", progress: 50 });
  stream
    .add("task_failed", { taskId: "a", error: "no", willRetry: false })
    .add("recovery_chosen", { taskId: "a", action: "skip", by: "policy" })
    .add("task_skipped", { taskId: "a", reason: "policy" });
  expect(progressOf(view(stream).plan)).toMatchObject({ failed: 1, skipped: 0 });
});

test("a draft that came to nothing keeps its feedback and the reason until the plan is approved", () => {
  const earlier = plan([step("a")], { seq: 2 });
  const stream = new Stream()
    .start()
    .add("plan_ready", { plan: earlier })
    .add("plan_drafting", { version: 2, feedback: "Use pytest" })
    .add("plan_ready", { plan: { ...earlier, seq: 4 } })
    .add("log", { level: "warning", message: "The new draft failed." });
  expect(replay(stream.events)?.draft).toEqual({
    version: 2,
    feedback: "Use pytest",
    failed: true,
    warnings: ["The new draft failed."],
  });
  stream.add("plan_drafting", { version: 2 }).add("plan_ready", { plan: { ...earlier, version: 2, seq: 7 } });
  expect(replay(stream.events)?.draft).toMatchObject({ failed: false, warnings: [] });
  expect(
    replay(stream.add("plan_approved", { version: 2, review: "each", covers: true }).events)?.draft,
  ).toBeUndefined();
});

test("questions keep their answers, each its own", () => {
  const stream = new Stream()
    .start()
    .add("plan_ready", { plan: plan([step("a"), step("b")], { seq: 2 }) })
    .add("clarification_request", { taskId: "a", question: "Which?" })
    .add("clarification_provided", { taskId: "a", answer: "This" })
    .add("clarification_request", { taskId: "b", question: "Why?" })
    .add("clarification_request", { taskId: "a", question: "Which?" });
  expect(replay(stream.events)?.asked).toEqual([
    { stepId: "a", question: "Which?", answer: "This" },
    { stepId: "b", question: "Why?" },
    { stepId: "a", question: "Which?" },
  ]);
});

test("what a running step has cost counts at once, and once", () => {
  const used = (requests: number) => ({ requests, promptTokens: 10 * requests, completionTokens: requests });
  const stream = new Stream()
    .start()
    .add("plan_ready", { plan: plan([step("a")], { seq: 2, usage: used(1) }) })
    .add("task_started", { taskId: "a", agent: "koda" })
    .add("task_update", { taskId: "a", status: "running", usage: used(2) });
  expect(replay(stream.events)?.plan).toMatchObject({ usage: used(3), steps: [{ usage: used(2) }] });
  stream
    .add("task_update", { taskId: "a", status: "running", usage: used(1) })
    .add("task_completed", { taskId: "a", result: { ok: true, durationMs: 1, timestamp: "" }, usage: used(3) });
  expect(replay(stream.events)?.plan).toMatchObject({ usage: used(4), steps: [{ usage: used(3) }] });
});

test("a failed step took as long as the server says", () => {
  const stream = new Stream()
    .start()
    .add("plan_ready", { plan: plan([step("a")], { seq: 2 }) })
    .add("task_started", { taskId: "a", agent: "koda" })
    .add("task_failed", { taskId: "a", error: "no", willRetry: false, durationMs: 296 });
  expect(replay(stream.events)?.plan.steps[0]?.result?.durationMs).toBe(296);
});

test.each<[string, Parameters<typeof plan>, boolean]>([
  ["as it was drafted", [[step("a")]], false],
  ["a later version", [[step("a")], { version: 2 }], true],
  ["written by the user", [[step("a")], { author: "user" }], true],
  ["partly run", [[step("a", { status: "completed" }), step("b")]], true],
])("whether a plan holds work that is lost with it: %s", (_, made, isWork) => {
  expect(isWorkedOn(plan(...made))).toBe(isWork);
});
