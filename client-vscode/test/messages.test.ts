import { expect, test } from "vitest";

import { isEvent, readFromPanel, readToPanel } from "../src/panel/messages";

const TAKEN: readonly object[] = [
  { kind: "ready" },
  { kind: "create", text: "Build it", mode: "auto" },
  { kind: "message", requestId: 2, planId: "p", text: "use pytest instead" },
  { kind: "approve", planId: "p", version: 3, review: "each" },
  {
    kind: "edit",
    planId: "p",
    version: 1,
    edits: [{ op: "update", stepId: "a", set: { args: { path: "x", deep: [1, { y: null }] } } }],
  },
  { kind: "edit", planId: "p", version: 1, edits: [{ op: "add", after: null, step: { description: "New" } }] },
  { kind: "respond", approvalId: "x", decision: "deny", reason: "no" },
  { kind: "resolve", planId: "p", editId: "e", files: [{ uri: "file:///a", choice: "mine" }] },
  {
    kind: "resolve",
    requestId: 3,
    planId: "p",
    editId: "e",
    files: [{ uri: "file:///a", choice: "both", sha256: "5ee" }],
  },
  { kind: "review", planId: "p", review: "end" },
  { kind: "changes", planId: "p" },
  { kind: "changes", planId: "p", uri: "file:///w/a" },
  { kind: "select", planId: "p" },
  { kind: "setUp", way: "key" },
];
const REFUSED: readonly unknown[] = [
  null,
  "ready",
  {},
  { kind: "unknown" },
  { kind: "ready", more: 1 },
  { kind: "create", text: 5, mode: "auto" },
  { kind: "create", text: "x", mode: "yolo" },
  { kind: "approve", planId: "p" },
  { kind: "approve", planId: "", version: 1 },
  { kind: "respond", approvalId: "x", decision: "allowForever" },
  { kind: "edit", planId: "p", version: 1, edits: [{ op: "update", stepId: "a", set: { status: "completed" } }] },
  { kind: "control", action: "approve", planId: "p" },
];

test.each(TAKEN)("the extension takes %j", (message) => {
  expect(readFromPanel(message)).toEqual(message);
});

test.each(REFUSED)("the extension refuses %j", (message) => {
  expect(readFromPanel(message)).toBeUndefined();
});

test("the panel takes what the extension says, and nothing else", () => {
  expect(readToPanel({ kind: "state", state: { plans: {} } })).toBeDefined();
  expect(
    readToPanel({
      kind: "updates",
      updates: [
        { planId: "p", number: 1, patch: {} },
        { planId: "p", kind: "text", delta: "x" },
      ],
    }),
  ).toBeDefined();
  expect(readToPanel({ kind: "updates", updates: [{ planId: "p" }] })).toBeUndefined();
  expect(readToPanel({ kind: "notice", level: "shout", message: "x" })).toBeUndefined();
  expect(readToPanel({ command: "x" })).toBeUndefined();
});

test("an event needs its number, plan and type", () => {
  expect(isEvent({ seq: 1, planId: "p", type: "later", at: "", more: 1 })).toBe(true);
  expect(isEvent({ planId: "p", type: "log", at: "" })).toBe(false);
  expect(isEvent(null)).toBe(false);
});

test("the merged text of a large file is taken", () => {
  const files = [{ uri: "file:///a", choice: "text", text: "x".repeat(2e6) }];
  expect(readFromPanel({ kind: "resolve", planId: "p", editId: "e", files })).toBeDefined();
});
