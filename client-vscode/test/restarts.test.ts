import { expect, test } from "vitest";

import { Restarts } from "../src/connection/restarts";

test("a server that ends five times within three minutes stays ended; one that ends now and then is restarted", () => {
  const often = new Restarts();
  expect([0, 1, 2, 3, 4].map((second) => often.isAllowed(second * 1000))).toEqual([true, true, true, true, false]);
  const seldom = new Restarts();
  expect([0, 1, 2, 3, 4].map((minute) => seldom.isAllowed(minute * 60_000))).toEqual([true, true, true, true, true]);
});
