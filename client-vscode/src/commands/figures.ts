// The page of the user's figures: opens it in the panel, reads the figures of a time span, writes them into a file.

import type { Ctx } from "../ctx";
import { asCsv, asJson, type Figures, type Span, sinceOf } from "../plan/figures";
import { t } from "../words";
import { exportTarget, isJson, writeAndShow } from "./dialogs";

/** Open the panel with the figures of the last 30 days. */
export async function showFigures(ctx: Ctx): Promise<void> {
  await ctx.panel.reveal();
  await sendFigures(ctx, "30");
}

/** Send the panel the figures of a time span. */
export async function sendFigures(ctx: Ctx, span: Span): Promise<void> {
  const figures = await read(ctx, span);
  if (figures !== undefined) ctx.panel.postWhenReady({ kind: "figures", figures });
}

/** Write the figures of a time span into a file that the user names, as JSON if its name says so, else as CSV. */
export async function exportFigures(ctx: Ctx, span: Span): Promise<void> {
  const filters = { CSV: ["csv"], JSON: ["json"] };
  const target = await exportTarget(t("Export the Statistics"), "planloom-statistics.csv", filters);
  if (target === undefined) return;
  const figures = await read(ctx, span);
  if (figures === undefined) return;
  await writeAndShow(target, isJson(target) ? asJson(figures, new Date()) : asCsv(figures));
}

async function read(ctx: Ctx, span: Span): Promise<Figures | undefined> {
  const since = sinceOf(span, new Date());
  const stats = await ctx.ask("planloom/stats", since === undefined ? {} : { since });
  return stats === undefined ? undefined : { span, stats };
}
