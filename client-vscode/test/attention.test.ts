import { expect, test } from "vitest";

import { Attention } from "../src/plan/attention";
import { EMPTY, fold, type PanelState, withoutWaits, withWaits } from "../src/plan/planState";
import { causes, resourceOf, stalledWords, waitsForPlans } from "../src/plan/waiting";
import type { Approval, Event } from "../src/protocol";
import { plan, Stream, step } from "./events";

const approval = (approvalId: string, more: Partial<Approval> = {}): Approval => ({
  approvalId,
  planId: "p1",
  stepId: "a",
  proposal: "",
  effect: "execute",
  title: "t",
  protected: false,
  files: [],
  ...more,
});
const stateOf = (...streams: Stream[]): PanelState =>
  streams.flatMap(({ events }) => events as Event[]).reduce((state, event) => fold(state, event).state, EMPTY);
const running = (planId = "p1"): Stream =>
  new Stream(planId)
    .start()
    .add("plan_ready", { plan: plan([step("a"), step("b")], { seq: 2, planId, request: "Tidy [up](command:x)\nall" }) })
    .add("plan_approved", { version: 1, review: "each", covers: true })
    .add("plan_executing", {})
    .add("task_started", { taskId: "a", agent: "koda" });

/** An editor that keeps the notifications that are open. */
function editor(quiet = false) {
  const open: { message: string; planId: string | undefined; title: string | undefined }[] = [];
  const shown: string[] = [];
  const now = { quiet };
  const attention = new Attention({
    isQuiet: () => now.quiet,
    show: (message, plan) => {
      const one = { message, planId: plan?.planId, title: plan?.title };
      open.push(one);
      shown.push(message);
      return () => void open.splice(open.indexOf(one), 1);
    },
  });
  return { attention, open, shown, now };
}

test("what waits is told once, with its plan, and taken back once it was answered", () => {
  const { attention, open, shown } = editor();
  const stream = running();
  attention.look(stateOf(stream));
  expect(open).toEqual([]);
  stream.add("approval_request", { approval: approval("x") });
  attention.look(stateOf(stream));
  attention.look(stateOf(stream));
  expect(open).toEqual([
    { message: "Planloom waits for your approval.", planId: "p1", title: "Tidy [up] (command:x)" },
  ]);
  stream.add("approval_resolved", { approvalId: "x", decision: "allow", by: "user" });
  attention.look(stateOf(stream));
  expect([open.length, shown.length]).toEqual([0, 1]);
});

test("a user who looks at the panel is told nothing, then or when it is hidden", () => {
  const { attention, shown, now } = editor(true);
  const stream = running().add("approval_request", { approval: approval("x") });
  attention.look(stateOf(stream));
  now.quiet = false;
  attention.look(stateOf(stream));
  expect(shown).toEqual([]);
});

test("coming to the panel takes all back; the same cause is not told again, a new one is", () => {
  const { attention, open, shown } = editor();
  const stream = running().add("approval_request", { approval: approval("x") });
  attention.look(stateOf(stream));
  attention.seen();
  attention.look(stateOf(stream));
  expect([open.length, shown.length]).toEqual([0, 1]);
  attention.look(stateOf(stream.add("approval_request", { approval: approval("y") })));
  expect([open.length, shown.length]).toEqual([1, 2]);
});

test("commands that are asked together, and several plans at once, are one notification each", () => {
  const { attention, shown } = editor();
  const listed = (position: number) => ({ listed: { listId: "l", position, size: 2 } });
  const one = running()
    .add("approval_request", { approval: approval("x", listed(1)) })
    .add("approval_request", { approval: approval("y", listed(2)) });
  attention.look(stateOf(one));
  expect(shown).toEqual(["Planloom waits for your approval."]);
  const paused = (planId: string) => running(planId).add("plan_paused", { reason: "unsaved_files" });
  attention.look(stateOf(one, paused("p2"), paused("p3")));
  expect(shown.slice(1)).toEqual(["2 plans wait for you."]);
});

test("a review and a pause are causes, a pause of the user is none, and the same pause later is a new one", () => {
  const only = (stream: Stream) => causes(stateOf(stream).plans.p1!);
  expect(only(new Stream().start().add("plan_ready", { plan: plan([step("a")], { seq: 2 }) }))).toEqual([
    "review p1 1",
  ]);
  expect(only(running().add("plan_paused", { reason: "user" }))).toEqual([]);
  const { attention, shown } = editor();
  const stream = running().add("plan_paused", { reason: "model_unavailable" });
  attention.look(stateOf(stream));
  attention.look(stateOf(stream.add("plan_resumed", {})));
  attention.look(stateOf(stream.add("plan_paused", { reason: "model_unavailable" })));
  expect(shown.length).toBe(2);
});

test("a step that waits for another plan is told apart from one at work, until the server tells otherwise", () => {
  const wait = { stepId: "a", resource: "path", path: "note.txt", usedByPlan: "p2", usedByStep: "a" } as const;
  const before = stateOf(running());
  const state = withWaits(before, { planId: "p1", waits: [wait] }, "2030-01-01T12:00:06Z");
  const view = state.plans.p1!;
  expect([resourceOf(view, "a"), waitsForPlans(view), stalledWords(view)]).toEqual([
    wait,
    [wait],
    "waits for note.txt",
  ]);
  expect(stalledWords(before.plans.p1!)).toBeUndefined();
  const own = withWaits(before, { planId: "p1", waits: [{ ...wait, usedByPlan: "p1", usedByStep: "b" }] }, "");
  expect(waitsForPlans(own.plans.p1!)).toEqual([]);
  expect(stalledWords(withoutWaits(state).plans.p1!)).toBeUndefined();
});
