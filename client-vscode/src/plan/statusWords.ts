// The status of a plan and of a step, in words, and the icon of a plan's: one declaration for the panel, the status bar and the lists.

import type { PlanStatus, StepStatus } from "../protocol";
import { t } from "../words";

/** Codicons; `loading` is to spin. */
export const PLAN_ICON: Readonly<Record<PlanStatus, string>> = {
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

export function planStatus(status: PlanStatus): string {
  switch (status) {
    case "draft":
      return t("Drafting");
    case "pending_approval":
      return t("Ready for review");
    case "approved":
      return t("Starting");
    case "rejected":
      return t("Rejected");
    case "executing":
      return t("Running");
    case "paused":
      return t("Paused");
    case "completed":
      return t("Done");
    case "failed":
      return t("Failed");
    case "cancelled":
      return t("Cancelled");
  }
}

export function stepStatus(status: StepStatus): string {
  switch (status) {
    case "pending":
      return t("not started");
    case "blocked":
      return t("waits for other steps");
    case "ready":
      return t("ready");
    case "running":
      return t("running");
    case "needs_clarification":
      return t("waits for your answer");
    case "completed":
      return t("done");
    case "failed":
      return t("failed");
    case "skipped":
      return t("skipped");
  }
}
