// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test, vi } from "vitest";

import { readFromPanel, readToPanel } from "../src/panel/messages";
import { asCsv, asJson, bars, type Figures, sinceOf } from "../src/plan/figures";
import type { DayStats, StatsResult } from "../src/protocol";
import { figuresPage } from "../src/webview/figures/figuresPage";
import { createPanel } from "../src/webview/ui";
import { freshUi, taken } from "../src/webview/uiState";

const NOW = new Date(2030, 0, 31, 15, 0);
const usage = { requests: 4, promptTokens: 9_000, completionTokens: 1_000, cachedTokens: 6_000 };
const use = { model: 'openai/"a"', usage, seconds: 12.5 };
const day = (name: string, plans: number, completed: number): DayStats => ({
  day: name,
  plans,
  completed,
  usage,
  models: [use],
  costs: {},
});
const stats: StatsResult = {
  plans: 5,
  statuses: { completed: 4, failed: 1 },
  authors: { model: 5 },
  steps: 12,
  success: 80,
  undone: 20,
  usage,
  models: [use, { model: "=b", usage: { requests: 1, promptTokens: 0, completionTokens: 0 }, seconds: 0 }],
  costs: { 'openai/"a"': 0.0231 },
  days: [day("2030-01-02", 2, 1), day("2030-01-31", 3, 3)],
};
const figures: Figures = { span: "30", stats };

test("a span begins at midnight of its first day", () => {
  expect(sinceOf("7", NOW)).toBe(new Date(2030, 0, 25).toISOString());
  expect(sinceOf("all", NOW)).toBeUndefined();
});

test("each day has a bar, or several days have one where there are many", () => {
  const days = bars("30", stats.days, NOW);
  expect([days.length, days[0], days.at(-1)]).toEqual([
    30,
    { from: "2030-01-02", to: "2030-01-02", plans: 2, completed: 1 },
    { from: "2030-01-31", to: "2030-01-31", plans: 3, completed: 3 },
  ]);
  expect(bars("90", stats.days, NOW).map(({ plans }) => plans)).toHaveLength(30);
  const years = bars("all", [day("2028-01-01", 1, 1), ...stats.days], NOW);
  expect(years.length).toBeLessThanOrEqual(31);
  expect([years[0]?.plans, years.at(-1)?.to]).toEqual([1, "2030-01-31"]);
  expect(years.reduce((sum, { plans }) => sum + plans, 0)).toBe(6);
  expect(bars("all", [], NOW)).toEqual([]);
});

test("an export has a line for each day and model, and no formula", () => {
  const [head, first] = asCsv(figures).split("\r\n");
  expect(head).toBe("day,model,requests,promptTokens,completionTokens,cachedTokens,seconds,cost");
  expect(first).toBe('2030-01-02,"openai/""a""",4,9000,1000,6000,12.5,');
  const formula = { ...stats, days: [{ ...day("2030-01-02", 1, 1), models: [{ ...use, model: "=b" }] }] };
  expect(asCsv({ span: "all", stats: formula })).toContain(`,"'=b",`);
  expect(JSON.parse(asJson(figures, NOW))).toMatchObject({ since: sinceOf("30", NOW), plans: 5 });
});

test("the page shows the figures, asks for another span and for an export", () => {
  const post = vi.fn();
  const panel = createPanel(taken(freshUi(undefined), { kind: "figures", figures }, { plans: {} }), {
    post,
    changed: () => undefined,
  });
  const root = document.createElement("div");
  render(figuresPage(panel, NOW), root);
  const text = root.textContent?.replaceAll(/\s+/g, " ") ?? "";
  for (const words of ["80%", "1 failed", "10.0k", "0.0231", "6.0k from the cache", "These figures are sent nowhere"])
    expect(text).toContain(words);
  expect(root.querySelector(".model-uses li svg")?.getAttribute("aria-label")).toBe("100% of the tokens");
  expect(root.querySelector("#set-prices")).toBeNull();
  root.querySelector<HTMLElement>('button[aria-label="Export…"]')!.click();
  expect(post).toHaveBeenCalledWith({ kind: "exportFigures", span: "30" });
  const select = root.querySelector<HTMLElement & { value: string }>("#span")!;
  select.value = "7";
  select.dispatchEvent(new Event("change"));
  expect(post).toHaveBeenLastCalledWith({ kind: "figures", span: "7" });
  root.querySelector<HTMLElement>('button[aria-label="Back"]')!.click();
  expect(panel.ui.figures).toBeUndefined();
});

test("a page takes the place of another, and messages name a span that there is", () => {
  const list = taken(freshUi(undefined), { kind: "plans", plans: [] }, { plans: {} });
  const open = taken(list, { kind: "figures", figures }, { plans: {} });
  expect([open.list, open.figures?.span]).toEqual([undefined, "30"]);
  expect(taken(open, { kind: "plans", plans: [] }, { plans: {} }).figures).toBeUndefined();
  expect(readToPanel({ kind: "figures", figures })).toBeDefined();
  expect(readFromPanel({ kind: "figures", span: "8" })).toBeUndefined();
});
