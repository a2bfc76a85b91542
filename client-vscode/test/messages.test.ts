import { expect, test } from "vitest";

import { isEvent, readFromPanel, readToPanel } from "../src/panel/messages";

const TAKEN: readonly object[] = [
  { kind: "ready" },
  { kind: "create", text: "Build it", mode: "auto" },
  { kind: "message", requestId: 2, planId: "p", text: "use pytest instead" },
  { kind: "decide", method: "planloom/plan/approve", params: { planId: "p", version: 3, review: "each" } },
  {
    kind: "decide",
    method: "planloom/plan/edit",
    params: {
      planId: "p",
      version: 1,
      edits: [{ op: "update", stepId: "a", set: { args: { path: "x", deep: [1, { y: null }] } } }],
    },
  },
  {
    kind: "decide",
    method: "planloom/plan/edit",
    params: { planId: "p", version: 1, edits: [{ op: "add", after: null, step: { description: "New" } }] },
  },
  { kind: "decide", method: "planloom/approval/respond", params: { approvalId: "x", decision: "deny", reason: "no" } },
  {
    kind: "decide",
    method: "planloom/conflict/resolve",
    params: { planId: "p", editId: "e", files: [{ uri: "file:///a", choice: "mine" }] },
  },
  {
    kind: "decide",
    requestId: 3,
    method: "planloom/conflict/resolve",
    params: { planId: "p", editId: "e", files: [{ uri: "file:///a", choice: "both", sha256: "5ee" }] },
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
  // What else the server can be asked for is not a decision about a plan.
  { kind: "decide", method: "planloom/plan/delete", params: { planId: "p" } },
  { kind: "decide", method: "planloom/settings/user", params: { values: {} } },
  { kind: "decide", method: "planloom/plan/approve" },
  { kind: "decide", method: "planloom/plan/approve", params: "p" },
  { kind: "decide", method: "planloom/plan/approve", params: { planId: "p", version: () => 1 } },
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
  expect(
    readFromPanel({ kind: "decide", method: "planloom/conflict/resolve", params: { planId: "p", editId: "e", files } }),
  ).toBeDefined();
});
