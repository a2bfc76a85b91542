import { expect, test } from "vitest";

import type { ServerState } from "../src/panel/messages";
import { EMPTY, type PanelState } from "../src/plan/views";
import type { Attachment } from "../src/protocol";
import { type Form, formsOf, withForms } from "../src/webview/planForms";
import { emptyDraft } from "../src/webview/steps/stepDraft";
import {
  composed,
  created,
  decided,
  freshUi,
  isBusy,
  isSending,
  kept,
  taken,
  type Ui,
  withOtherPlan,
  written,
} from "../src/webview/uiState";
import { plan, stateOf, viewOf } from "./plans";

const RUNNING: ServerState = { kind: "running", model: "m", problems: [], trusted: true, review: "each", reviews: [] };
const NOW = Date.parse("2030-01-01T12:00:00Z");
const running = (): Ui => ({ ...freshUi(), server: RUNNING });
const settled = (ui: Ui, requestId: number, ok = true): Ui => taken(ui, { kind: "settled", requestId, ok }, EMPTY);
/** The page that comes after this one. */
const reloaded = (ui: Ui): Ui => ({ ...freshUi(JSON.parse(JSON.stringify(kept(ui)))), server: RUNNING });

/** What is known once a plan of this request was made at this time. */
function knowing(request: string, createdAt: string, attachments: readonly Attachment[] = []): PanelState {
  return stateOf(viewOf(plan([], { request, createdAt, attachments })));
}

test("a selection takes the place of an empty draft, comes after another one, and is not repeated", () => {
  const first = composed(running(), "Fix it", NOW);
  expect([first.draft, first.caret]).toEqual(["Fix it", 6]);
  const second = composed(written(running(), "Look here:\n", NOW), "Fix it", NOW);
  expect([second.draft, second.caret, second.typing]).toEqual(["Look here:\nFix it", 17, 2]);
  expect(composed(second, "Fix it", NOW).draft).toBe(second.draft);
  expect(composed(written(running(), "Tidy up", NOW), "up", NOW).draft).toBe("Tidy up\nup");
  expect(composed(second, undefined, NOW)).toMatchObject({ draft: second.draft, caret: 17, typing: 2 });
});

test("an answer about an older text is ignored", () => {
  const ui = written(written(running(), "a", NOW), "ab", NOW);
  const detection = { planned: true, rule: "none" as const, score: 1, ambiguous: false, words: "one small task" };
  const answer = (requestId: number) =>
    taken(ui, { kind: "detection", requestId, detection, planned: true }, EMPTY).verdict;
  expect(answer(1)).toBeUndefined();
  expect(answer(2)).toEqual({ typing: 2, detection, planned: true });
});

test("a request is sent once, and its text goes when it was taken", () => {
  const sent = created(written(running(), "Build it", NOW), { kind: "create", text: "Build it", mode: "auto" });
  expect(sent.message).toEqual({ kind: "create", requestId: 1, text: "Build it", mode: "auto" });
  expect([isSending(sent.ui), created(sent.ui, { kind: "create", text: "Build it", mode: "auto" }).message]).toEqual([
    true,
    undefined,
  ]);
  expect(settled(sent.ui, 1)).toMatchObject({ draft: "", requests: {} });
  const refused = settled(sent.ui, 1, false);
  expect([refused.draft, isSending(refused)]).toEqual(["Build it", false]);
});

test("what came to the draft while its request was on its way stays", () => {
  const sent = created(written(running(), "Build it", NOW), { kind: "create", text: "Build it", mode: "auto" });
  expect(settled(composed(sent.ui, "And this", NOW), 1).draft).toBe("And this");
});

test("nothing is sent without words or without a server", () => {
  expect(created(written(running(), " ", NOW), { kind: "create", text: " ", mode: "auto" }).message).toBeUndefined();
  expect(created(freshUi(), { kind: "create", text: "Build it", mode: "auto" }).message).toBeUndefined();
});

test("forms belong to their plan", () => {
  const ui = withForms(
    withForms(running(), "a", (forms) => (forms.texts.reject = "no")),
    "b",
    (forms) => forms.open.push("step_1"),
  );
  expect(formsOf(ui, "a")).toMatchObject({ texts: { reject: "no" }, open: [] });
  expect(formsOf(ui, "b")).toMatchObject({ open: ["step_1"] });
  expect([formsOf(ui, "b").texts.reject, formsOf(ui, "c").open]).toEqual([undefined, []]);
});

test("a change of a form leaves the state before it as it was", () => {
  const before = withForms(running(), "a", (forms) => (forms.step = emptyDraft(null)));
  withForms(before, "a", (forms) => (forms.step!.description = "typed"));
  expect(formsOf(before, "a").step?.description).toBe("");
});

test.each<[Form, (ui: Ui) => unknown]>([
  ["step", (ui) => formsOf(ui, "a").step],
  ["reject", (ui) => formsOf(ui, "a").texts.reject],
  ["skip x", (ui) => formsOf(ui, "a").texts["skip x"]],
  ["answer x", (ui) => formsOf(ui, "a").texts["answer x"]],
  ["retry x", (ui) => formsOf(ui, "a").texts["retry x"]],
  ["conflict x", (ui) => formsOf(ui, "a").choices["conflict x file:///w/a"]],
])("a request that was taken closes the form %j and no other", (form, read) => {
  const everything = (ui: Ui, planId: string): Ui =>
    withForms(ui, planId, (forms) => {
      Object.assign(forms, {
        step: emptyDraft(null),
        texts: { reject: "no", "skip x": "no", "answer x": "yes", "retry x": "{}" },
        choices: { "conflict x file:///w/a": "mine" },
      });
    });
  const full = everything(everything(running(), "a"), "b");
  const sent = decided(full, "a", { kind: "decide", method: "planloom/plan/pause", params: { planId: "a" } }, form);
  expect([
    isBusy(sent.ui, "a", form),
    isBusy(sent.ui, "b", form),
    decided(sent.ui, "a", { kind: "decide", method: "planloom/plan/pause", params: { planId: "a" } }, form).message,
  ]).toEqual([true, false, undefined]);
  const after = settled(sent.ui, 1);
  expect(read(after)).toBeUndefined();
  expect(formsOf(after, "b")).toEqual(formsOf(full, "b"));
  const open = (ui: Ui): number =>
    Object.values(formsOf(ui, "a")).flatMap((each) => (typeof each === "object" ? Object.values(each) : [])).length;
  expect(
    open(settled(decided(full, "a", { kind: "decide", method: "planloom/plan/pause", params: { planId: "a" } }).ui, 1)),
  ).toBe(open(full));
});

test("a refused edit stands in its own form; one that was made by a button leaves the form alone", () => {
  const edit = {
    kind: "decide",
    method: "planloom/plan/edit",
    params: { planId: "a", version: 1, edits: [] },
  } as const;
  const form = withForms(running(), "a", (forms) => (forms.step = { ...emptyDraft(null), description: "half" }));
  const told = (ui: Ui): Ui => taken(ui, { kind: "notice", level: "error", message: "no such tool" }, EMPTY);
  const refused = settled(told(decided(form, "a", edit, "step").ui), 1, false);
  expect([formsOf(refused, "a").step?.problem, refused.notices]).toEqual(["no such tool", []]);
  const byButton = decided(form, "a", edit).ui;
  expect(formsOf(settled(byButton, 1), "a").step?.description).toBe("half");
  expect(settled(told(byButton), 1, false).notices).toHaveLength(1);
});

test("what a request was told stays to be read; what stood before it goes", () => {
  const notice = (ui: Ui, message: string): Ui => taken(ui, { kind: "notice", level: "warning", message }, EMPTY);
  const asked = decided(notice(running(), "old"), "a", {
    kind: "decide",
    method: "planloom/plan/undo",
    params: { planId: "a" },
  }).ui;
  expect(settled(notice(asked, "1 file could not be taken back"), 1).notices.map((each) => each.message)).toEqual([
    "1 file could not be taken back",
  ]);
});

test.each([
  ["a request", 1_000_001, "1,000,001 characters, and 1,000,000"],
  ["a merged text", 20_000_001, "20,000,001 characters, and 20,000,000"],
])("%s that is too long is not sent, and says so; nothing waits for it", (what, length, said) => {
  const text = "x".repeat(length);
  const form = "conflict e" as const;
  const files = [{ uri: "file:///w/a", choice: "text" as const, text }];
  const { ui, message } =
    what === "a request"
      ? created(written(running(), text, NOW), { kind: "create", text, mode: "auto" })
      : decided(
          running(),
          "a",
          { kind: "decide", method: "planloom/conflict/resolve", params: { planId: "a", editId: "e", files } },
          form,
        );
  expect([message, isSending(ui), isBusy(ui, "a", form)]).toEqual([undefined, false, false]);
  expect(ui.notices.map((each) => each.message)).toEqual([`This was not sent: a text in it has ${said} are allowed.`]);
});

test("a page that comes back has what was typed, and waits for nothing", () => {
  const typed = withForms(written(running(), "half a request", NOW), "a", (forms) => {
    Object.assign(forms, {
      step: { ...emptyDraft("s1"), values: { path: "{" } },
      texts: { reject: "shorter" },
      open: ["s1"],
      review: "end",
      choices: { "e file:///a": "both" },
    });
  });
  const back = reloaded(created(typed, { kind: "create", text: "half a request", mode: "auto" }).ui);
  expect([back.draft, isSending(back)]).toEqual(["half a request", false]);
  expect(formsOf(back, "a")).toEqual(formsOf(typed, "a"));
});

test("a request that was sent while the page went away does not come back as a draft", () => {
  const back = reloaded(written(running(), "Build it", NOW));
  const state = (createdAt: string) =>
    taken(back, { kind: "state", state: EMPTY }, knowing("Build it", createdAt)).draft;
  expect(state("2030-01-01T12:00:01Z")).toBe("");
  expect(state("2030-01-01T11:00:00Z")).toBe("Build it");
  const typedAgain = written(back, "Build it", NOW);
  expect(taken(typedAgain, { kind: "state", state: EMPTY }, knowing("Build it", "2030-01-01T12:00:01Z")).draft).toBe(
    "Build it",
  );
});

test("the images of a request that was sent while the page went away do not come back either", () => {
  const images = ["a", "b"].map((name, index) => ({ id: index + 1, name, uri: `file:///w/${name}.png` }));
  const back = reloaded({ ...written(running(), "Build it", NOW), images });
  const known = knowing("Build it", "2030-01-01T12:00:01Z", [
    { id: "1", kind: "image", reference: "a", uri: "file:///w/a.png", bytes: 1, truncated: false },
  ]);
  expect(taken(back, { kind: "state", state: EMPTY }, known).images).toEqual([images[1]]);
});

test.each<{ draft?: unknown; plans?: unknown } | string | null | undefined>([
  undefined,
  null,
  "text",
  { draft: 5 },
  { draft: "a", plans: { p: { open: "x" } } },
  { draft: "a" },
])("anything may be left behind by the page before: %j", (left) => {
  const ui = freshUi(left);
  expect([ui.draft, ui.plans]).toEqual([
    typeof left === "object" && typeof left?.draft === "string" ? left.draft : "",
    {},
  ]);
});

test("forms of the plans that were changed last are kept", () => {
  let ui = running();
  for (let index = 0; index < 30; index++) ui = withForms(ui, `p${index}`, (forms) => forms.open.push("s"));
  ui = withForms(ui, "p0", (forms) => forms.open.push("t"));
  const names = Object.keys(kept(ui).plans);
  expect([names.length, names.includes("p0"), names.includes("p1")]).toEqual([20, true, false]);
});

test("how far plans were scrolled is kept for the next page, of many plans the last", () => {
  const scrolls = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`p${index}`, index]));
  const next = freshUi(kept({ ...freshUi(), scrolls }));
  expect([Object.keys(next.scrolls).length, next.scrolls.p24, next.scrolls.p0]).toEqual([20, 24, undefined]);
});

test("the cards of a plan that is shown come into view once", () => {
  expect(taken(freshUi(), { kind: "display" }, { plans: {} }).toCards).toBe(true);
});

test("what the commands of the displayed plan have printed is kept, of however many steps, until another is displayed", () => {
  const keys = Array.from({ length: 60 }, (_, index) => `plan s${index} 1`);
  const all = keys.reduce((ui, key) => taken(ui, { kind: "output", key, commands: [] }, EMPTY), freshUi());
  expect([Object.keys(all.outputs), withOtherPlan(all).outputs]).toEqual([keys, {}]);
});

test("the condition and the loop in a step's form are there after a reload", () => {
  const ui = freshUi();
  const step = { ...emptyDraft("s1"), when: "exists('a')", forEach: "$look", repeatUntil: "last.ok" };
  const next = reloaded({ ...ui, plans: { plan: { ...formsOf(ui, "plan"), step } } });
  expect(formsOf(next, "plan").step).toEqual(step);
});
