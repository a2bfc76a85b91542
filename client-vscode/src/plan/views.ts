// The views of plans as the server sends them, with the text that streams in meanwhile. It imports no vscode.

import type { Plan, PlanView as Sent, Step, StepView, StreamParams, ViewParams, ViewPatch } from "../protocol";

/** How many characters of a running answer are kept. */
const STREAM_KEPT = 4000;

type Texts = Readonly<Record<string, string>>;

/** A plan as people see it; its `plan` has its steps too. */
export interface PlanView extends Sent {
  readonly number: number;
  /** What the model has streamed to each step at work; to the draft, under "". */
  readonly streams: Texts;
  /** The end of what the model has written between its calls in each step's last run. */
  readonly words: Texts;
  /** The end of what the commands of each step's last run have printed. */
  readonly printed: Texts;
}

export interface PanelState {
  plans: Readonly<Record<string, PlanView>>;
  current?: string;
}

export const EMPTY: PanelState = { plans: {} };

/** The displayed plan. */
export function currentView(state: PanelState): PlanView | undefined {
  return state.current === undefined ? undefined : state.plans[state.current];
}

/** The views of all plans, that of the displayed one first. */
export function displayedFirst({ plans, current }: PanelState): readonly PlanView[] {
  const isDisplayed = ({ plan }: PlanView): number => Number(plan.planId === current);
  return Object.values(plans).sort((one, other) => isDisplayed(other) - isDisplayed(one));
}

/** The plans that are not displayed and have not ended, newest first. */
export function others(state: PanelState): readonly PlanView[] {
  const views = Object.values(state.plans).filter((view) => view.plan.planId !== state.current && view.live);
  return views.sort((one, other) => other.plan.createdAt.localeCompare(one.plan.createdAt));
}

/** Display another plan. */
export function select(state: PanelState, planId: string | undefined): PanelState {
  return { ...state, current: planId };
}

/** The view of a step; undefined if the plan has none with this id. */
export function stepView(view: PlanView, stepId: string | null | undefined): StepView | undefined {
  return view.steps.find(({ step }) => step.stepId === stepId);
}

/** Whether the server offers a command for the plan as it stands. */
export function offers({ actions }: Pick<PlanView, "actions">, command: string): boolean {
  return actions.some((each) => each.command === command);
}

/** A part of the view of a plan, or text that streams in. */
export type Update = ViewParams | StreamParams;

/** Take an update; `gap` is the id of a plan whose whole view must be asked for first. */
export function withUpdate(state: PanelState, update: Update): { state: PanelState; gap?: string } {
  return "delta" in update ? { state: withStream(state, update) } : withMessage(state, update);
}

/** Take a message about a plan; `gap` is the id of a plan whose whole view must be asked for first. */
export function withMessage(state: PanelState, message: ViewParams): { state: PanelState; gap?: string } {
  const { planId, number, view, patch } = message;
  const known = state.plans[planId];
  if (view != null) {
    const isNew = known === undefined && view.plan.seq === 1;
    const next = withView(state, number, view);
    return { state: isNew ? select(next, planId) : next };
  }
  if (known === undefined || patch == null || number > known.number + 1) return { state, gap: planId };
  if (number <= known.number) return { state };
  return { state: { ...state, plans: { ...state.plans, [planId]: { ...patched(known, patch), number } } } };
}

/** Take the whole view of a plan. */
export function withView(state: PanelState, number: number, view: Sent): PanelState {
  const { planId } = view.plan;
  const before = state.plans[planId];
  const texts = before === undefined ? { streams: {}, words: {}, printed: {} } : textsAfter(before, view);
  return { ...state, plans: { ...state.plans, [planId]: { ...complete(view), ...texts, number } } };
}

/** The state without a plan that was deleted. */
export function withoutPlan({ plans, current }: PanelState, planId: string): PanelState {
  const { [planId]: _, ...others } = plans;
  return current === undefined || current === planId ? { plans: others } : { plans: others, current };
}

/** Append text of a running answer, or what a command prints; the end of each is kept. */
export function withStream(
  state: PanelState,
  { planId = state.current, stepId = "", kind, delta }: StreamParams,
): PanelState {
  const view = planId === undefined ? undefined : state.plans[planId];
  if (view === undefined) return state;
  const added = (texts: Texts): Texts => ({ ...texts, [stepId]: ((texts[stepId] ?? "") + delta).slice(-STREAM_KEPT) });
  const now =
    kind === "stdout" || kind === "stderr"
      ? { ...view, printed: added(view.printed) }
      : { ...view, streams: added(view.streams), words: kind === "text" ? added(view.words) : view.words };
  return { ...state, plans: { ...state.plans, [view.plan.planId]: now } };
}

function patched(view: PlanView, { plan, head, steps = [], order }: ViewPatch): PlanView {
  const byId = new Map([...view.steps, ...steps].map((each) => [each.step.stepId, each]));
  const ids = order ?? view.steps.map(({ step }) => step.stepId);
  const now = complete({
    ...merged(view, head ?? {}),
    plan: merged(view.plan, plan ?? {}),
    steps: ids.flatMap((id) => byId.get(id) ?? []),
  });
  return { ...now, ...textsAfter(view, now) };
}

/** The value with some fields replaced; null leaves one out. */
function merged<T extends object>(value: T, fields: Readonly<Record<string, unknown>>): T {
  return Object.fromEntries(Object.entries({ ...value, ...fields }).filter(([, each]) => each !== null)) as T;
}

function complete<V extends Sent>(view: V): V {
  const steps: readonly Step[] = view.steps.map(({ step }) => step);
  return { ...view, plan: { ...view.plan, steps } satisfies Plan };
}

/** The texts that still stand in the view after this one: a new run of a step begins anew, an ended one streams nothing. */
function textsAfter(before: PlanView, { plan, steps }: Sent): Pick<PlanView, "streams" | "words" | "printed"> {
  const attempts = new Map(before.steps.map(({ step }) => [step.stepId, step.attempts]));
  const begun = steps.filter(({ step }) => (attempts.get(step.stepId) ?? step.attempts) !== step.attempts);
  const atWork = new Set(steps.filter(({ step }) => step.status === "running").map(({ step }) => step.stepId));
  const streams = Object.entries(before.streams).filter(([id]) =>
    id === "" ? plan.status === "draft" : atWork.has(id),
  );
  const kept = (texts: Texts): Texts =>
    begun.length === 0
      ? texts
      : Object.fromEntries(Object.entries(texts).filter(([id]) => !begun.some(({ step }) => step.stepId === id)));
  return { streams: Object.fromEntries(streams), words: kept(before.words), printed: kept(before.printed) };
}
