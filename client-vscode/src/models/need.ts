// Whether a request can be sent: a model is set up, or the user has chosen to go on without one.

import type { Ctx } from "../ctx";

/**
 * Look for a model if none is set up. Where none is found the request is held: its text stays in the composer, and the
 * panel shows the ways to a model. A person has asked for it, so the servers of this machine may be asked.
 */
export async function modelAtHand(ctx: Ctx): Promise<boolean> {
  if (ctx.server.kind !== "running" || ctx.server.needsModel === undefined) return true;
  const found = await ctx.ask("planloom/model/list", { select: true });
  if (found?.active == null) return false;
  const isFound = found.active.provider !== "embedded";
  await ctx.hold(!isFound);
  return isFound;
}
