// What becomes of a new request: the mode that the user has chosen, the server's verdict on the very text, and its keys.

import type { Mode } from "../../panel/messages";
import type { DetectResult } from "../../protocol";
import { t } from "../../words";

/** What the rules say of one text. `typing` numbers the text; `planned` also follows the setting for unsure cases. */
export interface Verdict {
  readonly typing: number;
  readonly detection: DetectResult;
  readonly planned: boolean;
}

interface Choice {
  readonly mode: Mode;
  readonly label: () => string;
  readonly icon: string;
  readonly hint: () => string;
}

/** The modes in the order in which the key goes through them. */
export const CHOICES: readonly [Choice, ...Choice[]] = [
  {
    mode: "auto",
    label: () => t("Auto"),
    icon: "sparkle",
    hint: () => t("Small requests run directly, larger ones become a plan."),
  },
  {
    mode: "plan",
    label: () => t("Plan"),
    icon: "checklist",
    hint: () => t("Every request becomes a plan that you review."),
  },
  {
    mode: "direct",
    label: () => t("Direct"),
    icon: "zap",
    hint: () => t("Every request runs at once; you are still asked about changes."),
  },
  {
    mode: "perspectives",
    label: () => t("Perspectives"),
    icon: "organization",
    hint: () => t("Strategy, code and operations look at every request before it is planned."),
  },
];

export function choiceOf(mode: Mode): Choice {
  return CHOICES.find((each) => each.mode === mode) ?? CHOICES[0];
}

/** The mode after this one, which the key chooses. */
export function nextMode(mode: Mode): Mode {
  return (CHOICES[CHOICES.indexOf(choiceOf(mode)) + 1] ?? CHOICES[0]).mode;
}

/** The mode that sends a request the other way, direct or planned; undefined until its verdict is known. */
export function otherWay(mode: Mode, verdict: Verdict | undefined, typing: number): Mode | undefined {
  if (mode !== "auto") return mode === "direct" ? "plan" : "direct";
  if (verdict?.typing !== typing) return undefined;
  return verdict.planned ? "direct" : "plan";
}
