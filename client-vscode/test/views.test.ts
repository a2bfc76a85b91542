// What the page keeps of the views that the server sends.
import { expect, test } from "vitest";

import { EMPTY, withMessage, withStream } from "../src/plan/views";
import { plan, step, stepView, viewOf } from "./plans";

const whole = viewOf(plan([step("a"), step("b")], { seq: 1, rejectionReason: "no" }), { waits: "waits for you" });

test("a new plan is displayed, an older one only if it is chosen", () => {
  const { state } = withMessage(EMPTY, { planId: "p1", number: 1, view: whole });
  expect(state.current).toBe("p1");
  const older = viewOf(plan([], { planId: "p0", seq: 9 }));
  expect(withMessage(state, { planId: "p0", number: 1, view: older }).state.current).toBe("p1");
});

test("a patch replaces fields and steps, leaves out what is null, and orders the steps", () => {
  const { state } = withMessage(EMPTY, { planId: "p1", number: 4, view: whole });
  const steps = [stepView(step("b", { status: "running" }), 1), stepView(step("c"), 2)];
  const patch = { plan: { seq: 5, rejectionReason: null }, head: { state: "Running", waits: null }, steps };
  const view = withMessage(state, { planId: "p1", number: 5, patch: { ...patch, order: ["b", "c"] } }).state.plans.p1!;
  expect([view.plan.seq, view.plan.request, view.state, view.number]).toEqual([5, "Build a page", "Running", 5]);
  expect(["rejectionReason" in view.plan, "waits" in view]).toEqual([false, false]);
  expect(view.plan.steps.map(({ stepId, status }) => [stepId, status])).toEqual([
    ["b", "running"],
    ["c", "pending"],
  ]);
});

test("a patch that was taken before changes nothing; one after a gap asks for the whole", () => {
  const { state } = withMessage(EMPTY, { planId: "p1", number: 4, view: whole });
  const patch = { head: { state: "Running" } };
  expect(withMessage(state, { planId: "p1", number: 4, patch })).toEqual({ state });
  expect(withMessage(state, { planId: "p1", number: 6, patch })).toEqual({ state, gap: "p1" });
  expect(withMessage(EMPTY, { planId: "p1", number: 2, patch })).toEqual({ state: EMPTY, gap: "p1" });
});

test("what streamed to a draft goes with it", () => {
  const drafting = viewOf(plan([], { status: "draft" }));
  let { state } = withMessage(EMPTY, { planId: "p1", number: 1, view: drafting });
  state = withStream(state, { planId: "p1", kind: "text", delta: "One step" });
  expect(state.plans.p1?.streams).toEqual({ "": "One step" });
  const patch = { plan: { status: "pending_approval" } };
  expect(withMessage(state, { planId: "p1", number: 2, patch }).state.plans.p1?.streams).toEqual({});
});
