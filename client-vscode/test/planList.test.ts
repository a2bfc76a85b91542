import { afterEach, expect, test } from "vitest";

import { listed } from "../src/plan/planList";
import { type PanelState, withoutPlan } from "../src/plan/views";
import type { PlanSummary } from "../src/protocol";
import { ago, speak } from "../src/words";
import { plan, stateOf, step, viewOf } from "./plans";

afterEach(() => speak("en", {}));

const summary = (planId: string, more: Partial<PlanSummary> = {}): PlanSummary => ({
  planId,
  sessionId: "s1",
  version: 1,
  seq: 9,
  request: `Do ${planId}`,
  status: "completed",
  workspaceFolders: [],
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
  progress: { total: 2, completed: 2, pending: 0, inProgress: 0, failed: 0, skipped: 0, percentComplete: 100 },
  state: "Done",
  sign: "completed",
  live: false,
  ...more,
});
const reviewed = (planId: string): PanelState =>
  stateOf(viewOf(plan([step("a")], { planId, request: `Do ${planId}` }), { waits: "waits for your review" }));

test("what waits comes first, then what has not ended, then the newest; what this window knows is newer", () => {
  const state = reviewed("waiting");
  const found = listed(
    [
      summary("old"),
      summary("new", { updatedAt: "2026-02-01T00:00:00Z" }),
      summary("elsewhere", { status: "executing", state: "Running", sign: "executing", live: true }),
      summary("waiting", { status: "draft", live: true }),
      summary("partly", { state: "Partly done", sign: "partly" }),
    ],
    state,
  );
  expect(found.map((each) => [each.planId, each.state])).toEqual([
    ["waiting", "waits for your review"],
    ["elsewhere", "Running"],
    ["new", "Done"],
    ["old", "Done"],
    ["partly", "Partly done"],
  ]);
});

test("a moment is told by the largest unit that fits, in the editor's language", () => {
  const now = Date.parse("2026-03-10T12:00:00Z");
  const told = (at: string) => ago(at, now);
  expect(
    [
      "2026-03-10T11:59:30Z",
      "2026-03-10T11:58:00Z",
      "2026-03-10T09:00:00Z",
      "2026-03-09T10:00:00Z",
      "2026-02-24T12:00:00Z",
    ].map(told),
  ).toEqual(["now", "2 minutes ago", "3 hours ago", "yesterday", "2 weeks ago"]);
  expect(told("2026-03-10T12:00:05Z")).toBe("now");
  speak("de", {});
  expect(told("2026-03-09T10:00:00Z")).toBe("gestern");
});

test("a deleted plan is gone from the state, and is displayed no more", () => {
  const state = reviewed("p1");
  expect(withoutPlan(state, "p1")).toEqual({ plans: {} });
  expect(withoutPlan(state, "p2").current).toBe("p1");
});
