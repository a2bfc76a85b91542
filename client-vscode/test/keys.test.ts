import { expect, test } from "vitest";

import { Keys } from "../src/models/keys";

const KEY = { provider: "openai", baseUrl: "", value: "sk-home" };

/** A secret storage that holds this text; while it is `locked` nothing can be read. */
function storageOf(stored: string | undefined, locked = false) {
  const state = { stored, locked };
  const storage = {
    get: () => (state.locked ? Promise.reject(new Error("The keyring is locked")) : Promise.resolve(state.stored)),
    store: (_name: string, text: string) => {
      state.stored = text;
      return Promise.resolve();
    },
    delete: () => Promise.resolve(),
    keys: () => Promise.resolve([]),
    onDidChange: () => ({ dispose: () => undefined }),
  };
  return { state, storage };
}

test.each([
  ["a storage that is locked", JSON.stringify([KEY]), true],
  ["a storage that holds something else", "{", false],
])("%s has no keys to show or send", async (_, stored, locked) => {
  expect(await new Keys(storageOf(stored, locked).storage).all()).toEqual([]);
});

test("what a locked storage holds is not overwritten by a new key", async () => {
  const { state, storage } = storageOf(JSON.stringify([KEY]), true);
  const keys = new Keys(storage);
  await expect(keys.add({ ...KEY, provider: "anthropic" })).rejects.toThrow("The keyring is locked");
  await expect(keys.remove(KEY)).rejects.toThrow("The keyring is locked");
  state.locked = false;
  expect(await keys.all()).toEqual([KEY]);
});
