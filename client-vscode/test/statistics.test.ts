import { expect, test } from "vitest";

import { statistics } from "../src/commands/statistics";
import type { StatsResult } from "../src/protocol";

const usage = { requests: 4, promptTokens: 9_000, completionTokens: 1_000, cachedTokens: 6_000 };
const one = { model: "openai/a|b\u200b", usage, seconds: 12.5 };
const other = { model: "ollama/c", usage: { requests: 1, promptTokens: 0, completionTokens: 0 }, seconds: 0 };
const costs = { [one.model]: 0.0231 };
const day = (name: string, plans: number, completed: number) => ({
  day: name,
  plans,
  completed,
  usage,
  models: [one],
  costs,
});
const stats: StatsResult = {
  plans: 5,
  statuses: { completed: 4, failed: 1 },
  authors: { model: 5 },
  steps: 12,
  success: 80,
  undone: 20,
  usage,
  models: [one, other],
  costs,
  days: [day("2030-01-02", 2, 1), day("2030-01-31", 3, 3)],
};

test("the figures are a text with a table by model and one by day, in which a model's name stays in its cell", () => {
  expect(statistics(stats)).toBe(`# Statistics

- 5 plans, 12 steps done
- Done: 4 (80%)
- Failed: 1 (20%)
- Undone, whole or in part: 20%

| Model | Requests | Tokens read | Tokens written | From the cache | Waited | Cost |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| All models | 4 | 9,000 | 1,000 | 6,000 | 13 s | 0.0231 |
| openai/a¦b⟦U+200B⟧ | 4 | 9,000 | 1,000 | 6,000 | 13 s | 0.0231 |
| ollama/c | 1 | 0 | 0 | 0 | 0 ms |  |

| Day | Plans | Completed | Requests | Tokens read | Tokens written | From the cache | Waited | Cost |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 2030-01-31 | 3 | 3 | 4 | 9,000 | 1,000 | 6,000 | 13 s | 0.0231 |
| 2030-01-02 | 2 | 1 | 4 | 9,000 | 1,000 | 6,000 | 13 s | 0.0231 |

Counted from the plans on this machine, of all folders. These figures are sent nowhere.
`);
});

test("without a price the text names the setting, and without plans it says so", () => {
  expect(statistics({ ...stats, costs: {}, days: [] })).toContain("planloom.model.prices");
  expect(statistics({ ...stats, plans: 0, statuses: {}, models: [], days: [] })).toContain("No plan has ended yet.");
});
