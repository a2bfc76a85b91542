// The sign of a step's state, the same in its row and in the graph.

import { isUnderWay } from "../../plan/loops";
import { shownStatus } from "../../plan/planState";
import type { PlanView } from "../../plan/planView";
import { stepStatus } from "../../plan/statusWords";
import { resourceOf, resourceWords, waitOf, waitWords } from "../../plan/waiting";
import type { Step, StepStatus } from "../../protocol";
import { t } from "../../words";
import { STEP_ICON } from "../text/format";

/** The status of a step, its icon, and what that says: what it waits for, if it waits for a person or a resource. */
export function stepLook(view: PlanView, step: Step): { status: StepStatus; icon: string; label: string } {
  const status = isUnderWay(view.plan, step) ? "running" : shownStatus(view.plan, step);
  const wait = waitOf(view.plan, step.stepId);
  if (wait !== undefined) return { status, icon: wait === "recovery" ? "error" : "bell-dot", label: waitWords(wait) };
  const resource = resourceOf(view, step.stepId);
  if (resource !== undefined) return { status, icon: "watch", label: resourceWords(resource) };
  if (step.result?.caveat === "unchanged") return { status, icon: "dash", label: t("nothing to change") };
  if (step.result?.caveat === "unchecked") return { status, icon: "warning", label: t("not checked") };
  if (step.result?.caveat === "command_failed") return { status, icon: "warning", label: t("its last command failed") };
  return { status, icon: STEP_ICON[status], label: stepStatus(status) };
}
