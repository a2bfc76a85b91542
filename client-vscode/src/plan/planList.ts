// The list of all plans: what the ledger has, with what this window knows of those that it follows.

import type { PlanStatus, PlanSummary } from "../protocol";
import { t } from "../words";
import { isLive, LIVE, type PanelState, progressOf } from "./planState";
import type { PlanView } from "./planView";
import { planStatus } from "./statusWords";
import { isPartly, waitingFor } from "./waiting";

export const FILTERS = ["all", "waiting", "open", "ended"] as const;
export type Filter = (typeof FILTERS)[number];

/** One plan of the list. `waits` says in words what it waits for, `at` is its last change. */
export interface ListedPlan {
  readonly planId: string;
  readonly request: string;
  readonly status: PlanStatus;
  readonly partly: boolean;
  readonly waits: string | undefined;
  readonly completed: number;
  readonly total: number;
  readonly at: string;
}

/** All plans: those that wait for the user, then those that have not ended, then the others; each newest first. */
export function listed(summaries: readonly PlanSummary[], { plans }: PanelState): readonly ListedPlan[] {
  const found = new Map(summaries.map((summary) => [summary.planId, ofSummary(summary)]));
  for (const view of Object.values(plans)) found.set(view.plan.planId, ofView(view, found.get(view.plan.planId)?.at));
  const rank = (one: ListedPlan): number => (one.waits !== undefined ? 0 : LIVE.includes(one.status) ? 1 : 2);
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

/** The state of a listed plan, in words. */
export function listedState({ waits, partly, status }: ListedPlan): string {
  return waits ?? (partly ? t("Partly done") : planStatus(status));
}

function isIn({ waits, status }: ListedPlan, filter: Filter): boolean {
  switch (filter) {
    case "all":
      return true;
    case "waiting":
      return waits !== undefined;
    case "open":
      return LIVE.includes(status);
    case "ended":
      return !LIVE.includes(status);
  }
}

function ofSummary({ planId, request, status, progress, updatedAt }: PlanSummary): ListedPlan {
  const { completed, total } = progress;
  const partly = status === "completed" && completed < total;
  return { planId, request, status, partly, waits: undefined, completed, total, at: updatedAt };
}

function ofView(view: PlanView, updatedAt: string | undefined): ListedPlan {
  const { plan } = view;
  const { completed, total } = progressOf(plan);
  return {
    planId: plan.planId,
    request: plan.request,
    status: plan.status,
    partly: isPartly(view),
    waits: isLive(plan) ? waitingFor(view) : undefined,
    completed,
    total,
    at: updatedAt ?? plan.completedAt ?? plan.createdAt,
  };
}
