import { afterEach, expect, test } from "vitest";

import { explanation, mendLabel } from "../src/models/mends";
import { ollamaIsInstalled, ollamaState } from "../src/models/ollama";
import { MENDS, type ModelEntry } from "../src/protocol";
import { speak } from "../src/words";

afterEach(() => speak("en", {}));

test("until when a server wants to be left alone is told by the user's clock", () => {
  const busy = { words: "It takes no more requests now.", mends: [] };
  expect(explanation(busy)).toBe("It takes no more requests now.");
  expect(explanation({ ...busy, until: "2026-05-01T12:01:30Z" })).toMatch(
    /^It takes no more requests now\. .* until .*\d:\d{2}:\d{2}/,
  );
});

test("each mend has a label of its own", () => {
  expect(new Set(MENDS.map(mendLabel)).size).toBe(MENDS.length);
});

const entry = (more: Partial<ModelEntry>): ModelEntry => ({
  provider: "ollama",
  title: "Ollama",
  name: "",
  reachable: false,
  ...more,
});

test.each([
  [[entry({ name: "tiny", reachable: true })], true, "ready"],
  [[entry({ cause: "no_models" })], true, "noModel"],
  [[entry({ cause: "no_models" })], false, "noModel"],
  [[entry({ cause: "unreachable" })], true, "notRunning"],
  [[], true, "notRunning"],
  [[], false, "notInstalled"],
  [[entry({ provider: "openai", reachable: true })], false, "notInstalled"],
] as const)("Ollama with %j, installed %s: %s", (models, isInstalled, state) => {
  expect(ollamaState(models, isInstalled)).toBe(state);
});

test("Ollama is looked for in the absolute folders of PATH", () => {
  const has = (path: string) => (each: string) => each === path;
  expect(ollamaIsInstalled({ PATH: "relative:/opt/tools" }, has("/opt/tools/ollama"))).toBe(true);
  expect(ollamaIsInstalled({ PATH: "relative:/opt/tools" }, has("relative/ollama"))).toBe(false);
});
