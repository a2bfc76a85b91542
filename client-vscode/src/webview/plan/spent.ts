// What models have cost.

import { total } from "../../plan/figures";
import type { Spent } from "../../protocol";

/** The cost of all models that have a price; undefined if none has one. */
export function costOf({ costs }: Pick<Spent, "costs">): number | undefined {
  const known = Object.values(costs);
  return known.length === 0 ? undefined : total(known);
}
