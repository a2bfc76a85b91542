// The sign of a step's state, the same in its row and in the graph.

import { STEP_ICON } from "../../plan/signs";
import type { StepStatus, StepView } from "../../protocol";

/** The status of a step, its icon, and what that says: what it waits for, if it waits for a person or a resource. */
export function stepLook({ step, sign, words }: StepView): { status: StepStatus; icon: string; label: string } {
  return { status: sign === "running" ? sign : step.status, icon: STEP_ICON[sign], label: words };
}
