// What is known of how long a plan will take: the computed duration, the model's word, and the user's earlier plans.

import type { Plan } from "../../protocol";
import { plural, t } from "../../words";
import { duration, money, spent } from "../text/format";

/** The estimates of a plan in words, one line each; none without a computed duration. */
export function estimates(plan: Pick<Plan, "estimatedDuration" | "statedDuration" | "forecast">): readonly string[] {
  if (plan.estimatedDuration == null) return [];
  const lines = [t("Estimated duration: {0}", duration(plan.estimatedDuration * 1000))];
  if (plan.statedDuration != null) lines.push(t("The model says: {0}", duration(plan.statedDuration * 1000)));
  const { forecast } = plan;
  if (forecast != null)
    lines.push(
      plural(
        forecast.plans,
        "Your earlier plan with this model: {1}, {2}",
        "Your {0} earlier plans with this model: {1}, {2}",
        duration(forecast.seconds * 1000),
        spent(forecast),
      ),
    );
  if (forecast?.cost != null) lines.push(t("At your prices: {0}", money(forecast.cost)));
  return lines;
}
