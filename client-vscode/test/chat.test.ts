import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { answer, type Planner, TOOLS } from "../src/chat/handlers";
import type { Event } from "../src/protocol";
import { plan, step } from "./plans";

type Call = readonly [method: string, params: unknown];

/** A server that answers by method; `during` happens while a plan is waited for. */
function server(
  answers: Readonly<Record<string, unknown>> = {},
  during: (tell: (event: Event) => void) => void = () => undefined,
): { planner: Planner; calls: Call[]; listeners: number[] } {
  const calls: Call[] = [];
  const hearing = new Set<(event: Event) => void>();
  const tell = (event: Event): void => {
    for (const hear of hearing) hear(event);
  };
  const listeners: number[] = [];
  const usual: Readonly<Record<string, unknown>> = {
    "planloom/plan/create": { plan: plan([], { planId: "p1" }) },
    "planloom/plan/get": { plan: plan([], { planId: "p1" }) },
    "planloom/plan/wait": { reached: true },
    "planloom/plan/export": { text: "# Build a page" },
    "planloom/plan/list": { plans: [] },
    ...answers,
  };
  const planner = {
    request: async (method: string, params: unknown) => {
      calls.push([method, params]);
      if (method === "planloom/plan/wait") during(tell);
      listeners.push(hearing.size);
      const found = usual[method];
      if (found instanceof Error) throw found;
      return found;
    },
    listen: (_planId: string, hear: (event: Event) => void) => {
      hearing.add(hear);
      return () => void hearing.delete(hear);
    },
  } as unknown as Planner;
  return { planner, calls, listeners };
}

async function asked(planner: Planner, text: string, signal = new AbortController().signal): Promise<string[]> {
  const said: string[] = [];
  const to = {
    progress: (line: string) => void said.push(`… ${line}`),
    markdown: (line: string) => void said.push(line),
    review: (planId: string) => void said.push(`[review ${planId}]`),
  };
  await answer(planner, { text, attachments: [] }, to, signal);
  return said;
}

const task = (): Event => ({
  seq: 1,
  planId: "p1",
  sessionId: "s1",
  at: "2030-01-01T12:00:00Z",
  type: "task_created",
  task: step("a", { description: "Write the page" }),
});

test("a request in the chat is planned, its steps told as they come, and reviewed in the panel", async () => {
  const { planner, calls, listeners } = server({}, (tell) => tell(task()));
  expect(await asked(planner, "Build a page")).toEqual([
    "… The plan is being drafted…",
    "… Write the page",
    "# Build a page",
    "[review p1]",
  ]);
  expect(calls[0]).toEqual(["planloom/plan/create", { text: "Build a page", mode: "plan" }]);
  expect(listeners.at(-1), "nobody listens once the plan is there").toBe(0);
});

test("an empty question is answered without a plan", async () => {
  const { planner, calls } = server();
  expect(await asked(planner, " ")).toHaveLength(1);
  expect(calls).toEqual([]);
});

test("a cancelled question cancels its draft, and says nothing more", async () => {
  const cancelling = new AbortController();
  const { planner, calls } = server({ "planloom/plan/wait": { reached: false } }, () => cancelling.abort());
  expect(await asked(planner, "Build a page", cancelling.signal)).toEqual(["… The plan is being drafted…"]);
  expect(calls.map(([method]) => method)).toEqual([
    "planloom/plan/create",
    "planloom/plan/wait",
    "planloom/plan/cancel",
  ]);
});

test("a plan that is long in the making is waited for", async () => {
  const answers = { "planloom/plan/wait": { reached: false } };
  let waits = 0;
  const { planner } = server(answers, () => {
    if (++waits === 3) answers["planloom/plan/wait"].reached = true;
  });
  expect((await asked(planner, "Build a page")).at(-1)).toBe("[review p1]");
  expect(waits).toBe(3);
});

const used = (name: string, input: Record<string, unknown>, answers: Readonly<Record<string, unknown>> = {}) => {
  const { planner, calls } = server(answers);
  return TOOLS[name]!(planner, input).then((text) => ({ text, calls }));
};

test("a language model creates a plan, and is told that only the user starts it", async () => {
  const { text, calls } = await used("planloom_createPlan", { request: "Build a page" });
  expect(text).toMatch(/^Plan p1\n\n# Build a page\n\nNothing has been done yet\. The user reviews and starts/);
  expect(calls[0]).toEqual(["planloom/plan/create", { text: "Build a page", mode: "plan" }]);
  const slow = await used("planloom_createPlan", { request: "x" }, { "planloom/plan/wait": { reached: false } });
  expect(slow.text).toContain("still being drafted");
});

test("plans are read and listed", async () => {
  const summary = { planId: "p1", status: "paused", request: "Build", progress: { completed: 1, total: 3 } };
  const listed = await used("planloom_listPlans", { status: "paused" }, { "planloom/plan/list": { plans: [summary] } });
  expect(listed.text).toBe('{"planId":"p1","status":"paused","completed":1,"steps":3,"request":"Build"}');
  expect(listed.calls[0]).toEqual(["planloom/plan/list", { limit: 20, status: ["paused"] }]);
  expect((await used("planloom_getPlan", { planId: "p1" })).text).toContain("# Build a page");
  expect((await used("planloom_getPlan", {}, { "planloom/plan/get": { plan: null } })).text).toBe(
    "There is no such plan.",
  );
});

test.each([
  ["planloom_createPlan", {}],
  ["planloom_createPlan", { request: 3 }],
  ["planloom_getPlan", { planId: {} }],
  ["planloom_listPlans", { status: "odd" }],
])("%s says what is wrong with its input, and asks the server nothing", async (name, input) => {
  const { text, calls } = await used(name, input);
  expect([text.includes("must"), calls]).toEqual([true, []]);
});

test("the tools are those of the manifest, and none of them approves or starts", async () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8"));
  expect(Object.keys(TOOLS)).toEqual(manifest.contributes.languageModelTools.map(({ name }: { name: string }) => name));
  const methods = new Set<string>();
  for (const [name, input] of Object.entries({
    planloom_createPlan: { request: "x" },
    planloom_getPlan: { planId: "p1" },
    planloom_listPlans: {},
  }))
    for (const [method] of (await used(name, input)).calls) methods.add(method);
  expect([...methods].sort()).toEqual(
    ["create", "export", "get", "list", "wait"].map((each) => `planloom/plan/${each}`),
  );
});
