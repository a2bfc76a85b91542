// Formats the validation problems of an error, one line each.

import { t } from "./words";

const SHOWN = 6;

/** One line for each problem; `numberOf` returns the number of a step, 0 if it is unknown. */
export function problemLines(details: unknown, numberOf: (stepId: string) => number): readonly string[] {
  if (!Array.isArray(details)) return [];
  const lines = details.flatMap((each: unknown) => {
    if (typeof each !== "object" || each === null || !("problem" in each) || typeof each.problem !== "string")
      return [];
    const field = "field" in each && typeof each.field === "string" ? each.field : "";
    const step = "stepId" in each && typeof each.stepId === "string" ? numberOf(each.stepId) : 0;
    const where = [step > 0 ? t("Step {0}", step) : "", field].filter((part) => part !== "").join(", ");
    return [where === "" ? each.problem : `${where}: ${each.problem}`];
  });
  const left = lines.length - SHOWN;
  return left > 0 ? [...lines.slice(0, SHOWN), t("and {0} more", left)] : lines;
}
