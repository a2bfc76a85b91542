import { expect, test } from "vitest";

import { estimates } from "../src/webview/plan/estimate";

const forecast = { plans: 3, seconds: 90, requests: 4, promptTokens: 12_000, completionTokens: 800 };

test("the computed duration stands beside the model's word and earlier plans", () => {
  const lines = estimates({ estimatedDuration: 60, statedDuration: 1200, forecast });
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^Estimated duration: /);
  expect(lines[1]).toMatch(/^The model says: .*20/);
  expect(lines[2]).toMatch(/^Your 3 earlier plans with this model: .*4 requests/);
  expect(estimates({ estimatedDuration: 60 })).toHaveLength(1);
  expect(estimates({ estimatedDuration: 60, forecast: { ...forecast, cost: 0.0231 } })[2]).toBe(
    "At your prices: 0.0231",
  );
  expect(estimates({ forecast })).toEqual([]);
});
