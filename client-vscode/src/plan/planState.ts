// The state of all plans, as a pure fold of the server's events. It imports no vscode, so recorded streams test it.

import type {
  Event,
  Plan,
  PlanStatus,
  Progress,
  SpentParams,
  Step,
  StepStatus,
  StreamParams,
  WaitsParams,
} from "../protocol";
import { foldResourceWaits } from "./clocks";
import { begun, type ChangedFile, foldView, type PlanView, UNDOABLE, withText } from "./planView";

export interface PanelState {
  plans: Readonly<Record<string, PlanView>>;
  current?: string;
}

/** The state after one event; `gap` is the id of a plan whose missed events must be fetched first. */
interface Folded {
  state: PanelState;
  gap?: string;
}

/** Statuses of a plan that has not ended. */
export const LIVE: readonly PlanStatus[] = ["draft", "pending_approval", "approved", "executing", "paused"];

export const EMPTY: PanelState = { plans: {} };

/** The displayed plan. */
export function currentView(state: PanelState): PlanView | undefined {
  return state.current === undefined ? undefined : state.plans[state.current];
}

/** The plans that are not displayed and have not ended, newest first. */
export function others(state: PanelState): readonly PlanView[] {
  const views = Object.values(state.plans).filter((view) => view.plan.planId !== state.current && isLive(view.plan));
  return views.sort((one, other) => other.plan.createdAt.localeCompare(one.plan.createdAt));
}

/** Display another plan. */
export function select(state: PanelState, planId: string | undefined): PanelState {
  return { ...state, current: planId };
}

/** Fold one event. A known event is ignored; one that came too early reports a gap. */
export function fold(state: PanelState, event: Event): Folded {
  const known = state.plans[event.planId];
  if (known === undefined) {
    if (event.type !== "plan_start" || event.seq !== 1) return { state, gap: event.planId };
    return { state: { plans: { ...state.plans, [event.planId]: begun(event) }, current: event.planId } };
  }
  if (event.seq <= known.folded) return { state };
  if (event.seq > known.folded + 1) return { state, gap: event.planId };
  return { state: { ...state, plans: { ...state.plans, [event.planId]: foldView(known, event) } } };
}

/** Fold the whole history of one plan; undefined if it does not begin with `plan_start`. */
export function replay(events: readonly Event[]): PlanView | undefined {
  const [first, ...rest] = events;
  if (first?.type !== "plan_start") return undefined;
  return rest.reduce((view, event) => (event.seq === view.folded + 1 ? foldView(view, event) : view), begun(first));
}

/** Replace a plan by the snapshot in an answer, unless the snapshot is older. */
export function withPlan(state: PanelState, plan: Plan): PanelState {
  const known = state.plans[plan.planId];
  if (known === undefined || plan.seq < known.plan.seq) return state;
  return { ...state, plans: { ...state.plans, [plan.planId]: { ...known, plan } } };
}

/** Replace a view by one rebuilt from the ledger, unless that is older. */
export function withView(state: PanelState, view: PlanView): PanelState {
  const known = state.plans[view.plan.planId];
  const kept = known !== undefined && known.folded > view.folded ? known : view;
  return { ...state, plans: { ...state.plans, [view.plan.planId]: kept } };
}

/** The state without a plan that was deleted. */
export function withoutPlan({ plans, current }: PanelState, planId: string): PanelState {
  const { [planId]: _, ...others } = plans;
  return current === undefined || current === planId ? { plans: others } : { plans: others, current };
}

/** Append text of a running answer. */
export function withStream(state: PanelState, delta: StreamParams): PanelState {
  const planId = delta.planId ?? state.current;
  const view = planId === undefined ? undefined : state.plans[planId];
  return view === undefined ? state : withView(state, withText(view, delta));
}

/** Set which steps of a plan wait for what another step uses, from this moment on. */
export function withWaits(state: PanelState, { planId, waits }: WaitsParams, at: string): PanelState {
  const view = state.plans[planId];
  if (view === undefined) return state;
  const clocks = foldResourceWaits(
    view.clocks,
    waits.map((wait) => wait.stepId),
    at,
  );
  return withView(state, { ...view, waits, clocks });
}

/** Set what a plan has used of models. */
export function withSpent(state: PanelState, { planId, spent }: SpentParams): PanelState {
  const view = state.plans[planId];
  return view === undefined ? state : withView(state, { ...view, spent });
}

/** Forget the waits of all plans: the server that reported them has ended. */
export function withoutWaits(state: PanelState): PanelState {
  return {
    ...state,
    plans: Object.fromEntries(Object.entries(state.plans).map(([id, view]) => [id, { ...view, waits: [] }])),
  };
}

/** The status of a step, with `blocked` and `ready` computed from its dependencies: no event sets them. */
export function shownStatus(plan: Plan, step: Step): StepStatus {
  if (step.status !== "pending" && step.status !== "blocked" && step.status !== "ready") return step.status;
  if (plan.status !== "executing" && plan.status !== "paused") return "pending";
  const byId = new Map(plan.steps.map((each) => [each.stepId, each.status]));
  if (step.dependsOn.some((id) => byId.get(id) !== "completed")) return "blocked";
  return plan.status === "executing" && !plan.sequential ? "ready" : "pending";
}

/** How many steps have each status; the percentage is rounded down. */
export function progressOf(plan: Plan): Progress {
  const count = (...statuses: readonly StepStatus[]): number =>
    plan.steps.filter((step) => statuses.includes(step.status)).length;
  const total = plan.steps.length;
  const completed = count("completed");
  return {
    total,
    completed,
    pending: count("pending", "blocked", "ready"),
    inProgress: count("running", "needs_clarification"),
    failed: count("failed"),
    skipped: count("skipped"),
    percentComplete: total === 0 ? 0 : Math.floor((completed * 100) / total),
  };
}

/** How many decisions the plan waits for. */
export function attention(plan: Plan): number {
  const { approvals, questions, recoveries, conflicts } = plan.pending;
  return approvals.length + questions.length + recoveries.length + conflicts.length;
}

/** Whether the plan has not ended. */
export function isLive(plan: Plan): boolean {
  return LIVE.includes(plan.status);
}

/** Whether a plan holds work that is lost with it: the user has edited, revised or written it, or it was partly run. */
export function isWorkedOn({ version, author, steps }: Plan): boolean {
  return version > 1 || author === "user" || steps.some(({ status }) => status === "completed");
}

/** Whether the plan has applied edits that its status allows to undo. */
export function isUndoable(view: PlanView): boolean {
  const isTakenBack = ({ state, lasting }: ChangedFile): boolean => state === "applied" && lasting !== true;
  return UNDOABLE.includes(view.plan.status) && view.files.some(isTakenBack);
}

/** Whether a step was undone by itself, so that it can be redone by itself: an undo of the whole plan is taken back as one. */
export function isRedoable({ files, undos }: PlanView, stepId: string): boolean {
  const stepOf = new Map(files.map((file) => [file.editId, file.stepId]));
  return undos.some(({ reverted }) => reverted.length > 0 && reverted.every((editId) => stepOf.get(editId) === stepId));
}
