// @vitest-environment happy-dom
import { html, render } from "lit";
import { beforeEach, expect, test } from "vitest";

import type { FromPanel, ShownProposal } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";
import type { Approval, ApprovalFile } from "../src/protocol";
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

beforeEach(() => {
  sent = [];
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
  render(html`${approvalCard(panel, viewOf(plan([step("a")]), { approvals: [approvalView("x")] }), approval)}`, root);
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
