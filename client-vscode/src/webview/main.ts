// The panel: folds what the extension forwards, draws it once a frame, and sends back what the person decides.

import "@vscode-elements/elements/dist/vscode-button/index.js";
import "@vscode-elements/elements/dist/vscode-checkbox/index.js";
import "@vscode-elements/elements/dist/vscode-collapsible/index.js";
import "@vscode-elements/elements/dist/vscode-option/index.js";
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import "@vscode-elements/elements/dist/vscode-single-select/index.js";
import "@vscode-elements/elements/dist/vscode-textarea/index.js";
import "@vscode-elements/elements/dist/vscode-textfield/index.js";
import { html, nothing, render } from "lit";

import { readToPanel, type FromPanel, type ToPanel } from "../messages";
import { currentView, EMPTY, fold, withStream, type PanelState } from "../planState";
import type { Mode } from "../protocol";
import { cards } from "./cards";
import { composer, referenceBefore } from "./composer";
import { planHeader } from "./planHeader";
import { steps } from "./steps";
import { outcome } from "./summary";
import { freshUi, icon, iconButton, shown, type Panel, type View } from "./ui";

interface Host {
  postMessage(message: FromPanel): void;
  getState(): unknown;
  setState(state: { draft: string }): void;
}
declare function acquireVsCodeApi(): Host;

/** How long a card must have been in view before its Apply works: it may have slid under a click. */
const ARM_MS = 250;
const DETECT_MS = 120;

const host = acquireVsCodeApi();
const root = document.querySelector<HTMLElement>("#root") ?? document.body;
const kept = host.getState();
const ui = freshUi(typeof kept === "object" && kept !== null && "draft" in kept && typeof kept.draft === "string" ? kept.draft : "");
let state: PanelState = EMPTY;
let drawing = false;
let requestId = 0;
let detecting: ReturnType<typeof setTimeout> | undefined;

const panel: Panel = {
  ui,
  post: (message) => host.postMessage(message),
  update(change) {
    change?.(ui);
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(draw);
  },
};

window.addEventListener("message", (event: MessageEvent<unknown>) => {
  const message = readToPanel(event.data);
  if (message !== undefined) panel.update(() => take(message));
});

function take(message: ToPanel): void {
  switch (message.kind) {
    case "state":
      state = message.state;
      return;
    case "events":
      for (const event of message.events) state = fold(state, event).state;
      return;
    case "streams":
      for (const delta of message.deltas) state = withStream(state, delta);
      return;
    case "server":
      ui.server = message.server;
      return;
    case "completions":
      if (message.requestId === requestId) [ui.suggestions, ui.suggestion] = [message.items, 0];
      return;
    case "detection":
      if (message.requestId === requestId) ui.verdict = message.detection;
      return;
    case "compose":
      compose(message.text);
      return;
    case "notice":
      ui.notices = [...ui.notices, message].slice(-3);
      return;
    case "settled":
      if (message.ok) settle(message.of);
      else if (message.of === "edit") refuseStep();
      return;
  }
}

/** Clear what a request carried only once it was taken: refused words stay to be mended. */
function settle(of: string): void {
  if (of === "create") setDraft("");
  if (of === "edit") ui.step = undefined;
  if (of === "respond") ui.skips.clear();
  if (of === "answer") ui.answers.clear();
  if (of === "recover") ui.retryArgs.clear();
  ui.notices = [];
}

/** What is wrong with a step stands in its form, which may be far from where notices are. */
function refuseStep(): void {
  const said = ui.notices.at(-1);
  if (ui.step === undefined || said === undefined) return;
  ui.step.problem = said.message;
  ui.notices = ui.notices.slice(0, -1);
}

function compose(text: string | undefined): void {
  if (text !== undefined) setDraft(text);
  requestAnimationFrame(() => {
    const area = document.querySelector<HTMLTextAreaElement>("#request");
    area?.focus();
    area?.setSelectionRange(ui.draft.length, ui.draft.length);
    if (area !== null) typed(area);
  });
}

function setDraft(text: string): void {
  ui.draft = text;
  ui.suggestions = [];
  if (text === "") ui.verdict = undefined;
  host.setState({ draft: text });
}

function typed(area: HTMLTextAreaElement): void {
  ui.draft = area.value;
  host.setState({ draft: ui.draft });
  requestId += 1;
  const caret = area.selectionStart;
  if (referenceBefore(ui.draft, caret) !== undefined) host.postMessage({ kind: "complete", requestId, text: ui.draft, offset: caret });
  else ui.suggestions = [];
  clearTimeout(detecting);
  const asked = requestId;
  detecting = setTimeout(() => {
    if (ui.draft.trim() !== "") host.postMessage({ kind: "detect", requestId: asked, text: ui.draft });
  }, DETECT_MS);
  panel.update();
}

function send(mode: Mode): void {
  if (ui.draft.trim() === "" || ui.server.kind !== "running") return;
  host.postMessage({ kind: "create", text: ui.draft, mode });
}

function draw(): void {
  drawing = false;
  ui.now = Date.now();
  const view = currentView(state);
  render(
    html`
      ${serverBanner()} ${composer(panel, view !== undefined, { typed, send })} ${notices()}
      ${view === undefined
        ? welcome()
        : html`<main class="plan" data-plan=${view.plan.planId} data-seq=${view.plan.seq}>${planHeader(panel, view)} ${cards(panel, view)} ${steps(panel, view)} ${outcome(panel, view)}</main>`}
      ${footer()}
    `,
    root,
  );
  observeCards();
}

function serverBanner(): View {
  const { server } = ui;
  const show = (what: "log" | "python" | "restart" | "settings", label: string) =>
    html`<vscode-button secondary @click=${() => host.postMessage({ kind: "show", what })}>${label}</vscode-button>`;
  switch (server.kind) {
    case "running":
      return server.problems.length === 0
        ? nothing
        : html`<div class="banner warning">${icon("warning")}<span>${server.problems.map((problem) => html`<div>${shown(problem)}</div>`)}</span></div>`;
    case "starting":
      return html`<div class="banner">${icon("loading")}<span>${shown(server.detail)}</span></div>`;
    case "stopped":
      return html`<div class="banner error" role="alert">${icon("error")}<span>${shown(server.detail)}</span><div class="actions">${show("restart", "Restart")}${show("log", "Show log")}</div></div>`;
    case "noPython":
      return html`<div class="banner error" role="alert">${icon("error")}<span>${shown(server.detail)}</span><div class="actions">${show("python", "Choose a Python…")}${show("restart", "Look again")}</div></div>`;
  }
}

function notices(): View {
  return html`${ui.notices.map(
    (notice) => html`<div class="banner ${notice.level}" role="alert">
      ${icon(notice.level === "error" ? "error" : notice.level === "warning" ? "warning" : "info")}
      <span>${shown(notice.message)} ${notice.hint === undefined ? nothing : html`<span class="quiet">${shown(notice.hint)}</span>`}</span>
      ${iconButton("close", "Dismiss", () => panel.update(() => (ui.notices = ui.notices.filter((each) => each !== notice))))}
    </div>`,
  )}`;
}

function welcome(): View {
  return html`<section class="welcome">
    <h2>From a request to reviewed edits</h2>
    <ol>
      <li>${icon("comment")}<span><b>Ask.</b> A small request runs at once, a larger one becomes a plan.</span></li>
      <li>${icon("checklist")}<span><b>Review.</b> Change, move, skip or add steps. Nothing is written before you approve.</span></li>
      <li>${icon("diff")}<span><b>Apply.</b> Each change arrives in your open buffers beside what you are typing, and can be undone.</span></li>
    </ol>
  </section>`;
}

function footer(): View {
  if (ui.server.kind !== "running") return nothing;
  const { model, trusted, unasked } = ui.server;
  return html`<footer>
    <button class="link" type="button" title="Choose another model" @click=${() => host.postMessage({ kind: "show", what: "models" })}>${icon("hubot")} ${shown(model)}</button>
    <span class="grow"></span>
    ${trusted ? nothing : html`<span class="warn" title="Trust this folder to let plans write">${icon("lock")} Restricted: read only</span>`}
    ${unasked.length === 0
      ? nothing
      : html`<button class="link warn" type="button" title="Open the settings" @click=${() => host.postMessage({ kind: "show", what: "settings" })}>${icon("warning")} Unasked: ${unasked.join(", ")}</button>`}
  </footer>`;
}

const arming = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const id = entry.target instanceof HTMLElement ? entry.target.dataset["arm"] : undefined;
      if (id !== undefined && entry.isIntersecting) setTimeout(() => panel.update(() => ui.armed.add(id)), ARM_MS);
    }
  },
  { threshold: 0.9 },
);
const observed = new WeakSet<Element>();

function observeCards(): void {
  for (const element of root.querySelectorAll("[data-arm]")) {
    if (observed.has(element)) continue;
    observed.add(element);
    arming.observe(element);
  }
}

setInterval(() => {
  const running = currentView(state)?.plan.steps.some((step) => step.status === "running") ?? false;
  if (running) panel.update();
}, 1000);
draw();
host.postMessage({ kind: "ready" });
