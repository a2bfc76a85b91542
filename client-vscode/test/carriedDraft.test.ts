import { expect, test } from "vitest";
import type { Memento } from "vscode";

import { leaveDraft, takeDraft } from "../src/carriedDraft";

function memento(): Memento {
  const kept = new Map<string, unknown>();
  return {
    keys: () => [...kept.keys()],
    get: (key: string) => kept.get(key),
    update: (key: string, value: unknown) => Promise.resolve(void kept.set(key, value)),
  } as Memento;
}

test("a draft is taken by the next window, once, and not much later", async () => {
  const state = memento();
  expect(await takeDraft(state, 0)).toBeUndefined();
  await leaveDraft(state, "Build it", 1000);
  await leaveDraft(state, " ", 2000);
  expect([await takeDraft(state, 60_000), await takeDraft(state, 60_000)]).toEqual(["Build it", undefined]);
  await leaveDraft(state, "Build it", 1000);
  expect([await takeDraft(state, 3_600_000), await takeDraft(state, 1000)]).toEqual([undefined, undefined]);
});
