// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";

import { type FromPanel, readFromPanel } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";
import type { Step, StepFields, Template } from "../src/protocol";
import type { StepDraft } from "../src/webview/planForms";
import { draftOf, editOf, emptyDraft, hasWork } from "../src/webview/steps/stepDraft";
import { kindField, nameOf, nodeFields } from "../src/webview/steps/stepForm";
import { createPanel } from "../src/webview/ui";
import { freshUi, taken } from "../src/webview/uiState";
import { plan, step } from "./plans";

const template = (name: string, templateId = name, parameters: Template["parameters"] = []): Template => ({
  templateId,
  name,
  parameters,
  steps: [],
  builtin: false,
});

const NEW: readonly (readonly [Partial<StepDraft>, StepFields])[] = [
  [
    { kind: "check", checks: [{ kind: "command", command: "make test" }] },
    { kind: "check", checks: [{ kind: "command", command: "make test" }] },
  ],
  [{ kind: "approval" }, { kind: "approval" }],
  [
    { kind: "approval", question: " Deploy? " },
    { kind: "approval", question: "Deploy?" },
  ],
  [
    { kind: "clarification", question: "Which?" },
    { kind: "clarification", question: "Which?" },
  ],
  [
    { kind: "sub_plan", template: "Add tests", values: { path: "a.py", style: " " } },
    { kind: "sub_plan", templateId: "Add tests", args: { path: "a.py" } },
  ],
];

test.each(NEW)("the form %j makes the step %j, which the extension takes", (typed, made) => {
  // What was typed for a task before another kind was chosen is left out.
  const edit = editOf({ ...emptyDraft("a"), description: "Next", tool: "run_command", ...typed }, undefined);
  const said = { agent: "koda", critical: false, dependsOn: [], description: "Next", instruction: "Next" };
  expect(edit).toEqual({ op: "add", after: "a", step: { ...said, ...made } });
  const message = { kind: "decide", method: "planloom/plan/edit", params: { planId: "p", version: 1, edits: [edit] } };
  expect(readFromPanel(message)).toEqual(message);
});

const LACKING: readonly Partial<StepDraft>[] = [
  { kind: "check" },
  { kind: "check", checks: [{ kind: "file_contains", path: "a.py" }] },
  { kind: "clarification", question: " " },
  { kind: "sub_plan" },
];

test.each(LACKING)("%j lacks something", (typed) => {
  expect(editOf({ ...emptyDraft(null), description: "Next", ...typed }, undefined)).toHaveProperty("problem");
});

const CHANGED: readonly (readonly [string, Partial<Step>, Partial<StepDraft>, StepFields | undefined])[] = [
  ["nothing", { kind: "sub_plan", templateId: "Add tests", args: { count: 2 } }, {}, undefined],
  ["no outcome of a check", { kind: "check", checks: [{ kind: "no_new_errors", outcome: "passed" }] }, {}, undefined],
  ["a value", { kind: "sub_plan", templateId: "t", args: { a: "1" } }, { values: { a: "2" } }, { args: { a: "2" } }],
  [
    "a task to a sub-plan",
    { kind: "tool_call", tool: "read_file", args: { path: "x" } },
    { kind: "sub_plan", template: "t", values: {} },
    { kind: "sub_plan", templateId: "t", args: {} },
  ],
  [
    "a sub-plan to a task",
    { kind: "sub_plan", templateId: "t", args: { a: "1" } },
    { kind: "task", values: {} },
    { kind: "processing", templateId: null, args: null },
  ],
  [
    "an approval to a task",
    { kind: "approval", question: "Yes?" },
    { kind: "task" },
    { kind: "processing", question: null },
  ],
  [
    "an approval to a question",
    { kind: "approval", question: "Yes?" },
    { kind: "clarification" },
    { kind: "clarification" },
  ],
  [
    "the question of a task stays",
    { kind: "processing", question: "Which?" },
    { description: "New" },
    { description: "New" },
  ],
];

test.each(CHANGED)("a change of a step sends only what differs: %s", (_, of, typed, set) => {
  const old = step("a", of);
  const expected = set === undefined ? undefined : { op: "update", stepId: "a", set };
  expect(editOf({ ...draftOf(old), ...typed }, old)).toEqual(expected);
});

test("what is typed for a check or chosen for a sub-plan is not lost", () => {
  const work = (typed: Partial<StepDraft>) => hasWork({ ...emptyDraft(null), ...typed }, plan([]));
  expect(work({ kind: "check", checks: [{ kind: "command" }] })).toBe(false);
  expect(work({ kind: "check", checks: [{ kind: "command", command: "make" }] })).toBe(true);
  expect(work({ kind: "sub_plan", template: "t" })).toBe(true);
});

test("a template is named by its name, by its id where another has the name too", () => {
  const all = [template("Add tests", "1"), template("add tests", "2"), template("Tidy", "3")];
  expect(all.map((each) => nameOf(each, all))).toEqual(["1", "2", "Tidy"]);
});

test("a sub-plan's form offers the templates, and a field for each parameter of the chosen one", () => {
  const templates = [template("Add tests", "1", [{ name: "path", type: "path" }]), template("Tidy", "2")];
  const ui = taken(freshUi(), { kind: "templates", templates }, EMPTY);
  const sent: FromPanel[] = [];
  const panel = createPanel(ui, { post: (message) => void sent.push(message), changed: () => undefined });
  let draft: StepDraft = { ...emptyDraft(null), kind: "sub_plan" };
  const root = document.createElement("div");
  const draw = () => render(nodeFields(panel, draft, write), root);
  const write = (change: (draft: StepDraft) => void) => {
    draft = structuredClone(draft);
    change(draft);
    draw();
  };
  draw();
  const select = root.querySelector("#step-template") as HTMLElement & { value: string };
  expect([...select.querySelectorAll("vscode-option")].map((each) => each.textContent)).toEqual([
    "",
    "Add tests",
    "Tidy",
  ]);
  Object.assign(select, { value: "Add tests" });
  select.dispatchEvent(new Event("change"));
  const field = root.querySelector("#step-value-path") as HTMLElement & { value: string };
  Object.assign(field, { value: "a.py" });
  field.dispatchEvent(new Event("input"));
  expect(draft).toMatchObject({ template: "Add tests", values: { path: "a.py" } });
  // A value that the next template has no parameter for would be refused.
  Object.assign(select, { value: "Tidy" });
  select.dispatchEvent(new Event("change"));
  expect(draft).toMatchObject({ template: "Tidy", values: {} });
});

test("a check that was begun and left is none", () => {
  let draft: StepDraft = { ...emptyDraft(null), description: "Next" };
  const root = document.createElement("div");
  const choose = (kind: string) => {
    render(
      kindField(draft, (change) => {
        draft = structuredClone(draft);
        change(draft);
      }),
      root,
    );
    const select = Object.assign(root.querySelector("#step-kind") as HTMLElement, { value: kind });
    select.dispatchEvent(new Event("change"));
  };
  choose("check");
  expect(draft.checks).toEqual([{ kind: "command" }]);
  choose("task");
  expect(editOf(draft, undefined)).toMatchObject({ op: "add", step: { kind: "processing" } });
});

test("a sub-plan whose template is not there keeps its name", () => {
  const panel = createPanel(freshUi(), { post: () => undefined, changed: () => undefined });
  const root = document.createElement("div");
  render(
    nodeFields(panel, draftOf(step("a", { kind: "sub_plan", templateId: "Gone" })), () => undefined),
    root,
  );
  expect(root.querySelector("vscode-option[selected]")?.textContent).toBe("Gone");
});
