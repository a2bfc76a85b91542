// The icons of the signs that a plan and its steps have: one declaration for the panel, the status bar and the lists.

import type { PlanStatus, PlanView, StepView } from "../protocol";

/** Codicons; `loading` is to spin. */
export const PLAN_ICON: Readonly<Record<PlanView["sign"] | PlanStatus, string>> = {
  waiting: "bell-dot",
  undone: "discard",
  partly: "warning",
  stalled: "watch",
  draft: "loading",
  pending_approval: "checklist",
  approved: "loading",
  executing: "loading",
  paused: "debug-pause",
  completed: "pass",
  failed: "error",
  cancelled: "circle-slash",
  rejected: "thumbsdown",
};

export const STEP_ICON: Readonly<Record<StepView["sign"], string>> = {
  pending: "circle-large-outline",
  blocked: "circle-large-outline",
  ready: "circle-large",
  running: "loading",
  needs_clarification: "question",
  completed: "pass-filled",
  failed: "error",
  skipped: "debug-step-over",
  waiting: "bell-dot",
  stalled: "watch",
  unchanged: "dash",
  warning: "warning",
  undone: "discard",
};
