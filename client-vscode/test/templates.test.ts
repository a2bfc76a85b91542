// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";

import { type FromPanel, readFromPanel, type ServerState } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";
import type { Template } from "../src/protocol";
import { composer } from "../src/webview/composer/composer";
import { filledValues, requestOf, templateSearch, templatesFor } from "../src/webview/composer/templates";
import { createPanel } from "../src/webview/ui";
import { freshUi, kept, taken, type Ui, withTemplate, withValue, written } from "../src/webview/uiState";
import { step } from "./plans";

const PACKAGE: Template = {
  templateId: "package",
  name: "New package",
  description: "A package with its test.",
  parameters: [
    { name: "name", type: "text", description: "What it is called" },
    { name: "size", type: "choice", options: ["small", "large"], default: "small" },
    { name: "where", type: "path", default: "." },
  ],
  steps: [step("a", { description: "Write {{name}}" })],
  builtin: true,
};
const RENAME: Template = { ...PACKAGE, templateId: "rename", name: "Rename across files", description: "Everywhere." };
const RUNNING: ServerState = { kind: "running", model: "m", problems: [], trusted: true, review: "each", reviews: [] };
const ui = (draft: string): Ui => written({ ...freshUi(), server: RUNNING }, draft, 0);

test("only a slash at the start of a single line searches for a template", () => {
  expect(["/", "/new pa", "/usr/bin/env", "a /new", "/new\nline"].map(templateSearch)).toEqual([
    "",
    "new pa",
    undefined,
    undefined,
    undefined,
  ]);
});

test("templates are found by the words of name and description, and only while the draft searches", () => {
  expect(templatesFor("pack test", [RENAME, PACKAGE]).map(({ label }) => label)).toEqual(["New package"]);
  const found = (draft: string) =>
    taken(ui(draft), { kind: "templates", templates: [RENAME, PACKAGE] }, EMPTY).suggestions.map(({ label }) => label);
  expect([found("/"), found("/everywhere"), found("Do it")]).toEqual([
    ["Rename across files", "New package"],
    ["Rename across files"],
    [],
  ]);
});

test("a template takes the place of the search, is asked for, planned with its values, and closed once taken", () => {
  const sent: FromPanel[] = [];
  const panel = createPanel(
    { ...ui("/pack"), suggestions: templatesFor("", [PACKAGE]) },
    { post: (message) => void sent.push(message), changed: () => undefined },
  );
  const draw = (): HTMLElement => {
    const root = document.createElement("div");
    render(composer(panel, undefined, { write: () => undefined, complete: () => undefined }), root);
    return root;
  };
  draw().querySelector("#suggestion-0")!.dispatchEvent(new MouseEvent("mousedown"));
  expect([panel.ui.draft, panel.ui.form?.template.name]).toEqual(["", "New package"]);
  const field = draw().querySelector("#template-name") as HTMLInputElement;
  field.value = "teapot";
  field.dispatchEvent(new Event("input"));
  const send = () => (draw().querySelector("#template-send") as HTMLElement).click();
  send();
  expect(sent).toEqual([]);
  const answer = (requestId: number) =>
    panel.update((now) =>
      taken(
        now,
        {
          kind: "templatePreview",
          requestId,
          templateId: "package",
          preview: { steps: [step("a", { description: "Write teapot" })], problems: [] },
        },
        EMPTY,
      ),
    );
  answer(0);
  expect(panel.ui.form?.preview).toBeUndefined();
  answer(1);
  expect(draw().querySelector(".template-steps")!.textContent).toContain("Write teapot");
  send();
  send();
  expect(sent).toEqual([
    {
      kind: "create",
      requestId: 1,
      text: "New package\nname: teapot",
      mode: "plan",
      templateId: "package",
      parameters: { name: "teapot" },
    },
  ]);
  expect(readFromPanel(sent[0])).toEqual(sent[0]);
  panel.update((now) => taken(now, { kind: "settled", requestId: 1, ok: true }, EMPTY));
  expect([panel.ui.form, panel.ui.history.sent]).toEqual([undefined, []]);
});

test("the list closes when the caret goes elsewhere", () => {
  const panel = createPanel(
    { ...ui("/"), suggestions: templatesFor("", [PACKAGE]) },
    { post: () => undefined, changed: () => undefined },
  );
  const root = document.createElement("div");
  render(composer(panel, undefined, { write: () => undefined, complete: () => undefined }), root);
  root.querySelector("#request")!.dispatchEvent(new Event("blur"));
  expect(panel.ui.suggestions).toEqual([]);
});

test("a value that does not fit is told at its field, an empty one is not", () => {
  let state = withValue(withTemplate(ui(""), PACKAGE), "where", "/etc");
  const problems = [
    { name: "name", problem: "it is required" },
    { name: "where", problem: "it must be a path in the workspace" },
  ];
  state = taken(
    state,
    { kind: "templatePreview", requestId: 1, templateId: "package", preview: { steps: [], problems } },
    EMPTY,
  );
  const root = document.createElement("div");
  const panel = createPanel(state, { post: () => undefined, changed: () => undefined });
  render(composer(panel, undefined, { write: () => undefined, complete: () => undefined }), root);
  expect([...root.querySelectorAll(".bad")].map((each) => each.textContent)).toEqual([
    "It must be a path in the workspace.",
  ]);
});

test("a form is there again on the next page; an empty field stands for its default", () => {
  const state = withValue(withValue(withTemplate(ui("A draft"), PACKAGE), "name", "teapot"), "where", " ");
  const next = freshUi(JSON.parse(JSON.stringify(kept(state))));
  expect([next.draft, next.asNew, next.form?.values]).toEqual(["A draft", true, { name: "teapot", where: " " }]);
  expect([filledValues(next.form!), requestOf(next.form!)]).toEqual([{ name: "teapot" }, "New package\nname: teapot"]);
});
