// The user's figures of ended plans: time spans, the bars of the chart, and the texts of an export.

import type { DayStats, StatsResult } from "../protocol";

/** Time spans by their number of days, including today; `all` has no beginning. */
export const SPANS = ["7", "30", "90", "all"] as const;
export type Span = (typeof SPANS)[number];

/** The figures of a span, as the server counted them. */
export interface Figures {
  readonly span: Span;
  readonly stats: StatsResult;
}

/** The plans that were created from the day `from` to the day `to`. */
export interface Bar {
  readonly from: string;
  readonly to: string;
  readonly plans: number;
  readonly completed: number;
}

const MOST_BARS = 31;
const DAY_MS = 86_400_000;

/** When a span begins: at midnight of its first day; undefined for `all`. */
export function sinceOf(span: Span, now: Date): string | undefined {
  if (span === "all") return undefined;
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - Number(span) + 1).toISOString();
}

/** A bar for each day of a span until today, or for as many days as make at most 31 bars; none without plans. */
export function bars(span: Span, days: readonly DayStats[], now: Date): readonly Bar[] {
  const first = days[0];
  if (first === undefined) return [];
  const today = Date.UTC(now.getFullYear(), now.getMonth(), now.getDate());
  const last = Math.max(today, midnight(days.at(-1)?.day ?? first.day));
  const count = span === "all" ? (last - midnight(first.day)) / DAY_MS + 1 : Number(span);
  const width = Math.ceil(count / MOST_BARS);
  const start = last - (count - 1) * DAY_MS;
  return Array.from({ length: Math.ceil(count / width) }, (_, index) => {
    const from = start + index * width * DAY_MS;
    const to = Math.min(from + (width - 1) * DAY_MS, last);
    const within = days.filter(({ day }) => midnight(day) >= from && midnight(day) <= to);
    return {
      from: isoDay(from),
      to: isoDay(to),
      plans: total(within.map((day) => day.plans)),
      completed: total(within.map((day) => day.completed)),
    };
  });
}

/** The sum of some numbers. */
export function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The figures as JSON, with the span that they are of. */
export function asJson({ span, stats }: Figures, now: Date): string {
  const since = sinceOf(span, now);
  return `${JSON.stringify({ ...(since === undefined ? {} : { since }), until: now.toISOString(), ...stats }, null, 2)}\n`;
}

/** The use of each model on each day as a table, for a spreadsheet. */
export function asCsv({ stats }: Figures): string {
  const head = ["day", "model", "requests", "promptTokens", "completionTokens", "cachedTokens", "seconds", "cost"];
  const rows = stats.days.flatMap(({ day, models, costs }) =>
    models.map(({ model, usage, seconds }) => [
      day,
      field(model),
      usage.requests,
      usage.promptTokens,
      usage.completionTokens,
      usage.cachedTokens ?? 0,
      seconds,
      costs[model] ?? "",
    ]),
  );
  return [head, ...rows].map((row) => `${row.join(",")}\r\n`).join("");
}

/** A text in quotes; a spreadsheet takes none for a formula. */
function field(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${plain.replaceAll('"', '""')}"`;
}

/** When a day begins in UTC, in milliseconds since 1970. */
function midnight(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
