// How long each step has worked: the time between its events, less the time that it waited for the user or another step.

import type { Event, Step } from "../protocol";

/** When a step's attempt began, how long it has waited since, and what it waits for now. */
interface Clock {
  startedAt: string;
  waitedMs: number;
  open: readonly string[];
  since?: string;
}

/** The clocks of a plan's steps, by the ids of the steps. */
export type Clocks = Readonly<Record<string, Clock>>;

/** The clocks after an event. */
export function foldClocks(clocks: Clocks, event: Event): Clocks {
  switch (event.type) {
    case "task_started":
      return { ...clocks, [event.taskId]: { startedAt: event.at, waitedMs: 0, open: [] } };
    case "approval_request":
      return event.approval.stepId == null
        ? clocks
        : opened(clocks, event.approval.stepId, `approval ${event.approval.approvalId}`, event.at);
    case "approval_resolved":
      return closed(clocks, `approval ${event.approvalId}`, event.at);
    case "edit_conflict":
      return opened(clocks, event.conflict.stepId, `conflict ${event.conflict.editId}`, event.at);
    case "conflict_resolved":
      return closed(clocks, `conflict ${event.editId}`, event.at);
    case "clarification_request":
      return opened(clocks, event.taskId, `question ${event.taskId}`, event.at);
    case "clarification_provided":
      return closed(clocks, `question ${event.taskId}`, event.at);
    default:
      return clocks;
  }
}

/** The clocks when these steps, and no others, wait for what another step uses. */
export function foldResourceWaits(clocks: Clocks, stepIds: readonly string[], at: string): Clocks {
  const key = (stepId: string): string => `resource ${stepId}`;
  const over = Object.keys(clocks).filter((id) => clocks[id]?.open.includes(key(id)) && !stepIds.includes(id));
  const closedNow = over.reduce((after, id) => closed(after, key(id), at), clocks);
  return stepIds.reduce((after, id) => opened(after, id, key(id), at), closedNow);
}

/** How long the step's last attempt has worked, in milliseconds; undefined while it has not begun. */
export function workedMs(clocks: Clocks, step: Step, now: number): number | undefined {
  const clock = clocks[step.stepId];
  const waited = clock?.waitedMs ?? 0;
  if (step.result != null) return Math.max(0, step.result.durationMs - waited);
  if (step.status !== "running" && step.status !== "needs_clarification") return undefined;
  const startedAt = clock?.startedAt ?? step.startedAt;
  if (startedAt == null) return undefined;
  const end = clock?.since === undefined ? now : Date.parse(clock.since);
  return Math.max(0, end - Date.parse(startedAt) - waited);
}

function opened(clocks: Clocks, stepId: string, key: string, at: string): Clocks {
  const clock = clocks[stepId];
  if (clock === undefined || clock.open.includes(key)) return clocks;
  return { ...clocks, [stepId]: { ...clock, open: [...clock.open, key], since: clock.since ?? at } };
}

function closed(clocks: Clocks, key: string, at: string): Clocks {
  const found = Object.entries(clocks).find(([, clock]) => clock.open.includes(key));
  if (found === undefined) return clocks;
  const [stepId, { since, ...clock }] = found;
  const open = clock.open.filter((each) => each !== key);
  const after: Clock =
    open.length > 0 || since === undefined
      ? { ...clock, open, ...(since === undefined ? {} : { since }) }
      : { ...clock, open, waitedMs: clock.waitedMs + Math.max(0, Date.parse(at) - Date.parse(since)) };
  return { ...clocks, [stepId]: after };
}
