// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { html, nothing, render } from "lit";
import { expect, test } from "vitest";

import { type FromPanel, readFromPanel, type ServerState } from "../src/panel/messages";
import { EMPTY, type PanelState, type PlanView, withMessage, withStream } from "../src/plan/views";
import type {
  Approval,
  ChangedFile,
  JsonObject,
  PerspectiveState,
  Plan,
  RanCommand,
  Report,
  Step,
  StepStatus,
  StepView,
} from "../src/protocol";
import { lastChangedLine } from "../src/text/lineDiff";
import { sameFile } from "../src/webview/cards/approvalCard";
import { cards } from "../src/webview/cards/cards";
import { composer, referenceBefore } from "../src/webview/composer/composer";
import { follower } from "../src/webview/plan/follower";
import { otherPlans } from "../src/webview/plan/otherPlans";
import { planHeader } from "../src/webview/plan/planHeader";
import { outcome, talk } from "../src/webview/plan/summary";
import { draftOf, editOf, emptyDraft } from "../src/webview/steps/stepDraft";
import { steps } from "../src/webview/steps/steps";
import { pathOf } from "../src/webview/text/format";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi, taken, type Ui, withSeen } from "../src/webview/uiState";
import { speak } from "../src/words";
import { approvalView, changedFile, chapo, plan, stateOf, step, stepView, viewOf } from "./plans";

const PAYLOADS = [
  "<img src=x onerror=alert(1)>",
  "<script>alert(1)</script>",
  "javascript:alert(1)",
  '"><svg onload=alert(1)>',
  "![x](https://evil.test/x.png)",
  "command:planloom.approve",
];

const RUNNING: ServerState = { kind: "running", model: "m", problems: [], trusted: true, review: "each", reviews: [] };

function panelOf(more: Partial<Ui> = {}): { panel: Panel; sent: FromPanel[] } {
  const sent: FromPanel[] = [];
  return {
    panel: createPanel(
      { ...freshUi(), server: RUNNING, ...more },
      { post: (message) => void sent.push(message), changed: () => undefined },
    ),
    sent,
  };
}

function drawn(view: unknown): HTMLElement {
  const root = document.createElement("div");
  render(view, root);
  return root;
}

/** A plan with `text` in every field that reaches the panel. */
function everywhere(text: string): PlanView {
  const first = step("a", {
    description: text,
    instruction: text,
    activeForm: text,
    tool: text,
    args: { path: text, [text]: text },
    checks: [{ kind: "command", command: text, text, detail: text }],
    result: { ok: false, summary: text, error: text, durationMs: 1, timestamp: "" },
    toolsExecuted: [{ tool: text, args: { path: text }, ok: true, deduplicated: false, summary: text, durationMs: 1 }],
    status: "failed",
  });
  const approval = {
    approvalId: "x",
    planId: "p1",
    stepId: "a",
    proposal: "",
    effect: "execute" as const,
    title: text,
    warning: text,
    command: text,
    cwd: text,
    protected: true,
    files: [{ uri: `file:///w/${text}`, change: "edit" as const, added: 1, removed: 1, resolvedPath: text }],
  };
  const ready = plan([first], {
    request: text,
    summary: text,
    status: "paused",
    attachments: [{ id: "1", kind: "file", reference: text, label: text, bytes: 1, truncated: true, note: text }],
    perspectives: { chapo: chapo(text, { concerns: [text], recommendations: [text] }) },
    error: { code: "x", message: text, hint: text, rawText: text },
    pending: {
      approvals: [approval],
      questions: [{ stepId: "a", question: text, options: [text] }],
      recoveries: [
        {
          stepId: "a",
          error: text,
          options: ["retry", "accept"],
          proposal: { action: "retry", why: text, args: { x: text } },
        },
      ],
      conflicts: [
        {
          editId: "e",
          stepId: "a",
          files: [
            {
              uri: `file:///w/${text}`,
              hunks: [
                {
                  range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
                  base: text,
                  mine: text,
                  theirs: text,
                },
              ],
            },
          ],
        },
      ],
    },
  });
  return viewOf(
    ready,
    {
      pause: text,
      problem: { words: text, mends: [] },
      answer: text,
      log: [{ level: "error", message: text, at: "2030-01-01T12:00:00Z" }],
    },
    { a: { words: text, retry: text, lost: text } },
  );
}

test.each(PAYLOADS)("%s is text wherever it stands", (payload) => {
  const view = everywhere(payload);
  const { panel } = panelOf();
  panel.change("p1", (forms) => {
    forms.open.push("a");
    forms.about = true;
  });
  const root = document.createElement("div");
  render(html`${planHeader(panel, view)} ${cards(panel, view)} ${steps(panel, view)} ${outcome(panel, view)}`, root);
  expect(root.querySelectorAll("img, script, svg, iframe, a").length).toBe(0);
  expect(
    [...root.querySelectorAll("*")]
      .flatMap((element) => element.getAttributeNames())
      .filter((name) => name.startsWith("on")),
  ).toEqual([]);
  expect(root.textContent?.split(payload).length).toBeGreaterThan(15);
});

test("an Apply works only once its card has been in view", () => {
  const view = everywhere("text");
  const { panel, sent } = panelOf();
  const root = document.createElement("div");
  const draw = () => render(cards(panel, view), root);
  draw();
  expect(root.querySelector(".allow")?.hasAttribute("disabled")).toBe(true);
  panel.update((ui) => ({ ...ui, armed: ["x"] }));
  draw();
  root.querySelector<HTMLElement>(".allow")?.click();
  expect(sent).toEqual([
    {
      kind: "decide",
      requestId: 1,
      method: "planloom/approval/respond",
      params: { approvalId: "x", decision: "allow" },
    },
  ]);
});

test("a fetch shows its host and its whole address, and for the plan allows that host", () => {
  const url = `https://xn--pple-43d.com/${"a".repeat(500)}`;
  const approval = {
    approvalId: "x",
    planId: "p1",
    stepId: "a",
    proposal: "",
    effect: "fetch" as const,
    title: "Read the notes",
    warning: "The host is written in letters that may only look like those of another: it is xn--pple-43d.com.",
    protected: false,
    url,
    host: "xn--pple-43d.com (аpple.com)",
    files: [],
  };
  const ready = plan([step("a", { status: "running" })], {
    status: "executing",
    pending: { approvals: [approval], questions: [], recoveries: [], conflicts: [] },
  });
  const { panel, sent } = panelOf({ armed: ["x"] });
  const danger = { tone: "medium", words: "sends a request to the web" } as const;
  const root = drawn(cards(panel, viewOf(ready, { approvals: [approvalView("x", { danger })] })));
  expect(root.querySelector(".address")?.textContent).toBe(url);
  expect(root.querySelector(".host")?.textContent).toBe("xn--pple-43d.com (аpple.com)");
  expect(root.querySelector(".allow")?.textContent).toBe("Allow once");
  expect(root.querySelector(".chip")?.textContent).toBe("sends a request to the web");
  const link = [...root.querySelectorAll<HTMLElement>(".actions button")].find((each) =>
    each.textContent?.includes("Allow for this plan"),
  );
  link!.click();
  expect(sent).toEqual([
    {
      kind: "decide",
      requestId: 1,
      method: "planloom/approval/respond",
      params: { approvalId: "x", decision: "allowForPlan" },
    },
  ]);
});

test("a change of the rest of the plan shows each step before and after, and is allowed once only", () => {
  const approval = {
    approvalId: "x",
    planId: "p1",
    stepId: "a",
    tool: "submit_plan",
    proposal: "",
    effect: "write" as const,
    title: "Change the rest of the plan (1 new, 1 dropped)",
    protected: false,
    files: [],
    planChanges: [
      { kind: "dropped" as const, stepId: "b", before: "2. Do b" },
      { kind: "added" as const, stepId: "n", after: "2. Do n\nDo all of \u202en." },
    ],
  };
  const ready = plan([step("a", { status: "running" }), step("b")], {
    status: "executing",
    pending: { approvals: [approval], questions: [], recoveries: [], conflicts: [] },
  });
  const { panel, sent } = panelOf({ armed: ["x"] });
  const words = {
    approvalId: "x",
    allow: "Change the plan",
    refuse: "Keep the plan…",
    deny: "Keep the plan",
    kinds: [],
  };
  const root = drawn(cards(panel, viewOf(ready, { approvals: [words] })));
  const rows = [...root.querySelectorAll(".plan-change")].map((row) => [
    row.querySelector(".chip")?.textContent,
    row.querySelector(".before")?.textContent,
    row.querySelector(".after")?.textContent,
  ]);
  expect(rows).toEqual([
    ["dropped", "2. Do b", undefined],
    ["new", undefined, "2. Do n\nDo all of U+202En."],
  ]);
  expect(root.textContent).not.toContain("Allow for this plan");
  expect(root.querySelector(".skip")?.textContent).toBe("Keep the plan…");
  expect(root.querySelector(".allow")?.textContent).toBe("Change the plan");
  root.querySelector<HTMLElement>(".allow")!.click();
  expect(sent).toEqual([
    {
      kind: "decide",
      requestId: 1,
      method: "planloom/approval/respond",
      params: { approvalId: "x", decision: "allow" },
    },
  ]);
});

test("a rename shows where both of its ends really lie", () => {
  const files = [
    {
      uri: "file:///w/a.txt",
      change: "rename" as const,
      newUri: "file:///w/link/b.txt",
      added: 0,
      removed: 0,
      resolvedPath: "/w/a.txt",
      newResolvedPath: "/w/.vscode/b.txt",
    },
  ];
  const approval = {
    approvalId: "x",
    planId: "p1",
    stepId: "a",
    proposal: "",
    effect: "write" as const,
    title: "Rename",
    protected: true,
    files,
  };
  const ready = plan([step("a", { status: "running" })], {
    status: "executing",
    pending: { approvals: [approval], questions: [], recoveries: [], conflicts: [] },
  });
  const view = viewOf(ready);
  const root = document.createElement("div");
  render(cards(panelOf().panel, view), root);
  expect([...root.querySelectorAll(".resolved")].map((element) => element.textContent?.trim())).toEqual([
    "really /w/.vscode/b.txt",
  ]);
});

test("the composer shows the verdict and what its keys do", () => {
  const { panel, sent } = panelOf({
    draft: "Build a page",
    verdict: {
      typing: 0,
      detection: { planned: false, rule: "none", score: 1, ambiguous: false, words: "one small task" },
      planned: false,
    },
  });
  const asks = { write: () => undefined, complete: () => undefined };
  const root = drawn(composer(panel, undefined, asks));
  expect(root.querySelector("#verdict")?.textContent).toContain("Runs directly");
  const area = root.querySelector("#request")!;
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey: true }));
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", altKey: true }));
  expect(sent).toEqual([{ kind: "create", requestId: 1, text: "Build a page", mode: "plan" }]);
});

test.each([
  ["look at @src", "@src"],
  ["@", "@"],
  ['see @"a file', '@"a file'],
  ["mail me@host", undefined],
  ["done @src ", undefined],
])("a reference is completed at the end of %j", (text, expected) => {
  expect(referenceBefore(text, text.length)).toBe(expected);
});

test("the extension takes the condition and loop of the step's form", () => {
  const rules = { when: "steps.a.ok", forEach: "[1, 2]", repeatUntil: "last.ok" };
  for (const [draft, of] of [
    [{ ...emptyDraft("a"), description: "Next", ...rules }, undefined],
    [{ ...draftOf(step("b")), ...rules }, step("b")],
  ] as const) {
    const edit = editOf(draft, of);
    const message = {
      kind: "decide",
      method: "planloom/plan/edit",
      params: { planId: "p", version: 1, edits: [edit] },
    };
    expect(readFromPanel(message)).toEqual(message);
  }
});

test("an edited step sends only what differs", () => {
  const old = step("a", { tool: "read_file", kind: "tool_call", args: { path: "x" } });
  expect(editOf(draftOf(old), old)).toBeUndefined();
  expect(editOf({ ...draftOf(old), description: "New", values: { path: "y" } }, old)).toEqual({
    op: "update",
    stepId: "a",
    set: { description: "New", args: { path: "y" } },
  });
  expect(
    editOf({ ...draftOf({ ...old, forEach: "[1]" }), forEach: " ", when: "true" }, { ...old, forEach: "[1]" }),
  ).toEqual({
    op: "update",
    stepId: old.stepId,
    set: { when: "true", forEach: null },
  });
  expect(editOf({ ...draftOf(old), tool: "" }, old)).toEqual({
    op: "update",
    stepId: "a",
    set: { tool: null, kind: "processing", args: null },
  });
  const counted = step("a", { tool: "search", kind: "tool_call", args: { most: 2 } });
  expect(editOf({ ...draftOf(counted), values: { most: "{" } }, counted)).toHaveProperty("problem");
  expect(editOf({ ...draftOf(counted), values: { most: "3" } }, counted)).toMatchObject({ set: { args: { most: 3 } } });
  expect(editOf({ ...emptyDraft("a"), description: "Next" }, undefined)).toMatchObject({
    op: "add",
    after: "a",
    step: { description: "Next", kind: "processing" },
  });
});

test("paths are told as a person knows them", () => {
  expect(pathOf("file:///w/src/a%20b.py", ["file:///w"])).toBe("src/a b.py");
  expect(pathOf("file:///w/one/a.py", ["file:///w/one", "file:///w/two"])).toBe("one/a.py");
  expect(pathOf("file:///other/a.py", ["file:///w"])).toBe("/other/a.py");
  expect(sameFile("file:///w/a.py", "/w/a.py")).toBe(true);
  expect(sameFile("file:///w/link.py", "/etc/passwd")).toBe(false);
});

test("every command of the table is declared, and the other way round", () => {
  const declared = (
    JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { commands: { command: string }[] } }
  ).contributes.commands.map(({ command }) => command);
  const table = [
    ...["commands", "reviewCommands", "documentCommands"]
      .map((name) => readFileSync(`src/commands/${name}.ts`, "utf8"))
      .join("")
      .matchAll(/^ {2}"(planloom\.ui\.\w+)":/gm),
  ].map(([, id]) => id);
  expect(table.filter((id) => id !== "planloom.ui.focus")).toEqual(declared);
});

test("perspectives: who thinks, who said something, who failed, who is to come", () => {
  const state = (agent: "chapo" | "koda" | "devo", name: string, words: PerspectiveState["state"], error?: string) => ({
    agent,
    name,
    state: words,
    words,
    ...(error === undefined ? {} : { error }),
  });
  const said = chapo("Small, but public.", { concerns: ["Names"] });
  const view = viewOf(plan([], { status: "draft", route: "perspectives", perspectives: { chapo: said } }), {
    thought: "Code is thinking…",
    perspectives: [
      {
        ...state("chapo", "Strategy", "done"),
        parts: [
          { title: "Concerns", items: ["Names"] },
          { title: "Risks", text: "Low" },
        ],
      },
      state("koda", "Code", "thinking"),
      state("devo", "Operations", "failed", "No answer"),
    ],
  });
  const root = drawn(planHeader(panelOf().panel, view));
  const rows = [...root.querySelectorAll<HTMLElement>(".perspective")];
  expect(rows.map((row) => row.dataset.state)).toEqual(["done", "thinking", "failed"]);
  expect([...rows[0]!.querySelectorAll("h5, li, p")].map((each) => each.textContent)).toEqual([
    "Small, but public.",
    ...["Concerns", "Names", "Risks", "Low"],
  ]);
  expect(rows[2]?.textContent).toContain("No answer");
  expect(root.querySelector(".thought")?.textContent).toBe("Code is thinking…");
});

test("with a plan on display the composer speaks to it, and says which one and what becomes of it", () => {
  const { panel, sent } = panelOf({ draft: "use pytest instead" });
  const asks = { write: () => undefined, complete: () => undefined };
  const messageField = {
    placeholder: "What should change?",
    button: "Revise",
    hint: "Gives a new version of the plan.",
  };
  const current = viewOf(plan([step("a")], { status: "pending_approval", request: "Test the greeting" }), {
    messageField,
  });
  const root = drawn(composer(panel, current, asks));
  expect(root.querySelector("#to-plan")).not.toBeNull();
  expect(root.querySelector(".recipient")).toBeNull();
  expect(root.querySelector("#verdict")?.textContent).toContain("Gives a new version of the plan");
  expect(root.querySelector("#send")?.textContent).toContain("Revise");
  root.querySelector("#request")!.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  expect(sent).toEqual([{ kind: "message", requestId: 1, planId: "p1", text: "use pytest instead" }]);
});

test("a new request can be made beside a plan: by a key, or by choosing it", () => {
  const asks = { write: () => undefined, complete: () => undefined };
  const current = viewOf(plan([step("a")], { status: "executing" }));
  const first = panelOf({ draft: "Build a page" });
  drawn(composer(first.panel, current, asks))
    .querySelector("#request")!
    .dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", altKey: true }));
  expect(first.sent).toEqual([{ kind: "create", requestId: 1, text: "Build a page", mode: "auto" }]);
  const { panel, sent } = panelOf({ draft: "Build a page" });
  const typed = panel.ui.draft;
  panel.update((ui) => ({ ...ui, draft: "" }));
  drawn(composer(panel, current, asks))
    .querySelector<HTMLElement>('button[aria-label="New request"]')!
    .click();
  panel.update((ui) => ({ ...ui, draft: typed }));
  const root = drawn(composer(panel, current, asks));
  expect(root.querySelector(".recipient")?.textContent).toContain("New request");
  root.querySelector("#request")!.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  expect(sent).toEqual([{ kind: "create", requestId: 1, text: "Build a page", mode: "auto" }]);
  panel.update((ui) => taken(ui, { kind: "settled", requestId: 1, ok: true }, EMPTY));
  expect([panel.ui.asNew, panel.ui.draft]).toEqual([false, ""]);
});

test("what was said to a plan stands in its head, with what became of it", () => {
  const at = "2030-01-01T12:00:00Z";
  const messages = [
    { text: "use tabs", at, state: "read" as const },
    { text: "and be brief", at, state: "open" as const },
  ];
  const view = viewOf(plan([step("a")], { status: "executing", follows: "p0", messages }));
  const { panel, sent } = panelOf();
  const said = (root: HTMLElement) =>
    [...root.querySelectorAll(".messages li")].map((row) => row.textContent?.replaceAll(/\s+/g, " ").trim());
  expect(said(drawn(planHeader(panel, view)))).toEqual(["and be brief not read yet"]);
  panel.change("p1", (forms) => (forms.about = true));
  const root = drawn(planHeader(panel, view));
  expect(said(root)).toEqual(["use tabs read", "and be brief not read yet"]);
  root.querySelector<HTMLElement>("#follows")!.click();
  expect(sent).toEqual([{ kind: "select", planId: "p0" }]);
});

test("Enter once more sends nothing while the request is on its way", () => {
  const { panel, sent } = panelOf({ draft: "Build a page" });
  const root = drawn(composer(panel, undefined, { write: () => undefined, complete: () => undefined }));
  for (let times = 0; times < 2; times++)
    root.querySelector("#request")!.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  expect(sent).toEqual([{ kind: "create", requestId: 1, text: "Build a page", mode: "auto" }]);
  const now = drawn(composer(panel, undefined, { write: () => undefined, complete: () => undefined }));
  expect(now.querySelector(".composer-row")?.textContent).toContain("Sending…");
  expect(now.querySelector("#send")?.hasAttribute("disabled")).toBe(true);
});

test("the text of the composer is the state's, whatever the page shows", () => {
  const { panel } = panelOf({ draft: "typed" });
  const asks = { write: () => undefined, complete: () => undefined };
  const root = drawn(composer(panel, undefined, asks));
  panel.update((ui) => ({ ...ui, draft: "composed" }));
  root.querySelector<HTMLTextAreaElement>("#request")!.value = "stale";
  render(composer(panel, undefined, asks), root);
  expect(root.querySelector<HTMLTextAreaElement>("#request")!.value).toBe("composed");
});

test("a reject form stands on its own plan alone, and only while that can be rejected", () => {
  const { panel, sent } = panelOf();
  const shownOn = (planId: string, status: "pending_approval" | "executing") =>
    drawn(planHeader(panel, viewOf(plan([step("a")], { planId, status }))));
  panel.change("p2", (forms) => (forms.texts.reject = "Not this"));
  expect(shownOn("p1", "pending_approval").querySelector("#prompt-send")).toBeNull();
  expect(shownOn("p2", "executing").querySelector("#prompt-send")).toBeNull();
  shownOn("p2", "pending_approval").querySelector<HTMLElement>("#prompt-send")!.click();
  expect(sent).toEqual([
    { kind: "decide", requestId: 1, method: "planloom/plan/reject", params: { planId: "p2", reason: "Not this" } },
  ]);
});

test("Start execution reviews as the setting says, or as was chosen for this plan", () => {
  const { panel, sent } = panelOf({
    server: {
      ...RUNNING,
      review: "end",
      reviews: [
        { review: "end", title: "Review all at the end", line: "asks once", asks: "Asks once.", unasked: "" },
        {
          review: "auto",
          title: "Review only risky changes",
          line: "asks seldom",
          asks: "Asks seldom.",
          unasked: "writing",
        },
      ],
    },
  });
  const start = (planId: string) => {
    const root = drawn(planHeader(panel, viewOf(plan([step("a")], { planId }))));
    root.querySelector<HTMLElement>("#approve")!.click();
    return root.querySelector("#review")?.textContent;
  };
  panel.change("p2", (forms) => (forms.review = "auto"));
  expect([start("p1"), start("p2")]).toEqual(["asks once", "asks seldom"]);
  expect(sent.map((message) => message.kind === "decide" && message.params)).toEqual([
    { planId: "p1", version: 1, review: "end" },
    { planId: "p2", version: 1, review: "auto" },
  ]);
});

test("a plan is kept for later at its review, and goes back to review", () => {
  const { panel, sent } = panelOf();
  const press = (status: Plan["status"], planId: string, actions: readonly string[], id: string) => {
    const root = drawn(planHeader(panel, viewOf(plan([step("a")], { planId, status }), { actions })));
    const button = root.querySelector<HTMLElement>(id)!;
    button.click();
    return button.textContent?.trim();
  };
  expect(press("pending_approval", "p1", ["approve", "pause"], "#pause")).toBe("pause");
  expect(press("paused", "p2", ["resume"], "#resume")).toBe("resume");
  expect(press("paused", "p3", ["resume", "review"], "#review")).toBe("review");
  expect(sent.map((message) => message.kind === "decide" && message.method)).toEqual([
    "planloom/plan/pause",
    "planloom/plan/resume",
    "planloom/plan/review",
  ]);
});

test("what waits is not told as running: in its row, in the head, by its clock", () => {
  const running = step("a", {
    tool: "run_command",
    kind: "tool_call",
    activeForm: "Running `ls`",
    status: "running",
    args: { command: "ls" },
  });
  const now = plan([running], { status: "executing" });
  const look = (...more: [Parameters<typeof viewOf>[1], Partial<StepView>]) => {
    const view = viewOf(now, more[0], { a: more[1] });
    const { panel } = panelOf();
    panel.change("p1", (forms) => (forms.open = ["a"]));
    return drawn(html`${planHeader(panel, view)} ${steps(panel, view)}`);
  };
  const calls = [{ callId: "c", tool: "run_command", args: { command: "ls" } }];
  expect(look({}, { calls }).querySelector(".step-title")?.textContent).toBe("Running `ls`");
  const since = "2030-01-01T12:00:00Z";
  const clock = { since, waitedMs: 1000, until: "2030-01-01T12:00:03Z" };
  const words = "waits for your approval";
  const waiting = look(
    { line: "Waits for your approval · 0 of 1", sign: "waiting" },
    { calls, clock, words, note: words, sign: "waiting", waits: "approval" },
  );
  expect(waiting.querySelector(".step-title")?.textContent).toBe("Do a");
  expect(waiting.querySelector(".step")?.textContent).toContain("waits for your approval");
  expect(waiting.querySelector(".plan-state")?.textContent?.trim()).toBe("Waits for your approval · 0 of 1");
  expect(waiting.querySelector(".step .codicon-loading")).toBeNull();
  expect(waiting.querySelector(".facts")?.textContent).toContain("2.0 s");
});

test("a row says its title and one note; figures are for who opens it, and whether it asks under the chosen review", () => {
  const facts = ["write_file a.py", "after 1", "attempt 2", "1.0k tokens · 2 requests"];
  const now = viewOf(plan([step("a"), step("b")]), {}, { b: { facts, asks: ["each", "end"], note: "round 1" } });
  const { panel } = panelOf();
  const row = () => drawn(steps(panel, now)).querySelectorAll<HTMLElement>("li.step")[1]!;
  const text = (of: Element | null) => of?.textContent?.replaceAll(/\s+/g, " ").trim();
  expect(text(row())).toBe("2 Do b round 1");
  panel.change("p1", (forms) => (forms.open = ["b"]));
  const asks = " · asks before it changes anything";
  expect(text(row().querySelector(".facts"))).toBe(facts.join(" · ") + asks);
  panel.change("p1", (forms) => (forms.review = "auto"));
  expect(text(row().querySelector(".facts"))).toBe(facts.join(" · "));
});

test("the details of a step name the problems that its change has brought, and lead to them", () => {
  const problem = { uri: "file:///w/b.txt", path: "b.txt", line: 3, severity: "error", kind: "error" } as const;
  const judged = { words: "1 new problem (ty)", problems: [{ ...problem, message: "Unknown name" }] };
  const { panel, sent } = panelOf();
  panel.change("p1", (forms) => (forms.open = ["b"]));
  const details = drawn(steps(panel, viewOf(plan([step("a"), step("b")]), {}, { b: { judged, sign: "warning" } })));
  expect(details.querySelectorAll("li.step")[1]?.getAttribute("data-sign")).toBe("warning");
  expect(details.querySelector(".judged li")?.textContent?.replaceAll(/\s+/g, " ").trim()).toBe("b.txt:3 Unknown name");
  details.querySelector<HTMLElement>(".judged button")!.click();
  expect(sent).toEqual([{ kind: "open", uri: "file:///w/b.txt", line: 2 }]);
});

test("what a new version changes is marked until it was read, with the way back", () => {
  const changes = [
    { kind: "added" as const, stepId: "b", after: "2. Do b" },
    { kind: "dropped" as const, stepId: "x", before: "3. Do x\nwith care" },
  ];
  const now = viewOf(plan([step("a"), step("b")], { version: 4 }), { changes, revision: "1 new, 1 removed" });
  const restore = { title: "Back to version 3", command: "planloom.restore", arguments: ["p1", 3] };
  const view = { ...now, actions: [...now.actions, restore] };
  const { panel, sent } = panelOf();
  const root = drawn(steps(panel, view));
  expect(root.querySelector('[data-change="added"]')?.getAttribute("data-step")).toBe("b");
  expect(root.querySelector(".dropped")?.textContent).toBe("3. Do x");
  root.querySelector<HTMLElement>("#restore")!.click();
  expect(sent).toMatchObject([{ method: "planloom/plan/restore", params: { planId: "p1", version: 4, to: 3 } }]);
  root.querySelector<HTMLElement>('button[aria-label="Mark as read"]')!.click();
  render(steps(panel, view), root);
  expect([root.querySelector(".revision"), root.querySelector("[data-change]")]).toEqual([null, null]);
});

test("a question is a turn with its answer, behind the turns before it, and has no head and no steps", () => {
  const turn = (planId: string, follows?: string) =>
    viewOf(
      plan([step("a")], {
        planId,
        status: "completed",
        route: "direct",
        request: `Why ${planId}?`,
        ...(follows ? { follows } : {}),
      }),
      {
        talk: true,
        answer: `Because of ${planId}.`,
      },
    );
  const [first, last] = [turn("p1"), turn("p2", "p1")];
  const root = drawn(talk(panelOf().panel, last, stateOf(last, first)));
  expect([...root.querySelectorAll(".turn")].map((each) => each.textContent?.replaceAll(/\s+/g, " ").trim())).toEqual([
    "Why p1? Because of p1.",
    "Why p2? Because of p2.",
  ]);
  expect(root.querySelector(".plan-line, .outcome, .step")).toBeNull();
});

test("more than three other plans are one line", () => {
  const views = ["p2", "p3", "p4", "p5"].map((planId) => viewOf(plan([], { planId }), { waits: "waits" }));
  const { panel, sent } = panelOf();
  const root = drawn(otherPlans(panel, stateOf(viewOf(plan([])), ...views)));
  expect([...root.querySelectorAll(".other")].map((each) => each.textContent)).toEqual(["4 other plans4 wait for you"]);
  root.querySelector<HTMLElement>("#all-plans")!.click();
  expect(sent).toEqual([{ kind: "show", what: "plans" }]);
});

test("cards stand in the plan's order", () => {
  const questions = ["c", "a", "b"].map((stepId) => ({ stepId, question: `Which ${stepId}?` }));
  const now = plan([step("a"), step("b"), step("c")], {
    status: "executing",
    pending: { approvals: [], questions, recoveries: [], conflicts: [] },
  });
  const root = drawn(cards(panelOf().panel, viewOf(now)));
  expect([...root.querySelectorAll(".card")].map((each) => each.getAttribute("data-step"))).toEqual(["a", "b", "c"]);
});

test("the form has a field for each argument of the chosen tool, and offers the tools", () => {
  const tool = (name: string, properties: JsonObject, required: readonly string[] = []) => ({
    name,
    description: name,
    parameters: { properties, required },
  });
  const tools = [
    tool("run_command", { command: { type: "string" }, background: { type: "boolean" } }, ["command"]),
    tool("write_file", { path: { type: "string" }, content: { type: "string" } }),
  ];
  const { panel, sent } = panelOf({ tools });
  const old = step("a", { kind: "tool_call", tool: "write_file", args: { path: "a.py", content: "one\ntwo\n" } });
  panel.change("p1", (forms) => (forms.step = draftOf(old)));
  const root = drawn(steps(panel, viewOf(plan([old]))));
  expect([...root.querySelectorAll("#step-tool vscode-option")].map((each) => each.textContent)).toEqual([
    "none: an instruction for the agent",
    "run_command",
    "write_file",
  ]);
  const field = (id: string) => root.querySelector<HTMLElement & { value: string }>(`#step-arg-${id}`)!;
  expect([field("path").value, field("content").value]).toEqual(["a.py", "one\ntwo\n"]);
  field("content").value = "three\n";
  field("content").dispatchEvent(new Event("input"));
  root.querySelector<HTMLElement>("#step-save")!.click();
  expect(sent).toMatchObject([{ params: { edits: [{ set: { args: { path: "a.py", content: "three\n" } } }] } }]);
});

test("a plan with steps left out is partly done, says why, and offers the rest", () => {
  const done = step("a", { status: "completed" });
  const skipped = [step("b", { status: "skipped" }), step("c", { status: "skipped" })];
  const view = viewOf(plan([done, ...skipped], { status: "completed", executionSummary: "1 of 3 steps done." }), {
    line: "Partly done, 1 of 3",
    sign: "partly",
    partly: true,
    left: [
      { stepId: "b", number: 2, description: "Do b", why: "its changes were not applied" },
      { stepId: "c", number: 3, description: "Do c", why: "a step it depends on did not finish" },
    ],
    rest: "1. Do b\n2. Write the docs",
  });
  const { panel, sent } = panelOf();
  const root = drawn(html`${planHeader(panel, view)} ${outcome(panel, view)}`);
  expect(root.querySelector(".plan-state")?.textContent?.trim()).toBe("Partly done, 1 of 3");
  expect(
    [...root.querySelectorAll(".not-done li")].map((row) => row.textContent?.trim().replaceAll(/\s+/g, " ")),
  ).toEqual(["2 Do b · its changes were not applied", "3 Do c · a step it depends on did not finish"]);
  root.querySelector<HTMLElement>("#rest")!.click();
  expect(sent).toMatchObject([{ kind: "create", mode: "plan", sessionId: "s1", text: view.rest }]);
});

const REPORT: Report = {
  done: [
    { stepId: "a", description: "Do a", summary: "It was inverted." },
    { stepId: "b", description: "Do b" },
  ],
  files: [
    { uri: "file:///w/a.py", change: "edit", added: 3, removed: 1 },
    { uri: "file:///w/docs", change: "createFolder" },
  ],
  commands: [
    { command: "pytest -q", exitCode: 0, outcome: "81 passed", runs: 3, failedBefore: 2 },
    { command: "ruff check", exitCode: 1, outcome: "Found 2 errors.", runs: 1 },
  ],
  left: [],
  notAllowed: [],
  closing: "All tests pass.",
  answered: false,
};

function endedWith(
  report: Report,
  files: readonly ChangedFile[] = [changedFile("file:///w/a.py")],
  commands: readonly RanCommand[] = [],
): PlanView {
  const done = report.done.map(({ stepId }) => step(stepId, { status: "completed" }));
  const executionSummary = "2 of 2 steps done. 1 file changed.";
  return viewOf(plan(done, { status: "completed", executionSummary, report }), {
    files: report.files.length > 0 ? files : [],
    commands,
  });
}

test("the changed files that have unsaved text can be saved at the end, and no others", () => {
  const { panel, sent } = panelOf();
  expect(drawn(outcome(panel, endedWith(REPORT))).querySelector("#save")).toBeNull();
  const uris = ["file:///w/a.py", "file:///w/own.py"];
  panel.update((ui) => taken(ui, { kind: "unsaved", uris }, EMPTY));
  drawn(outcome(panel, endedWith(REPORT)))
    .querySelector<HTMLElement>("#save")!
    .click();
  expect(sent).toEqual([{ kind: "save", uris: ["file:///w/a.py"] }]);
});

test("the end of a plan shows the closing words, the commands and the lines of its files, and opens its changes", () => {
  const { panel, sent } = panelOf();
  const ran = [
    { command: "pytest -q", good: true, words: "81 passed · run 3 times" },
    { command: "ruff check", good: false, words: "exit code 1 · Found 2 errors." },
  ];
  const root = drawn(outcome(panel, endedWith(REPORT, undefined, ran)));
  const text = (selector: string) =>
    [...root.querySelectorAll(selector)].map((each) => each.textContent?.trim().replaceAll(/\s+/g, " "));
  expect(text(".closing")).toEqual(["All tests pass."]);
  expect(text(".summary-text")).toEqual(["2 of 2 steps done. 1 file changed."]);
  expect(text(".commands li")).toEqual([
    "pytest -q 81 passed · run 3 times",
    "ruff check exit code 1 · Found 2 errors.",
  ]);
  const signs = [...root.querySelectorAll(".commands .codicon")].map((each) => each.getAttribute("aria-label"));
  expect(signs).toEqual(["succeeded", "failed"]);
  expect(text(".file .added, .file .removed")).toEqual(["+3", "−1"]);
  root.querySelector<HTMLElement>(".file .diff")!.click();
  root.querySelector<HTMLElement>("#changes")!.click();
  expect(sent).toEqual([
    { kind: "changes", planId: "p1", uri: "file:///w/a.py" },
    { kind: "changes", planId: "p1" },
  ]);
});

test("a renamed file is listed with both its names, and opened by its present one", () => {
  const { panel, sent } = panelOf();
  const [old, now] = ["file:///w/old.py", "file:///w/new.py"];
  const report: Report = { ...REPORT, files: [{ uri: now, oldUri: old, change: "rename", added: 0, removed: 0 }] };
  const root = drawn(outcome(panel, endedWith(report, [changedFile(old, { newUri: now, change: "rename" })])));
  expect(root.querySelector(".file .path")!.textContent).toBe("old.py → new.py");
  root.querySelector<HTMLElement>(".file .path")!.click();
  root.querySelector<HTMLElement>(".file .diff")!.click();
  expect(sent).toEqual([
    { kind: "open", uri: now },
    { kind: "changes", planId: "p1", uri: now },
  ]);
});

test("an answer alone is followed by no summary", () => {
  const [first] = REPORT.done;
  const only: Report = { ...REPORT, done: [first!], files: [], commands: [], answered: true };
  const answered = (report: Report) => drawn(outcome(panelOf().panel, { ...endedWith(report), answer: "So." }));
  expect(answered(only).querySelector(".outcome")).toBeNull();
  const more = answered({ ...REPORT, answered: true });
  expect(more.querySelector(".outcome")).not.toBeNull();
  expect(more.querySelector(".closing")).toBeNull();
});

test("a draft that failed is no result, and offers one way to try again", () => {
  const problem = { words: "Nothing answers.", mends: ["again" as const] };
  const now = plan([], {
    status: "failed",
    executionSummary: "There were no steps.",
    error: { code: "x", message: "m" },
  });
  const { panel } = panelOf();
  const root = drawn(html`${planHeader(panel, viewOf(now, { problem }))} ${outcome(panel, viewOf(now, { problem }))}`);
  expect(root.textContent).not.toContain("There were no steps");
  expect([...root.querySelectorAll("vscode-button")].map((each) => each.textContent?.trim())).toEqual(["Try Again"]);
});

test("why a plan has failed or is paused leads to the page about it", () => {
  const { panel } = panelOf();
  const links = (now: Plan, more: Parameters<typeof viewOf>[1]) => {
    const view = viewOf(now, more);
    const root = drawn(html`${planHeader(panel, view)} ${outcome(panel, view)}`);
    return [...root.querySelectorAll("a")].map((each) => [each.textContent, each.href]);
  };
  const problem = { words: "Nothing answers.", mends: [], help: "https://example.com/help#model" };
  const failed = plan([], { status: "failed", error: { code: "x", message: "m" } });
  const paused = plan([step("a")], { status: "paused", pauseReason: "model_unavailable" });
  const budget = plan([step("a")], { status: "paused", pauseReason: "budget" });
  const shown = [["Learn More", problem.help]];
  expect(links(failed, { problem })).toEqual(shown);
  expect(links(paused, { problem })).toEqual(shown);
  expect(links(budget, { pause: "It is used up.", pauseHelp: problem.help })).toEqual(shown);
  expect(links(budget, { pause: "Paused by you." })).toEqual([]);
});

test("a conflict offers both texts, and says before which steps are lost with one's own", () => {
  const conflict = { editId: "e", stepId: "a", files: [{ uri: "file:///w/a.txt", hunks: [], sha256: "5ee" }] };
  const view = viewOf(
    plan([step("a", { tool: "edit_file", status: "running" }), step("b", { dependsOn: ["a"] }), step("c")], {
      status: "paused",
      pending: { approvals: [], questions: [], recoveries: [], conflicts: [conflict] },
    }),
    {},
    { a: { lost: "Step 2 depends on it and is skipped too." } },
  );
  const { panel, sent } = panelOf();
  const root = drawn(cards(panel, view));
  expect(root.querySelector(".lost")?.textContent).toContain("Step 2 depends on it and is skipped too.");
  const [mine, , both] = root.querySelectorAll<HTMLInputElement>('.conflict input[type="radio"]');
  mine!.dispatchEvent(new Event("change"));
  render(cards(panel, view), root);
  expect(root.querySelector(".conflict-file")?.textContent).toContain("changes nothing in this file");
  both!.dispatchEvent(new Event("change"));
  render(cards(panel, view), root);
  root.querySelector<HTMLElement>(".resolve")!.click();
  expect(sent).toEqual([
    {
      kind: "decide",
      requestId: 1,
      method: "planloom/conflict/resolve",
      params: { planId: "p1", editId: "e", files: [{ uri: "file:///w/a.txt", choice: "both", sha256: "5ee" }] },
    },
  ]);
});

test("a text that was merged in the editor becomes a choice of its conflict, with what it changes", () => {
  const uri = "file:///w/a.txt";
  const conflict = { editId: "e", stepId: "a", files: [{ uri, hunks: [], sha256: "5ee" }] };
  const pending = { approvals: [], questions: [], recoveries: [], conflicts: [conflict] };
  const view = viewOf(plan([step("a", { status: "running" })], { status: "paused", pending }));
  const { panel, sent } = panelOf();
  const root = drawn(cards(panel, view));
  expect(root.querySelectorAll('input[type="radio"]')).toHaveLength(3);
  root.querySelector<HTMLElement>(".merge")!.click();
  const merged = { kind: "merged" as const, planId: "p1", editId: "e", uri, mine: "mine\n", text: "joined\n" };
  panel.update((ui) => taken(ui, merged, EMPTY));
  render(cards(panel, view), root);
  expect([...root.querySelectorAll(".merged .diff-text")].map((line) => line.textContent)).toEqual(["mine", "joined"]);
  root.querySelector<HTMLElement>(".resolve")!.click();
  expect(sent).toEqual([
    { kind: "merge", planId: "p1", editId: "e", uri },
    {
      kind: "decide",
      requestId: 1,
      method: "planloom/conflict/resolve",
      params: { planId: "p1", editId: "e", files: [{ uri, choice: "text", text: "joined\n", sha256: "5ee" }] },
    },
  ]);
  panel.update((ui) => taken(ui, { kind: "settled", requestId: 1, ok: true }, EMPTY));
  expect(panel.forms("p1").merged).toEqual({});
});

test("plans that are not on display are named with what they wait for", () => {
  const state = stateOf(
    viewOf(plan([], { planId: "p1" })),
    viewOf(plan([], { planId: "p2", request: "Tidy up\nall of it" }), { waits: "waits for your review" }),
    viewOf(plan([], { planId: "p3", status: "completed" })),
  );
  const { panel, sent } = panelOf();
  const root = drawn(otherPlans(panel, state));
  expect([...root.querySelectorAll(".other")].map((row) => row.textContent?.trim())).toEqual([
    "Tidy upwaits for your review",
  ]);
  root.querySelector<HTMLElement>(".other")!.click();
  expect(sent).toEqual([{ kind: "select", planId: "p2" }]);
});

test("a form whose step is gone hides nothing; a new step whose place is gone stands at the end", () => {
  const view = viewOf(plan([step("a")]));
  const { panel } = panelOf();
  panel.change("p1", (forms) => (forms.step = { ...emptyDraft(null), target: { kind: "existing", stepId: "gone" } }));
  expect(drawn(steps(panel, view)).querySelector("#add-step")).not.toBeNull();
  panel.change("p1", (forms) => (forms.step = { ...emptyDraft("gone"), description: "typed" }));
  const root = drawn(steps(panel, view));
  expect([root.querySelector("#add-step"), root.querySelectorAll("#step-description").length]).toEqual([null, 1]);
});

const COMMAND = {
  approvalId: "x",
  planId: "p1",
  stepId: "a",
  proposal: "",
  effect: "execute" as const,
  title: "Install",
  protected: false,
  command: "npm install",
  cwd: ".",
  files: [],
};

function asking(approval: Approval): PlanView {
  const ready = plan([step("a", { status: "running" })], {
    status: "executing",
    workspaceFolders: ["file:///home/me/app"],
    pending: { approvals: [approval], questions: [], recoveries: [], conflicts: [] },
  });
  return viewOf(ready, { approvals: [approvalView("x", { folder: "the workspace folder /home/me/app" })] });
}

test("a command names its folder and what it gets, and can be run with other rights", () => {
  const offers = [
    { confined: true, network: "none" as const, label: "without network", line: "Confined: no network." },
    { confined: false, network: "none" as const, label: "without confinement", line: "Not confined." },
  ];
  const line = "It asks for the network. Confined: the whole network.";
  const confinement = { confined: true, network: "all" as const, line, asksNetwork: true, offers };
  const view = asking({ ...COMMAND, confinement });
  const { panel, sent } = panelOf({ armed: ["x"] });
  const root = document.createElement("div");
  const draw = () => render(cards(panel, view), root);
  const words = () => root.querySelector(".actions")?.textContent ?? "";
  draw();
  expect(root.textContent).toContain("in the workspace folder /home/me/app");
  expect(root.querySelector(".confinement p")?.textContent?.trim()).toBe(line);
  expect(root.querySelector("details")?.hasAttribute("open")).toBe(true);
  expect(words()).toContain("Allow for this plan");
  root.querySelector<HTMLElement>(".allow")!.click();
  const radios = [...root.querySelectorAll<HTMLInputElement>(".confinement input")];
  expect(radios.map((radio) => radio.checked)).toEqual([true, false, false]);
  radios[2]!.dispatchEvent(new Event("change"));
  draw();
  expect(root.querySelector(".confinement p")?.textContent?.trim()).toBe("Not confined.");
  expect(root.querySelector(".allow")?.textContent).toBe("Allow once without confinement");
  // What runs without confinement is asked each time.
  expect(words()).not.toContain("Allow for this plan");
  root.querySelector<HTMLElement>(".allow")!.click();
  expect(sent).toEqual([
    {
      kind: "decide",
      requestId: 1,
      method: "planloom/approval/respond",
      params: { approvalId: "x", decision: "allow" },
    },
    {
      kind: "decide",
      requestId: 2,
      method: "planloom/approval/respond",
      params: { approvalId: "x", decision: "allow", confinement: { confined: false, network: "none" } },
    },
  ]);
});

const FILE = { uri: "file:///home/me/app/a.ts", change: "edit" as const, resolvedPath: "/home/me/app/a.ts" };

test.each<[string, Partial<Approval>, string, string]>([
  ["a command", { command: "x".repeat(700) }, "x command", "Allow once without having seen the end of the command"],
  [
    "a diff",
    { effect: "write", command: undefined, files: [{ ...FILE, added: 200, removed: 40 }] },
    `x diff ${FILE.uri}`,
    "Allow once without having seen 240 changed lines of 1 file",
  ],
  [
    "a list of files",
    {
      effect: "write",
      command: undefined,
      files: [...Array(20).keys()].map((at) => ({ ...FILE, uri: `${FILE.uri}${at}`, added: 1, removed: 0 })),
    },
    "x files",
    "Allow once without having seen all 20 files",
  ],
])(
  "%s that is long is allowed when it was seen to its end, or by a button that says what was not",
  (_, more, key, words) => {
    const view = asking({ ...COMMAND, ...more } as Approval);
    const { panel, sent } = panelOf({ armed: ["x"] });
    const root = document.createElement("div");
    const draw = () => render(cards(panel, view), root);
    draw();
    const allow = () => root.querySelector<HTMLElement>(".allow")!;
    expect(allow().hasAttribute("disabled")).toBe(true);
    const unseen = root.querySelector<HTMLElement>(".unseen")!;
    expect(unseen.textContent?.trim()).toBe(words);
    expect(root.textContent).not.toContain("Allow for this plan");
    unseen.click();
    if (key.includes("diff")) panel.update((ui) => taken(ui, { kind: "seen", approvalId: "x", uri: FILE.uri }, EMPTY));
    else {
      expect(root.querySelector(`[data-end="${key}"]`)).not.toBeNull();
      panel.update((ui) => withSeen(ui, key));
    }
    draw();
    expect(allow().hasAttribute("disabled")).toBe(false);
    expect(root.querySelector(".unseen")).toBeNull();
    expect(root.textContent).toContain("Allow for this plan");
    expect(sent).toEqual([
      {
        kind: "decide",
        requestId: 1,
        method: "planloom/approval/respond",
        params: { approvalId: "x", decision: "allow" },
      },
    ]);
  },
);

test("the last change of a file is where its texts differ for the last time", () => {
  expect(lastChangedLine("a\nb\nc\n", "a\nb\nc\n")).toBeUndefined();
  expect(lastChangedLine("a\nb\nc\n", "a\nX\nc\n")).toBe(1);
  expect(lastChangedLine("", "a\nb\n")).toBe(1);
  expect(lastChangedLine("a\nb\nc\n", "c\n")).toBe(0);
  expect(lastChangedLine("a\n", "a\nb\nc\n")).toBe(2);
});

test("commands that are asked together are run or refused at once, or each for itself", () => {
  const command = (position: number) => ({
    ...COMMAND,
    approvalId: `x${position}`,
    command: `run ${position}`,
    listed: { listId: "x1", position, size: 3 },
  });
  const ready = plan([step("a", { status: "running" })], {
    status: "executing",
    pending: { approvals: [command(1), command(2), command(3)], questions: [], recoveries: [], conflicts: [] },
  });
  const view = viewOf(ready);
  const { panel, sent } = panelOf({ armed: ["x1 list", "x2"] });
  const root = drawn(cards(panel, view));
  const list = root.querySelector(".approval-list")!;
  expect(list.querySelector(".actions")?.textContent).toContain("3 commands of step 1");
  expect(list.querySelectorAll(".card.approval").length).toBe(3);
  list.querySelector<HTMLElement>('[data-approval="x2"] .allow')!.click();
  list.querySelector<HTMLElement>(".allow-all")!.click();
  list.querySelector<HTMLElement>(".deny-all")!.click();
  const answers = sent.map((each) => each.kind === "decide" && Object.values(each.params));
  const all = (decision: string) => ["x1", "x2", "x3"].map((id) => [id, decision]);
  expect(answers).toEqual([["x2", "allow"], ...all("allow"), ...all("deny")]);
});

test("a failed step offers what the server offers, in its words", () => {
  const recovery = { stepId: "a", error: "No network.", options: ["retry", "skip", "go_on", "abort"] as const };
  const now = plan([step("a", { status: "failed", tool: "run_command" })], {
    status: "paused",
    pending: { approvals: [], questions: [], recoveries: [recovery], conflicts: [] },
  });
  const titles = { retry: "Run again with network", skip: "Skip", go_on: "Skip and go on", abort: "End the plan" };
  const actions = Object.entries(titles).map(([action, title]) => ({
    title,
    command: "planloom.recover",
    arguments: ["p1", "a", action],
  }));
  const shown = () => {
    const { panel, sent } = panelOf();
    return { root: drawn(cards(panel, viewOf(now, {}, { a: { actions } }))), sent };
  };
  const words = (selector: string) =>
    [...shown().root.querySelectorAll(selector)].map((each) => each.textContent?.trim());
  expect(words(".actions vscode-button")).toEqual(["Run again with network", "Skip"]);
  expect(words(".actions [role=menuitem]")).toEqual(["Skip and go on", "End the plan", "Change and retry…"]);
  for (const [action, selector] of [
    ["retry", ".retry"],
    ["go_on", "#go_on-a"],
    ["abort", "#abort-a"],
  ] as const) {
    const { root, sent } = shown();
    root.querySelector<HTMLElement>(selector)!.click();
    expect(sent).toEqual([
      { kind: "decide", requestId: 1, method: "planloom/step/recover", params: { planId: "p1", stepId: "a", action } },
    ]);
  }
});

test("a background command that was stopped has not failed", () => {
  const { panel } = panelOf();
  const commands = [{ command: "npm run dev", words: "it was stopped" }];
  const root = drawn(outcome(panel, endedWith(REPORT, undefined, commands)));
  expect(root.querySelector(".commands li .codicon")?.getAttribute("aria-label")).toBe("did not end by itself");
  expect(root.querySelector(".commands .bad")).toBeNull();
});

test("the rows of the steps are one tab stop, which stays where the focus was", () => {
  const { panel } = panelOf();
  const steps60 = Array.from({ length: 60 }, (_, index) => step(`s${index + 1}`));
  const now = viewOf(plan(steps60));
  const root = drawn(steps(panel, now));
  document.body.append(root);
  const stops = () =>
    [...root.querySelectorAll('.step-row[tabindex="0"]')].map((each) => each.getAttribute("data-index"));
  const focused = () => document.activeElement?.getAttribute("data-index");
  const press = (key: string) => {
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    render(steps(panel, now), root);
  };
  expect(stops()).toEqual(["0"]);
  root.querySelector<HTMLElement>(".step-row")?.focus();
  press("ArrowDown");
  press("ArrowDown");
  expect(focused()).toBe("2");
  expect(stops()).toEqual(["2"]);
  press("End");
  expect(focused()).toBe("59");
  press("Home");
  expect(focused()).toBe("0");
  // A step that is edited has a form instead of a row.
  panel.change("p1", (forms) => (forms.step = draftOf(steps60[0]!)));
  render(steps(panel, now), root);
  expect(stops()).toEqual(["1"]);
  root.remove();
});

test("a plan that runs offers the step at work to the tab key", () => {
  const { panel } = panelOf();
  const root = drawn(
    steps(panel, viewOf(plan([step("a"), step("b", { status: "running" })], { status: "executing" }))),
  );
  expect([...root.querySelectorAll('.step-row[tabindex="0"]')].map((each) => each.getAttribute("data-index"))).toEqual([
    "1",
  ]);
});

test("a step that was undone by itself is redone by itself, one of an undone plan is not", () => {
  const redo = [{ title: "Redo this step", command: "planloom.redo", arguments: ["p1", "a"] }];
  const view = (a: Partial<StepView>): PlanView =>
    viewOf(
      plan([step("a", { status: "completed" }), step("b", { status: "completed" })], { status: "completed" }),
      {},
      { a },
    );
  const { panel, sent } = panelOf();
  panel.change("p1", (forms) => (forms.open = ["a", "b"]));
  expect(drawn(steps(panel, view({}))).querySelectorAll(".redo-step")).toHaveLength(0);
  const root = drawn(steps(panel, view({ actions: redo })));
  expect(root.querySelectorAll(".redo-step")).toHaveLength(1);
  root.querySelector<HTMLElement>(".redo-step")?.click();
  expect(sent).toEqual([
    { kind: "decide", requestId: 1, method: "planloom/plan/undo", params: { planId: "p1", stepId: "a", redo: true } },
  ]);
});

test("every field of the forms has a name", () => {
  const { panel } = panelOf();
  const asked = plan([step("a")]);
  panel.change("p1", (forms) => (forms.step = draftOf(asked.steps[0]!)));
  const form = drawn(steps(panel, viewOf(asked)));
  panel.change("p1", (forms) => (forms.texts.reject = ""));
  const prompt = drawn(planHeader(panel, viewOf(asked)));
  panel.change("p1", (forms) => delete forms.texts.reject);
  const head = drawn(planHeader(panel, viewOf(asked)));
  const names = [form, prompt, head].flatMap((root) =>
    [...root.querySelectorAll("vscode-textfield, vscode-textarea, vscode-single-select")].map((field) =>
      // The elements give their inner field this property as its name; they read no attribute for it.
      "label" in field ? field.label : undefined,
    ),
  );
  expect(names).toEqual([
    "Description",
    "Kind",
    "Tool",
    "Agent",
    "Instruction",
    "Runs only if",
    "For each of",
    "Again until",
    "Reason for rejecting",
  ]);
});

test("a draft that failed is tried again with its feedback, in the composer", () => {
  const { panel } = panelOf();
  const view = viewOf(plan([step("a")]), { draft: { feedback: "shorter", failed: true, warnings: [] } });
  drawn(planHeader(panel, view)).querySelector<HTMLElement>("#draft-again")!.click();
  expect([panel.ui.draft, panel.ui.asNew]).toEqual(["shorter", false]);
});

test("the panel speaks the editor's language", () => {
  speak("de", JSON.parse(readFileSync("l10n/bundle.l10n.de.json", "utf8")));
  try {
    const { panel } = panelOf();
    const root = drawn(planHeader(panel, viewOf(plan([step("a"), step("b")]))));
    expect(root.querySelector("#more")?.getAttribute("aria-label")).toBe("Weitere Aktionen");
    expect(root.querySelector("#about")?.textContent).toBe("Einzelheiten");
  } finally {
    speak("en", {});
  }
});

/** The state after the server has sent a step anew. */
function after(state: PanelState, one: Step): PanelState {
  const number = state.plans.p1!.number + 1;
  return withMessage(state, { planId: "p1", number, patch: { steps: [stepView(one, 1)] } }).state;
}

test("what a command prints stands in its step, not in the answer, and stays when the step has ended", () => {
  const running = step("a", { status: "running", attempts: 1 });
  const said = { planId: "p1", stepId: "a" };
  let state = stateOf(viewOf(plan([running], { status: "executing", route: "direct" })));
  state = withStream(state, { ...said, kind: "stdout", delta: "1 passed\n" });
  state = withStream(state, { ...said, kind: "stderr", delta: "a warning\n" });
  state = withStream(state, { ...said, kind: "text", delta: "All is well." });
  const { panel } = panelOf();
  panel.change("p1", (forms) => (forms.open = ["a"]));
  expect(drawn(outcome(panel, state.plans.p1!)).querySelector(".answer-text")?.textContent).toBe("All is well.");
  state = after(state, { ...running, status: "completed" });
  const rows = () => drawn(steps(panel, state.plans.p1!));
  expect(drawn(outcome(panel, state.plans.p1!)).querySelector(".answer-text")).toBeNull();
  expect(rows().querySelector(".printed")?.textContent).toBe("1 passed\na warning\n");
  state = after(state, { ...running, attempts: 2 });
  expect(rows().querySelector(".printed")).toBeNull();
});

test("what the model writes between its calls stands in the row of the running step, and then in its details", () => {
  const running = step("a", { status: "running", attempts: 1 });
  let state = stateOf(viewOf(plan([running, step("b")], { status: "executing" })));
  const says = (delta: string, kind: "text" | "reasoning" = "text") =>
    (state = withStream(state, { planId: "p1", stepId: "a", kind, delta }));
  const { panel } = panelOf();
  const row = () => drawn(steps(panel, state.plans.p1!)).querySelector("[data-step=a]")!;
  says("Let me think.", "reasoning");
  expect(row().querySelector(".doing")).toBeNull();
  says("The counter is read before it is set.");
  expect(row().querySelector(".doing")?.textContent).toBe("The counter is read before it is set.");
  says("\n\nIt is set in main.py.");
  expect(row().querySelector(".doing")?.textContent).toBe("It is set in main.py.");
  says("\n\nFixed.");
  const result = { ok: true, summary: "Fixed.", durationMs: 1, timestamp: "" };
  state = after(state, { ...running, status: "completed", result });
  expect(row().querySelector(".doing")).toBeNull();
  panel.change("p1", (forms) => (forms.open = ["a"]));
  const paragraphs = [...row().querySelectorAll(".words p")].map((each) => each.textContent);
  expect(paragraphs).toEqual(["The counter is read before it is set.", "It is set in main.py."]);
});

test("a step that edits a file shows the difference of its texts", () => {
  const args = { path: "a.py", old_text: "one\ntwo\n", new_text: "one\nthree\n" };
  const { panel } = panelOf();
  panel.change("p1", (forms) => (forms.open = ["a"]));
  const root = drawn(steps(panel, viewOf(plan([step("a", { tool: "edit_file", args })]))));
  expect(root.querySelector(".removed-line")?.textContent).toContain("two");
  expect(root.querySelector(".added-line")?.textContent).toContain("three");
  expect(root.querySelector(".args")?.textContent).toContain("a.py");
  expect(root.querySelector(".args")?.textContent).not.toContain("old_text");
});

test("the head has one main button, and a menu with everything else that the server offers", () => {
  const { panel, sent } = panelOf();
  const offered = ["approve", "reject", "direct", "pause", "regenerate"];
  const root = drawn(planHeader(panel, viewOf(plan([step("a"), step("b")]), { actions: offered })));
  const words = (selector: string) => [...root.querySelectorAll(selector)].map((each) => each.textContent?.trim());
  expect(words("vscode-button")).toEqual(["Start"]);
  expect(words("#menu-more [role=menuitem]")).toEqual([
    ...["Details", "Show as Graph", "reject", "direct", "pause", "regenerate", "Export…", "New request", "All plans"],
  ]);
  root.querySelector<HTMLElement>("#direct")!.click();
  expect(sent).toMatchObject([{ method: "planloom/plan/direct" }]);
});

test("in a folder that is not trusted the main button asks for trust", () => {
  const { panel } = panelOf({ server: { ...RUNNING, trusted: false } });
  const root = drawn(planHeader(panel, viewOf(plan([step("a")]))));
  expect([root.querySelector("#approve"), root.querySelector("[data-mend=trust]") !== null]).toEqual([null, true]);
});

test.each([
  ["who looks at the running step goes on to the next one", 100, "p1", ["b"]],
  ["who looks elsewhere stays there", -100, "p1", []],
  ["who looks at another plan stays there", 100, "p2", []],
])("%s", (_, top, nextPlan, expected) => {
  const root = drawn(nothing);
  const scrolled: string[] = [];
  const follow = follower(root);
  const display = (planId: string, a: StepStatus, b: StepStatus) => {
    const now = plan([step("a", { status: a }), step("b", { status: b })], { planId, status: "executing" });
    follow(now, () => {
      render(steps(panelOf().panel, viewOf(now)), root);
      for (const row of root.querySelectorAll<HTMLElement>(".step-row")) {
        row.getBoundingClientRect = () => new DOMRect(0, top, 100, 40);
        row.scrollIntoView = () => scrolled.push(row.parentElement?.dataset.step ?? "");
      }
    });
  };
  display("p1", "running", "ready");
  // Between two steps none runs.
  display("p1", "completed", "ready");
  display(nextPlan, "completed", "running");
  expect(scrolled).toEqual(expected);
});

test("what a step has asked before stands in its next question, and in the step", () => {
  const questions = [{ stepId: "a", question: "Which port exactly?" }];
  const view = viewOf(
    plan([step("a", { status: "needs_clarification" })], {
      status: "executing",
      pending: { approvals: [], questions, recoveries: [], conflicts: [] },
    }),
    {},
    { a: { asked: [{ question: "Which port?", answer: "80 or so" }] } },
  );
  const { panel } = panelOf();
  panel.change("p1", (forms) => (forms.open = ["a"]));
  const root = drawn(html`${cards(panel, view)} ${steps(panel, view)}`);
  const before = [...root.querySelectorAll(".asked-before")].map((each) =>
    each.textContent.replaceAll(/\s+/g, " ").trim(),
  );
  expect(before).toEqual(["Which port? 80 or so", "Which port? 80 or so"]);
  expect(root.querySelector(".card.question .asked")?.textContent).toBe("Which port exactly?");
});
