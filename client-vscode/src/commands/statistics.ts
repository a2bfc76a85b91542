// The figures of all ended plans as a Markdown text: how plans went, and what they have used of models.

import type { Spent, StatsResult } from "../protocol";
import { costOf, total } from "../webview/plan/spent";
import { duration, money } from "../webview/text/format";
import { plain } from "../webview/text/hiddenCharacters";
import { number, percent, plural, t } from "../words";

/** The figures in a few words, then by model, and by day with the last one first. */
export function statistics(stats: StatsResult): string {
  const { plans, steps, undone, costs } = stats;
  const words: Readonly<Record<string, string>> = {
    completed: t("Done"),
    failed: t("Failed"),
    cancelled: t("Cancelled"),
    rejected: t("Rejected"),
  };
  const ways = Object.entries(stats.statuses).map(
    ([status, count]) => `- ${words[status] ?? status}: ${number(count)} (${percent((100 * count) / plans)})`,
  );
  const models = stats.models.map((use) => {
    const cost = costs[use.model];
    return row([use.model], { ...use, models: [use], costs: cost === undefined ? {} : { cost } });
  });
  const days = stats.days.map((day) => row([day.day, number(day.plans), number(day.completed)], day)).reverse();
  const parts =
    plans === 0
      ? [t("No plan has ended yet.")]
      : [
          [
            `- ${plural(plans, "1 plan", "{0} plans")}, ${plural(steps, "1 step done", "{0} steps done")}`,
            ...ways,
            `- ${t("Undone, whole or in part: {0}", percent(undone ?? 0))}`,
          ].join("\n"),
          table([t("Model")], [row([t("All models")], stats), ...models]),
          table([t("Day"), t("Plans"), t("Completed")], days),
          ...(costOf(stats) === undefined ? [t("The setting planloom.model.prices says what your models cost.")] : []),
        ];
  const kept = t("Counted from the plans on this machine, of all folders. These figures are sent nowhere.");
  return [`# ${t("Statistics")}`, ...parts, kept].join("\n\n").concat("\n");
}

/** What was used, after the cells that name it. */
function row(names: readonly string[], { usage, models, costs }: Spent): readonly string[] {
  const { requests, promptTokens, completionTokens, cachedTokens } = usage;
  const cost = costOf({ costs });
  return [
    ...names.map((name) => plain(name).replaceAll("|", "¦")),
    ...[requests, promptTokens, completionTokens, cachedTokens ?? 0].map((count) => number(count)),
    duration(1000 * total(models.map(({ seconds }) => seconds))),
    cost === undefined ? "" : money(cost),
  ];
}

function table(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = [t("Requests"), t("Tokens read"), t("Tokens written"), t("From the cache"), t("Waited"), t("Cost")];
  const head = [...names, ...used];
  const rule = head.map((_, index) => (index === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
