import { expect, test } from "vitest";

import { EMPTY, fold, withSpent } from "../src/plan/planState";
import type { Spent } from "../src/protocol";
import { spentLines, spentWords } from "../src/webview/plan/spent";
import { Stream } from "./events";

const usage = (requests: number, promptTokens: number, completionTokens: number, cachedTokens?: number) => ({
  requests,
  promptTokens,
  completionTokens,
  ...(cachedTokens === undefined ? {} : { cachedTokens }),
});
const used = new Stream()
  .start()
  .add("model_used", { usage: usage(1, 9_000, 500, 6_000), model: "openai/a" })
  .add("model_used", { usage: usage(2, 500, 0), model: "ollama/b" })
  .events.reduce((state, event) => fold(state, event).state, EMPTY);
const spent: Spent = {
  usage: usage(3, 9_500, 500, 6_000),
  models: [
    { model: "openai/a", usage: usage(1, 9_000, 500, 6_000), seconds: 1 },
    { model: "ollama/b", usage: usage(2, 500, 0), seconds: 1 },
  ],
  costs: { "openai/a": 0.0231 },
};

test("requests of a draft count before its plan is there, and cost what the server says", () => {
  expect(spentWords(used.plans.p1!)).toBe("10.0k tokens · 3 requests");
  const told = withSpent(used, { planId: "p1", spent });
  expect(spentWords(told.plans.p1!)).toBe("2 models · 10.0k tokens · 3 requests · 0.0231");
  const one = withSpent(used, { planId: "p1", spent: { ...spent, models: spent.models.slice(0, 1), costs: {} } });
  expect(spentWords(one.plans.p1!)).toBe("a · 10.0k tokens · 3 requests");
  expect(withSpent(told, { planId: "unknown", spent })).toBe(told);
});

test("the tooltip has what was read, written and cached, and the share of each model", () => {
  const view = withSpent(used, { planId: "p1", spent }).plans.p1!;
  expect(spentLines(view).slice(1)).toEqual([
    "9.5k tokens read (6.0k from the cache), 500 written",
    "At your prices: 0.0231",
    "openai/a: 1 request · 95% · 0.0231",
    "ollama/b: 2 requests · 5%",
  ]);
  expect(spentLines(used.plans.p1!)).toHaveLength(2);
});
