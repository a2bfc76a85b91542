import { expect, test } from "vitest";

import { Attention } from "../src/plan/attention";
import type { PlanView } from "../src/plan/views";
import { plan, stateOf, step, viewOf } from "./plans";

const waiting = (planId: string, waits: string | undefined, ...causes: string[]): PlanView =>
  viewOf(plan([step("a")], { planId, request: "Tidy [up](command:x)\nall", status: "executing" }), {
    causes,
    ...(waits === undefined ? {} : { waits }),
  });
const running = waiting("p1", undefined);
const asked = (...causes: string[]): PlanView => waiting("p1", "waits for your approval", ...causes);

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
  attention.look(stateOf(running));
  expect(open).toEqual([]);
  attention.look(stateOf(asked("approval x")));
  attention.look(stateOf(asked("approval x")));
  expect(open).toEqual([
    { message: "Planloom waits for your approval.", planId: "p1", title: "Tidy [up] (command:x)" },
  ]);
  attention.look(stateOf(running));
  expect([open.length, shown.length]).toEqual([0, 1]);
});

test("a user who looks at the panel is told nothing, then or when it is hidden", () => {
  const { attention, shown, now } = editor(true);
  attention.look(stateOf(asked("approval x")));
  now.quiet = false;
  attention.look(stateOf(asked("approval x")));
  expect(shown).toEqual([]);
});

test("coming to the panel takes all back; the same cause is not told again, a new one is", () => {
  const { attention, open, shown } = editor();
  attention.look(stateOf(asked("approval x")));
  attention.seen();
  attention.look(stateOf(asked("approval x")));
  expect([open.length, shown.length]).toEqual([0, 1]);
  attention.look(stateOf(asked("approval x", "approval y")));
  expect([open.length, shown.length]).toEqual([1, 2]);
});

test("several plans at once are one notification", () => {
  const { attention, shown } = editor();
  attention.look(stateOf(asked("approval l")));
  expect(shown).toEqual(["Planloom waits for your approval."]);
  const paused = (planId: string) => waiting(planId, "is paused and waits for you", `pause ${planId} unsaved_files`);
  attention.look(stateOf(asked("approval l"), paused("p2"), paused("p3")));
  expect(shown.slice(1)).toEqual(["2 plans wait for you."]);
});

test("the same cause later is a new one", () => {
  const { attention, shown } = editor();
  const paused = waiting("p1", "is paused and waits for you", "pause p1 model_unavailable");
  attention.look(stateOf(paused));
  attention.look(stateOf(running));
  attention.look(stateOf(paused));
  expect(shown.length).toBe(2);
});
