import { beforeEach, expect, test, vi } from "vitest";

import type { Ctx } from "../src/ctx";
import type { CommandRule } from "../src/protocol";

/** An editor in which the user leaves those items of a list checked that have these labels, or closes the list. */
const editor = vi.hoisted(() => ({ kept: [] as string[] | undefined, shown: [] as unknown[] }));
vi.mock("vscode", () => ({
  Uri: { parse: (uri: string) => uri },
  workspace: { asRelativePath: (uri: string) => uri.split("/").at(-1) },
  window: {
    showQuickPick: (items: { label: string; description: string; detail: string }[]) => {
      editor.shown = items.map(({ label, description, detail }) => [label, description, detail]);
      return Promise.resolve(editor.kept && items.filter(({ label }) => editor.kept?.includes(label)));
    },
  },
}));
const { showRules } = await import("../src/commands/rules");

const rule = (text: string): CommandRule => ({ folder: "file:///work/app", text, line: "Confined: no network." });
let rules: CommandRule[];
let told: string[];
const ctx = {
  ask: (method: string, { text }: { text: string }) => {
    if (method === "planloom/rules/revoke") rules = rules.filter((each) => each.text !== text);
    return Promise.resolve({ rules });
  },
  notify: (_: string, words: string) => void told.push(words),
} as unknown as Ctx;

beforeEach(() => {
  rules = [rule("git commit …"), rule("pytest …")];
  told = [];
});

test.each([
  ["one that is unchecked is taken back", ["pytest …"], ["pytest …"], ["1 command is asked again."]],
  ["what stays checked stays allowed", ["git commit …", "pytest …"], ["git commit …", "pytest …"], []],
  ["a list that is closed changes nothing", undefined, ["git commit …", "pytest …"], []],
  ["all of them", [], [], ["2 commands are asked again."]],
])("the allowed commands of the open folders are a list: %s", async (_, kept, left, words) => {
  editor.kept = kept;
  await showRules(ctx);
  expect(editor.shown).toEqual([
    ["git commit …", "app", "Confined: no network."],
    ["pytest …", "app", "Confined: no network."],
  ]);
  expect(rules.map(({ text }) => text)).toEqual(left);
  expect(told).toEqual(words);
});

test("without an allowed command there is no list", async () => {
  rules = [];
  await showRules(ctx);
  expect(told).toEqual(["No command is allowed in this folder without a question."]);
});
