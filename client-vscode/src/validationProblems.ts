// Formats the validation problems of an error, one line each.

import { t } from "./words";

const SHOWN = 6;

/** One line for each problem. */
export function problemLines(details: unknown): readonly string[] {
  if (!Array.isArray(details)) return [];
  const lines = details.flatMap((each: unknown) => {
    if (typeof each !== "object" || each === null || !("problem" in each) || typeof each.problem !== "string")
      return [];
    // The sentence about a step names the step, its tool and the argument.
    if ("stepId" in each && typeof each.stepId === "string" && each.stepId !== "") return [each.problem];
    const field = "field" in each && typeof each.field === "string" ? each.field : "";
    return [field === "" ? each.problem : `${field}: ${each.problem}`];
  });
  const left = lines.length - SHOWN;
  return left > 0 ? [...lines.slice(0, SHOWN), t("and {0} more", left)] : lines;
}
