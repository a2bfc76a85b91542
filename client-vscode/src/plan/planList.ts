// The list of all plans: what the ledger has, with what this window knows of those that it follows.

import type { PlanStatus, PlanSummary, PlanView } from "../protocol";
import type { PanelState } from "./views";

export const FILTERS = ["all", "waiting", "open", "ended"] as const;
export type Filter = (typeof FILTERS)[number];

/** One plan of the list: `waits` if it waits for the user. `at` is its last change. */
export interface ListedPlan {
  readonly planId: string;
  readonly request: string;
  readonly status: PlanStatus;
  readonly sign: PlanView["sign"];
  readonly state: string;
  readonly waits: boolean;
  readonly live: boolean;
  readonly completed: number;
  readonly total: number;
  readonly at: string;
}

/** All plans: those that wait for the user, then those that have not ended, then the others; each newest first. */
export function listed(summaries: readonly PlanSummary[], { plans }: PanelState): readonly ListedPlan[] {
  const found = new Map(summaries.map((summary) => [summary.planId, ofSummary(summary)]));
  for (const view of Object.values(plans)) found.set(view.plan.planId, ofView(view, found.get(view.plan.planId)?.at));
  const rank = ({ waits, live }: ListedPlan): number => (waits ? 0 : live ? 1 : 2);
  return [...found.values()].sort((one, other) => rank(one) - rank(other) || other.at.localeCompare(one.at));
}

/** The plans of a filter whose request has every word of the search, in any case. */
export function matching(plans: readonly ListedPlan[], find: string, filter: Filter): readonly ListedPlan[] {
  const words = find.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return plans.filter((plan) => {
    const text = plan.request.toLocaleLowerCase();
    return isIn(plan, filter) && words.every((word) => text.includes(word));
  });
}

function isIn({ waits, live }: ListedPlan, filter: Filter): boolean {
  switch (filter) {
    case "all":
      return true;
    case "waiting":
      return waits;
    case "open":
      return live;
    case "ended":
      return !live;
  }
}

function ofSummary({ planId, request, status, sign, state, live, progress, updatedAt }: PlanSummary): ListedPlan {
  const { completed, total } = progress;
  return { planId, request, status, sign, state, live, waits: false, completed, total, at: updatedAt };
}

function ofView({ plan, sign, state, waits, live, progress }: PlanView, updatedAt: string | undefined): ListedPlan {
  const { planId, request, status } = plan;
  return {
    planId,
    request,
    status,
    sign: live && waits !== undefined ? "waiting" : sign,
    state: live && waits !== undefined ? waits : state,
    waits: live && waits !== undefined,
    live,
    completed: progress.completed,
    total: progress.total,
    at: updatedAt ?? plan.completedAt ?? plan.createdAt,
  };
}
