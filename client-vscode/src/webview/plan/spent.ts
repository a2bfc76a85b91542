// What models have cost.

import type { Spent } from "../../protocol";

/** The cost of all models that have a price; undefined if none has one. */
export function costOf({ costs }: Pick<Spent, "costs">): number | undefined {
  const known = Object.values(costs);
  return known.length === 0 ? undefined : total(known);
}

/** The sum of some numbers. */
export function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
