// @vitest-environment happy-dom
import { html, render } from "lit";
import { beforeEach, expect, test } from "vitest";

import type { FromPanel, ShownProposal } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";
import type { Approval, ApprovalFile, JudgedView } from "../src/protocol";
import { approvalCard } from "../src/webview/cards/approvalCard";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi, taken } from "../src/webview/uiState";
import { approvalView, plan, stateOf, step, viewOf } from "./plans";

const URI = "file:///w/a.txt";
const NOW = "a\nb\nc\nd\ne\nf\ng\n";
const PROPOSED = "A\nb\nc\nd\ne\nf\nG\n";
const root = document.createElement("div");
let sent: FromPanel[];
let panel: Panel;
let judged: JudgedView | undefined;

beforeEach(() => {
  sent = [];
  judged = undefined;
  panel = createPanel(
    { ...freshUi(), armed: ["x"] },
    { post: (message) => void sent.push(message), changed: () => undefined },
  );
});

function file(uri: string, more: Partial<ApprovalFile> = {}): ApprovalFile {
  return { uri, change: "edit", added: 2, removed: 2, resolvedPath: uri.slice(7), ...more };
}

function draw(...files: ApprovalFile[]): HTMLElement {
  const approval: Approval = {
    approvalId: "x",
    planId: "p1",
    stepId: "a",
    proposal: "",
    effect: "write",
    title: "Change",
    protected: false,
    files,
  };
  const words = approvalView("x", judged === undefined ? {} : { judged });
  render(html`${approvalCard(panel, viewOf(plan([step("a")]), { approvals: [words] }), approval)}`, root);
  return root;
}

function propose(more: Partial<ShownProposal> = {}): void {
  const proposal = { approvalId: "x", uri: URI, now: NOW, proposed: PROPOSED, text: PROPOSED, left: [], ...more };
  panel.update((ui) => taken(ui, { kind: "proposal", ...proposal }, EMPTY));
}

const boxes = () => [...root.querySelectorAll<HTMLInputElement>(".hunk-choice input")];
const applies = () => root.querySelector(".allow")!;

test("the lines of a single file are shown, those of several or of a long one only if asked for", () => {
  expect(draw(file(URI)).querySelectorAll("[data-asks]")).toHaveLength(1);
  expect(draw(file(URI, { added: 61 })).querySelectorAll("[data-asks]")).toHaveLength(0);
  expect(draw(file(URI), file("file:///w/b.txt")).querySelectorAll("[data-asks]")).toHaveLength(0);
  root.querySelectorAll<HTMLElement>(".lines")[1]!.click();
  draw(file(URI), file("file:///w/b.txt"));
  expect(root.querySelector("[data-asks]")?.getAttribute("data-uri")).toBe("file:///w/b.txt");
});

test("each hunk can be left out, and the button says how many are taken", () => {
  propose();
  draw(file(URI));
  expect(boxes().map((box) => box.checked)).toEqual([true, true]);
  expect(applies().textContent).toBe("Allow once");
  boxes()[1]!.dispatchEvent(new Event("change"));
  expect(sent).toEqual([{ kind: "leaveOut", approvalId: "x", uri: URI, hunks: [1] }]);
  propose({ left: [1], text: "A\nb\nc\nd\ne\nf\ng\n" });
  draw(file(URI));
  expect(boxes().map((box) => box.checked)).toEqual([true, false]);
  expect(applies().textContent).toBe("Allow 1 of 2");
  expect(root.textContent).not.toContain("Allow for this plan");
});

test("nothing can be applied if every hunk is left out", () => {
  propose({ left: [0, 1], text: NOW });
  expect(draw(file(URI)).querySelector(".allow")?.hasAttribute("disabled")).toBe(true);
});

test("what was changed in the editor is shown as it would be made, without boxes", () => {
  propose({ text: "A\nb\nc\nd\ne\nf\nmine\n" });
  draw(file(URI));
  expect(boxes()).toEqual([]);
  expect(root.querySelector(".file-changes")?.textContent).toContain("mine");
});

test("a change that overlaps with typing says so", () => {
  propose({ proposed: null, text: "" });
  expect(draw(file(URI)).querySelector(".file-changes")?.textContent).toContain("overlaps");
});

test("the texts of an approval are forgotten once it is answered", () => {
  propose();
  panel.update((ui) => taken(ui, { kind: "updates", updates: [] }, stateOf(viewOf(plan([step("a")])))));
  expect(panel.ui.proposals).toEqual({});
});

test("what is judged of the changes is one quiet line, and its problems lead to their places", () => {
  expect(draw(file(URI)).querySelector(".judged")).toBeNull();
  judged = { words: "No new problems (ty)" };
  expect(draw(file(URI)).querySelector("p.judged")!.textContent).toBe("No new problems (ty)");
  const problem = { path: "a.txt", severity: "error", kind: "error", message: "Unknown name" } as const;
  judged = {
    words: "3 new problems (ty)",
    problems: [
      { ...problem, uri: URI, line: 12 },
      { ...problem, uri: "file:///w/b.txt", line: 1 },
    ],
    more: "and 1 more",
  };
  const places = draw(file(URI)).querySelectorAll<HTMLElement>(".judged button");
  expect(root.querySelector("details.judged")!.hasAttribute("open")).toBe(false);
  expect(root.querySelector(".judged summary")!.textContent).toBe("3 new problems (ty)");
  expect(root.querySelector(".judged")!.textContent).toContain("and 1 more");
  for (const each of places) each.click();
  expect(sent.slice(-2)).toEqual([
    { kind: "diff", approvalId: "x", uri: URI, line: 11 },
    { kind: "open", uri: "file:///w/b.txt", line: 0 },
  ]);
});

test("the judgement is not shown for another text than the proposed one", () => {
  judged = { words: "No new problems (ty)" };
  propose({ text: "mine\n" });
  expect(draw(file(URI)).querySelector(".judged")).toBeNull();
  propose();
  expect(draw(file(URI)).querySelector(".judged")).not.toBeNull();
});
