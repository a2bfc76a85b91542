// @vitest-environment happy-dom
import { render } from "lit";
import { afterEach, expect, test } from "vitest";

import type { FromPanel } from "../src/panel/messages";
import { listed, matching } from "../src/plan/planList";
import { type PanelState, withoutPlan } from "../src/plan/views";
import type { PlanSummary } from "../src/protocol";
import { plansPage } from "../src/webview/plan/plansPage";
import { createPanel } from "../src/webview/ui";
import { freshUi, taken } from "../src/webview/uiState";
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

test("search takes every word in any case and order, filters go by state", () => {
  const all = listed(
    [
      summary("1", { request: "Add Rate limiting to the login" }),
      summary("2", { request: "Login page", status: "paused", live: true }),
    ],
    reviewed("3"),
  );
  const ids = (find: string, filter: "all" | "waiting" | "open" | "ended") =>
    matching(all, find, filter).map((each) => each.planId);
  expect(ids("LOGIN  rate", "all")).toEqual(["1"]);
  expect([ids("", "waiting"), ids("", "open"), ids("", "ended")]).toEqual([["3"], ["3", "2"], ["1"]]);
  expect(ids("login", "open")).toEqual(["2"]);
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

test("the page opens with the answer, draws what is found, and a row shows, exports or deletes its plan", () => {
  const sent: FromPanel[] = [];
  const panel = createPanel(freshUi(), { post: (message) => void sent.push(message), changed: () => undefined });
  const state = reviewed("p1");
  const root = document.createElement("div");
  const draw = () => render(plansPage(panel, state), root);
  draw();
  expect(root.querySelector(".plans-page")).toBeNull();
  panel.update((ui) => taken(ui, { kind: "plans", plans: [summary("<b>p2</b>")] }, state));
  draw();
  const rows = [...root.querySelectorAll<HTMLElement>(".listed")];
  expect(rows.map((row) => [row.dataset.plan, row.dataset.waits, row.querySelectorAll(".icon-button").length])).toEqual(
    [
      ["p1", "true", 1],
      ["<b>p2</b>", "false", 2],
    ],
  );
  for (const button of rows[1]!.querySelectorAll<HTMLElement>(".icon-button")) button.click();
  rows[0]!.querySelector<HTMLElement>(".listed-plan")!.click();
  expect(sent).toEqual([
    { kind: "export", planId: "<b>p2</b>" },
    { kind: "delete", planId: "<b>p2</b>" },
    { kind: "select", planId: "p1" },
  ]);
  draw();
  expect(root.querySelector(".plans-page"), "it closes when a plan is shown").toBeNull();
});

test("a deleted plan is gone from the state, and is displayed no more", () => {
  const state = reviewed("p1");
  expect(withoutPlan(state, "p1")).toEqual({ plans: {} });
  expect(withoutPlan(state, "p2").current).toBe("p1");
});
