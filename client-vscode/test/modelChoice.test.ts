import { describe, expect, test } from "vitest";

import {
  addressProblem,
  type KeptKey,
  keyProblem,
  keysToSend,
  masked,
  ofEntry,
  WITHOUT,
  withKept,
} from "../src/models/modelChoice";

const HOME: KeptKey = { provider: "openai", baseUrl: "", value: "sk-home" };
const OWN: KeptKey = { provider: "openai", baseUrl: "http://localhost:1/v1", value: "sk-own" };
const entry = (provider: string, name: string) => ({ provider, name, title: "A", reachable: true });

describe("what a choice sets", () => {
  const there = { provider: "auto", baseUrl: "http://localhost:1/v1", name: "a" };

  test("a model of the server at the address keeps it", () => {
    expect(ofEntry(entry("openai", "b"), { provider: "openai" }, there)).toEqual({
      provider: "openai",
      baseUrl: "http://localhost:1/v1",
      name: "b",
    });
  });

  test("a model of another provider leaves the address", () => {
    expect(ofEntry(entry("ollama", "q"), { provider: "openai" }, there)).toEqual({
      provider: "ollama",
      baseUrl: "",
      name: "q",
    });
  });

  test("going on without a model leaves no name behind", () => {
    expect(ofEntry(entry("embedded", "rules"), null, there)).toEqual(WITHOUT);
    expect(WITHOUT.name).toBe("");
  });
});

describe("a key is sent only while the settings give the address that it was entered for", () => {
  test.each([
    ["auto", "", [HOME]],
    ["openai", "", [HOME]],
    ["auto", OWN.baseUrl, [OWN]],
    ["openai", OWN.baseUrl, [OWN]],
    ["auto", "http://localhost:2/v1", []],
    ["anthropic", OWN.baseUrl, [HOME]],
    ["auto", undefined, []],
  ])("%s at %s", (provider, baseUrl, sent) => {
    expect(keysToSend([HOME, OWN], { provider, baseUrl })).toEqual(sent);
  });
});

test("a new key replaces the one for the same provider and address", () => {
  expect(withKept([HOME, OWN], { ...HOME, value: "sk-new" })).toEqual([OWN, { ...HOME, value: "sk-new" }]);
});

test("no key is written to the trace", () => {
  expect(masked('{"value":"sk-home"} and sk-own', ["sk-home", "sk-own"])).toBe('{"value":"[key]"} and [key]');
});

test.each([
  ["http://localhost:8080/v1", true],
  [" https://models.example.com ", true],
  ["localhost:8080", false],
  ["ftp://localhost", false],
  ["http://me:secret@localhost", false],
  ["http://localhost/?key=1", false],
])("the address %s", (text, fits) => {
  expect(addressProblem(text) === undefined).toBe(fits);
});

test("a key holds no spaces", () => {
  expect(keyProblem(" sk-1 ")).toBeUndefined();
  expect(keyProblem("sk 1")).toBeDefined();
  expect(keyProblem("")).toBeDefined();
});
