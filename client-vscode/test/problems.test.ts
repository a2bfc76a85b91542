import { afterEach, expect, test } from "vitest";

import { MENDS, mendLabel } from "../src/models/mends";
import { ollamaIsInstalled, ollamaState } from "../src/models/ollama";
import { explained, modelProblem, ofCode } from "../src/models/problems";
import { ERROR_CODES, MODEL_CAUSES, type ModelEntry, type ModelProblem } from "../src/protocol";
import { speak } from "../src/words";

/** What the server tells people at a terminal. */
const TERMINAL = "Set `planloom.model.baseUrl`, or PLANLOOM_API_KEY in the environment.";
const FOR_TERMINALS = /--base-url|planloom\/|`|PLANLOOM_/;
const OPENAI: ModelProblem = {
  cause: "none",
  provider: "openai",
  address: "https://api.example.com",
  model: "small",
  said: "",
};

afterEach(() => speak("en", {}));

test.each(MODEL_CAUSES)("why a model cannot be used, %s: a sentence, and a button that mends it", (cause) => {
  for (const provider of ["openai", "ollama", "editor", ""]) {
    const { message, mends } = modelProblem({ ...OPENAI, provider, cause });
    expect(message).toMatch(/\.$/);
    expect(message).not.toMatch(FOR_TERMINALS);
    expect(mends.length).toBeGreaterThan(0);
  }
});

test.each(MODEL_CAUSES)("why a model without a known address cannot be used, %s, is a sentence, too", (cause) => {
  for (const provider of ["openai", "ollama", "editor", ""]) {
    const { message } = modelProblem({ ...OPENAI, provider, cause, address: "" });
    expect(message).toMatch(/^[A-Z].*\.$/);
    expect(message).not.toMatch(/ The model's server| {2}/);
  }
});

test.each(ERROR_CODES)("the error %s has a sentence of the extension", (code) => {
  const { message } = explained({ code, message: "What the server says.", details: { cause: "busy" } });
  expect(message).not.toBe("What the server says.");
  expect(message).not.toMatch(FOR_TERMINALS);
});

test.each([
  "model_unavailable",
  "model_refused",
  "model_output_invalid",
  "budget_exhausted",
  "context_overflow",
  "internal",
])("no sentence for terminals comes through for %s", (code) => {
  for (const { message } of [explained({ code, message: TERMINAL }), ofCode({ code, message: TERMINAL })])
    expect(message).not.toMatch(FOR_TERMINALS);
});

test("what the server answered and how long to wait are told", () => {
  const busy: ModelProblem = { ...OPENAI, cause: "busy", said: "Slow down.", waitSeconds: 90 };
  const { message, mends } = modelProblem(busy, "2026-05-01T12:00:00Z");
  expect(message).toMatch(/^https:\/\/api\.example\.com takes no more requests now\. .* until .*\d:\d{2}:\d{2}/);
  expect(message).toMatch(/It said: Slow down\.$/);
  expect(mends[0]).toBe("again");
});

test("a wrong key offers to enter one, an Ollama that does not run to start it", () => {
  expect(modelProblem({ ...OPENAI, cause: "key_refused" }).mends[0]).toBe("key");
  expect(modelProblem({ ...OPENAI, provider: "ollama", cause: "unreachable" }).mends[0]).toBe("startOllama");
  expect(modelProblem({ ...OPENAI, provider: "ollama", cause: "no_models" }).mends[0]).toBe("getOllamaModel");
});

test("problems that are listed are not told twice", () => {
  const one = { stepId: "a", problem: "Step 1 has no path." };
  const failure = { code: "invalid_plan", message: "Step 1 has no path." };
  expect(explained({ ...failure, details: [one] }).message).toBe("That is not a valid plan:");
  expect(explained(failure).message).toBe("That is not a valid plan: Step 1 has no path.");
});

test("a reason or a code that only a newer server knows is no reason to fail", () => {
  expect(modelProblem({ ...OPENAI, cause: "new" as "none" }).mends).toContain("models");
  expect(explained({ code: "new_code", message: "Something new." }).message).toBe("Something new.");
  expect(modelProblem(undefined).mends).toContain("again");
});

test("each mend has a label of its own", () => {
  expect(new Set(MENDS.map(mendLabel)).size).toBe(MENDS.length);
});

const entry = (more: Partial<ModelEntry>): ModelEntry => ({
  provider: "ollama",
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
