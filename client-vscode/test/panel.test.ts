// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { html, render } from "lit";
import { expect, test } from "vitest";

import type { FromPanel } from "../src/messages";
import { replay } from "../src/planState";
import { sameFile, cards } from "../src/webview/cards";
import { composer, referenceBefore } from "../src/webview/composer";
import { pathOf } from "../src/webview/format";
import { planHeader } from "../src/webview/planHeader";
import { editOf, emptyDraft, draftOf } from "../src/webview/stepForm";
import { steps } from "../src/webview/steps";
import { outcome } from "../src/webview/summary";
import { freshUi, type Panel } from "../src/webview/ui";
import { plan, step, Stream } from "./events";

const PAYLOADS = ["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "javascript:alert(1)", '"><svg onload=alert(1)>', "![x](https://evil.test/x.png)", "command:planloom.approve"];

const asked = (route: "plan" | "perspectives") => ({ request: "Build a page", route, detection: { planned: true, rule: "none" as const, score: 1, ambiguous: false }, attachments: [], unresolved: [], workspaceFolders: ["file:///w"] });

function panelOf(): { panel: Panel; sent: FromPanel[] } {
  const sent: FromPanel[] = [];
  const ui = freshUi("");
  return { panel: { ui, post: (message) => sent.push(message), update: (change) => change?.(ui) }, sent };
}

/** A plan with `text` in every field that reaches the panel. */
function everywhere(text: string): Stream {
  const first = step("a", { description: text, instruction: text, activeForm: text, tool: text, args: { path: text, [text]: text }, checks: [{ kind: "command", command: text, text, detail: text }], result: { ok: false, summary: text, error: text, durationMs: 1, timestamp: "" }, toolsExecuted: [{ tool: text, args: { path: text }, ok: true, deduplicated: false, summary: text, durationMs: 1 }], status: "failed" });
  const approval = { approvalId: "x", planId: "p1", stepId: "a", proposal: "", effect: "execute" as const, title: text, warning: text, command: text, cwd: text, protected: true, files: [{ uri: `file:///w/${text}`, change: "edit" as const, added: 1, removed: 1, resolvedPath: text }] };
  const ready = plan([first], {
    request: text,
    summary: text,
    status: "paused",
    attachments: [{ id: "1", kind: "file", reference: text, label: text, bytes: 1, truncated: true, note: text }],
    perspectives: { chapo: { agent: "chapo", analysis: text, concerns: [text], recommendations: [text], estimatedEffort: "small" } },
    error: { code: "x", message: text, hint: text, rawText: text },
    pending: { approvals: [approval], questions: [{ stepId: "a", question: text, options: [text] }], recoveries: [{ stepId: "a", error: text, options: ["retry", "accept"], proposal: { action: "retry", why: text, args: { x: text } } }], conflicts: [{ editId: "e", stepId: "a", files: [{ uri: `file:///w/${text}`, hunks: [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, base: text, mine: text, theirs: text }] }] }] },
  });
  return new Stream().start().add("plan_ready", { plan: ready }).add("log", { level: "error", message: text }).add("answer", { taskId: "a", text });
}

test.each(PAYLOADS)("%s is text wherever it stands", (payload) => {
  const view = replay(everywhere(payload).events)!;
  const { panel } = panelOf();
  panel.ui.open.add("a");
  const root = document.createElement("div");
  render(html`${planHeader(panel, view)} ${cards(panel, view)} ${steps(panel, view)} ${outcome(panel, view)}`, root);
  expect(root.querySelectorAll("img, script, svg, iframe, a").length).toBe(0);
  expect([...root.querySelectorAll("*")].flatMap((element) => element.getAttributeNames()).filter((name) => name.startsWith("on"))).toEqual([]);
  expect(root.textContent?.split(payload).length).toBeGreaterThan(15);
});

test("an Apply works only once its card has been in view", () => {
  const view = replay(everywhere("text").events)!;
  const { panel, sent } = panelOf();
  const root = document.createElement("div");
  const draw = () => render(cards(panel, view), root);
  draw();
  expect(root.querySelector(".allow")?.hasAttribute("disabled")).toBe(true);
  panel.ui.armed.add("x");
  draw();
  root.querySelector<HTMLElement>(".allow")?.click();
  expect(sent).toEqual([{ kind: "respond", approvalId: "x", decision: "allow" }]);
});

test("the composer shows the verdict and what its keys do", () => {
  const { panel } = panelOf();
  panel.ui.draft = "Build a page";
  panel.ui.server = { kind: "running", model: "m", problems: [], trusted: true, unasked: [] };
  panel.ui.verdict = { planned: false, rule: "none", score: 1, ambiguous: false };
  const sent: string[] = [];
  const root = document.createElement("div");
  render(composer(panel, false, { typed: () => undefined, send: (mode) => sent.push(mode) }), root);
  expect(root.querySelector("#verdict")?.textContent).toContain("Runs directly");
  const area = root.querySelector("#request")!;
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", altKey: true }));
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey: true }));
  expect(sent).toEqual(["auto", "plan"]);
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

test("an edited step sends only what differs", () => {
  const old = step("a", { tool: "read_file", kind: "tool_call", args: { path: "x" } });
  expect(editOf(draftOf(old), old)).toBeUndefined();
  expect(editOf({ ...draftOf(old), description: "New", args: '{"path": "y"}' }, old)).toEqual({ op: "update", stepId: "a", set: { description: "New", args: { path: "y" } } });
  expect(editOf({ ...draftOf(old), tool: "", args: "" }, old)).toEqual({ op: "update", stepId: "a", set: { tool: null, kind: "processing", args: null } });
  expect(editOf({ ...draftOf(old), args: "{" }, old)).toHaveProperty("problem");
  expect(editOf({ ...emptyDraft("a"), description: "Next" }, undefined)).toMatchObject({ op: "add", after: "a", step: { description: "Next", kind: "processing" } });
});

test("paths are told as a person knows them", () => {
  expect(pathOf("file:///w/src/a%20b.py", ["file:///w"])).toBe("src/a b.py");
  expect(pathOf("file:///w/one/a.py", ["file:///w/one", "file:///w/two"])).toBe("one/a.py");
  expect(pathOf("file:///other/a.py", ["file:///w"])).toBe("/other/a.py");
  expect(sameFile("file:///w/a.py", "/w/a.py")).toBe(true);
  expect(sameFile("file:///w/link.py", "/etc/passwd")).toBe(false);
});

test("every command of the table is declared, and the other way round", () => {
  const declared = (JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { commands: { command: string }[] } }).contributes.commands.map(({ command }) => command);
  const table = [...readFileSync("src/commands.ts", "utf8").matchAll(/^ {2}"(planloom\.ui\.\w+)":/gm)].map(([, id]) => id);
  expect(table.filter((id) => id !== "planloom.ui.focus")).toEqual(declared);
});

test("perspectives: who thinks, who said something, who failed, who is to come", () => {
  const said = { agent: "chapo" as const, analysis: "Small, but public.", concerns: ["Names"], recommendations: [], estimatedEffort: "small", riskAssessment: "Low" };
  const stream = new Stream().add("plan_start", { ...asked("perspectives") }).add("plan_drafting", { version: 1 });
  const shownNow = (): Record<string, string | undefined> => {
    const root = document.createElement("div");
    render(planHeader(panelOf().panel, replay(stream.events)!), root);
    const rows = [...root.querySelectorAll<HTMLElement>(".perspective")].map((row) => [row.dataset["agent"], row.dataset["state"]]);
    return { ...Object.fromEntries(rows), thought: root.querySelector(".figures span")?.textContent ?? "" };
  };
  expect(shownNow()).toEqual({ chapo: "to come", koda: "to come", devo: "to come", thought: "Thinking…" });
  stream.add("perspective_start", { agent: "chapo" });
  expect(shownNow()).toEqual({ chapo: "thinking", koda: "to come", devo: "to come", thought: "Strategy is thinking…" });
  stream.add("perspective_complete", { agent: "chapo", perspective: said }).add("perspective_start", { agent: "koda" }).add("perspective_start", { agent: "devo" });
  expect(shownNow()).toEqual({ chapo: "done", koda: "thinking", devo: "thinking", thought: "Code and Operations are thinking…" });
  stream.add("perspective_complete", { agent: "devo", error: "No answer" }).add("perspective_complete", { agent: "koda", perspective: { ...said, agent: "koda" } });
  expect(shownNow()).toEqual({ chapo: "done", koda: "done", devo: "failed", thought: "Making one plan of the perspectives…" });
});
