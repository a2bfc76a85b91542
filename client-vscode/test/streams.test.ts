// Streams that the real server wrote: what the panel folds from them is what the server holds.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { isEvent } from "../src/panel/messages";
import { currentView, EMPTY, fold, type PanelState, progressOf, replay, shownStatus } from "../src/plan/planState";
import { EVENTS, type Event, type Plan } from "../src/protocol";

interface Recorded {
  events: Event[];
  plan: Plan;
}

const folder = join(__dirname, "streams");
const recorded = readdirSync(folder).map((name): [string, Recorded] => [
  name.replace(".json", ""),
  JSON.parse(readFileSync(join(folder, name), "utf8")) as Recorded,
]);

/** What of a plan is shown, without the moments that only the ledger knows. */
function shown(plan: Plan): object {
  const steps = plan.steps.map((step) => ({
    stepId: step.stepId,
    description: step.description,
    status: shownStatus(plan, step) === "ready" ? "pending" : shownStatus(plan, step),
    args: step.args,
    attempts: step.attempts,
    parent: step.parent,
    progress: step.progress,
    tools: step.toolsExecuted.map((call) => [call.tool, call.ok, call.summary]),
    checks: step.checks,
    summary: step.result?.summary ?? undefined,
    reverted: step.reverted ?? undefined,
  }));
  const { status, version, seq, request, summary, route, review, author, pending, usage, overallRisk, sequential } =
    plan;
  const rejectionReason = plan.rejectionReason ?? undefined;
  const executionSummary = plan.executionSummary ?? undefined;
  return {
    status,
    version,
    seq,
    request,
    summary,
    route,
    review,
    author,
    pending,
    usage,
    overallRisk,
    sequential,
    rejectionReason,
    executionSummary,
    report: plan.report,
    steps,
    progress: progressOf(plan),
  };
}

test.each(recorded)("%s: the fold ends as the server does", (_, { events, plan }) => {
  expect(shown(replay(events)!.plan)).toEqual(shown(plan));
});

test.each(recorded)("%s: a panel that reconnects anywhere ends the same", (_, { events }) => {
  const whole = replay(events);
  for (let cut = 1; cut < events.length; cut++) {
    const rebuilt = replay(events.slice(0, cut))!;
    let state: PanelState = { plans: { [rebuilt.plan.planId]: rebuilt }, current: rebuilt.plan.planId };
    for (const event of events) state = fold(state, event).state;
    expect(currentView(state)).toEqual(whole);
  }
});

test.each(recorded)("%s: every event is known and well formed", (_, { events }) => {
  for (const event of events) {
    expect(isEvent(event)).toBe(true);
    expect(EVENTS).toContain(event.type);
  }
  expect(events.reduce((state: PanelState, event) => fold(state, event).state, EMPTY).current).toBe(events[0]?.planId);
});
