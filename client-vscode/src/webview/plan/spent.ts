// What a plan has used of models so far: a few words for its line of figures, and lines with each model's share.

import type { PlanView } from "../../plan/planView";
import type { Spent, Usage } from "../../protocol";
import { percent, plural, t } from "../../words";
import { amount, money, spent, tokenCount } from "../text/format";

/** `gpt · 13.2k tokens · 3 requests · 0.0231`; empty before the first request. */
export function spentWords({ plan, spent: known }: PlanView): string {
  const cost = known === undefined ? undefined : costOf(known);
  const [first, ...others] = known?.models ?? [];
  const name = others.length > 0 ? t("{0} models", others.length + 1) : (first?.model.replace(/^[^/]*\//, "") ?? "");
  return [name, spent(plan.usage), cost === undefined ? "" : money(cost)].filter(Boolean).join(" · ");
}

/** What the words leave out, one line each: tokens read, written and cached, the cost, and of several models each one. */
export function spentLines({ plan, spent: known }: PlanView): readonly string[] {
  const lines = [t("Tokens and model requests so far"), tokens(plan.usage)];
  if (known === undefined) return lines;
  const cost = costOf(known);
  if (cost !== undefined) lines.push(t("At your prices: {0}", money(cost)));
  return [...lines, ...shares(known)];
}

/** The cost of all models that have a price; undefined if none has one. */
export function costOf({ costs }: Pick<Spent, "costs">): number | undefined {
  const known = Object.values(costs);
  return known.length === 0 ? undefined : total(known);
}

/** The sum of some numbers. */
export function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** `12.3k tokens read (8k from the cache), 900 written`. */
function tokens({ promptTokens, completionTokens, cachedTokens }: Usage): string {
  const [read, written] = [amount(promptTokens), amount(completionTokens)];
  return cachedTokens == null
    ? t("{0} tokens read, {1} written", read, written)
    : t("{0} tokens read ({1} from the cache), {2} written", read, amount(cachedTokens), written);
}

function shares({ models, costs }: Spent): readonly string[] {
  const counts = models.map(({ usage }) => tokenCount(usage));
  const whole = total(counts);
  if (models.length === 1) return models.map(({ model }) => model);
  return models.map(({ model, usage }, index) => {
    const cost = costs[model];
    const share = whole === 0 ? "" : percent((100 * (counts[index] ?? 0)) / whole);
    const words = [plural(usage.requests, "1 request", "{0} requests"), share, cost === undefined ? "" : money(cost)];
    return `${model}: ${words.filter(Boolean).join(" · ")}`;
  });
}
