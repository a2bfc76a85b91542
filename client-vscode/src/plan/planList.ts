// The list of all plans: what the ledger has, with what this window knows of those that it follows.

import type { PlanSummary, PlanView } from "../protocol";
import type { PanelState } from "./views";

export const FILTERS = ["all", "waiting", "open", "ended"] as const;
export type Filter = (typeof FILTERS)[number];

/** One plan of the list: `waits` if it waits for the user. `updatedAt` is its last change. */
export interface ListedPlan
  extends Pick<PlanSummary, "planId" | "request" | "status" | "sign" | "state" | "live" | "progress" | "updatedAt"> {
  readonly waits: boolean;
}

/** All plans: those that wait for the user, then those that have not ended, then the others; each newest first. */
export function listed(summaries: readonly PlanSummary[], { plans }: PanelState): readonly ListedPlan[] {
  const found = new Map<string, ListedPlan>(summaries.map((each) => [each.planId, { ...each, waits: false }]));
  for (const view of Object.values(plans))
    found.set(view.plan.planId, ofView(view, found.get(view.plan.planId)?.updatedAt));
  const rank = ({ waits, live }: ListedPlan): number => (waits ? 0 : live ? 1 : 2);
  return [...found.values()].sort(
    (one, other) => rank(one) - rank(other) || other.updatedAt.localeCompare(one.updatedAt),
  );
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
  return { all: true, waiting: waits, open: live, ended: !live }[filter];
}

function ofView({ plan, sign, state, waits, live, progress }: PlanView, updatedAt: string | undefined): ListedPlan {
  const { planId, request, status, completedAt, createdAt } = plan;
  const known = { planId, request, status, live, progress, updatedAt: updatedAt ?? completedAt ?? createdAt };
  return live && waits !== undefined
    ? { ...known, sign: "waiting", state: waits, waits: true }
    : { ...known, sign, state, waits: false };
}
