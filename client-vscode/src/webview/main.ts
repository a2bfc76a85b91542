// The panel's page: receives views, draws at most once a frame, and sends the user's decisions to the extension.

import "@vscode-elements/elements/dist/vscode-button/index.js";
import "@vscode-elements/elements/dist/vscode-checkbox/index.js";
import "@vscode-elements/elements/dist/vscode-collapsible/index.js";
import "@vscode-elements/elements/dist/vscode-option/index.js";
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import "@vscode-elements/elements/dist/vscode-single-select/index.js";
import "@vscode-elements/elements/dist/vscode-textarea/index.js";
import "@vscode-elements/elements/dist/vscode-textfield/index.js";
import { html, nothing, render } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { when } from "lit/directives/when.js";

import { type FromPanel, readToPanel, type ToPanel } from "../panel/messages";
import { currentView, EMPTY, type PanelState, type PlanView, withUpdate } from "../plan/views";
import { type Bundle, speak, t } from "../words";
import { cards } from "./cards/cards";
import { composer, referenceBefore, sendWhatWaited } from "./composer/composer";
import { filledValues, templateSearch } from "./composer/templates";
import { focused, keepFocus } from "./focus";
import { helpLink, mendButtons } from "./mends";
import { choiceOf } from "./plan/actions";
import { follower } from "./plan/follower";
import { otherPlans, resourceWaits } from "./plan/otherPlans";
import { planHeader } from "./plan/planHeader";
import { outcome, talk } from "./plan/summary";
import { scrollKeeper } from "./scrolling";
import { steps } from "./steps/steps";
import { createPanel, icon, iconButton, linkButton, shown, type View } from "./ui";
import {
  freshUi,
  type Kept,
  kept,
  type Notice,
  taken,
  type Ui,
  withArmed,
  withOtherPlan,
  withSeen,
  written,
} from "./uiState";
import { isHeld, modelSetUp, welcome, windowState } from "./welcome";

interface Host {
  postMessage(message: FromPanel): void;
  getState(): unknown;
  setState(state: Kept): void;
}
declare function acquireVsCodeApi(): Host;

/** How long a card must be in view before its Apply works: a card may slide under a click. */
const ARM_MS = 250;
/** How much of it must be in view. */
const ARM_RATIO = 0.9;
const DETECT_MS = 120;

speak(document.documentElement.lang, JSON.parse(document.querySelector("#words")?.textContent ?? "{}") as Bundle);
const host = acquireVsCodeApi();
const root = document.querySelector<HTMLElement>("#root") ?? document.body;
/** What scrolls, and below it what always stands: the field in which the user writes. */
const [scroller, foot] = ["scroller", "foot"].map((name) => {
  const part = document.createElement("div");
  part.className = name;
  return root.appendChild(part);
}) as unknown as [HTMLElement, HTMLElement];
const follow = follower(scroller);
let state: PanelState = EMPTY;
let drawing = false;
/** What had the focus last: a button that is disabled while it waits loses it before it goes away. */
let held: ReturnType<typeof focused>;
/** Which entry of the list behind the caret was active when the page was last drawn. */
let suggested = 0;
let previewing: ReturnType<typeof setTimeout> | undefined;
let detecting: ReturnType<typeof setTimeout> | undefined;

const panel = createPanel(freshUi(host.getState()), { post: (message) => host.postMessage(message), changed });
const scroll = scrollKeeper(scroller, panel.ui.scrolls, (scrolls) => panel.update((ui) => ({ ...ui, scrolls })));

function changed(before: Ui, now: Ui): void {
  const names = ["draft", "plans", "scrolls", "history", "images", "form"] as const;
  if (names.some((name) => before[name] !== now[name])) host.setState(kept(now));
  if (now.form !== undefined && before.form?.values !== now.form.values) previewSoon();
  if (before.typing !== now.typing) detectSoon();
  drawSoon();
}

function drawSoon(): void {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(draw);
}

// Where nothing else takes it, Ctrl+Enter does the one thing that the plan waits for.
root.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
  const inForm = event.target instanceof Element && event.target.closest("vscode-textfield, vscode-textarea") !== null;
  if (!inForm && panel.ui.draft === "") root.querySelector<HTMLElement>("#approve")?.click();
});
window.addEventListener("message", (event: MessageEvent<unknown>) => {
  const message = readToPanel(event.data);
  if (message !== undefined) receive(message);
});

function receive(message: ToPanel): void {
  const { current } = state;
  if (message.kind === "state") state = message.state;
  if (message.kind === "updates") for (const each of message.updates) state = withUpdate(state, each).state;
  if (state.current !== current) panel.update(withOtherPlan);
  panel.update((ui) => taken(ui, message, state));
  sendWhatWaited(panel);
  drawSoon();
}

function write(text: string, caret: number): void {
  panel.update((ui) => written(ui, text, Date.now()));
  complete(text, caret);
}

/** Ask what the values of the template's form make of it. */
function previewSoon(): void {
  clearTimeout(previewing);
  previewing = setTimeout(() => {
    const { form } = panel.ui;
    if (form === undefined) return;
    const { templateId } = form.template;
    host.postMessage({ kind: "previewTemplate", requestId: form.typing, templateId, parameters: filledValues(form) });
  }, DETECT_MS);
}

function complete(text: string, caret: number): void {
  if (templateSearch(text) !== undefined) host.postMessage({ kind: "templates" });
  else if (referenceBefore(text, caret) !== undefined)
    host.postMessage({ kind: "complete", requestId: panel.ui.typing, text, offset: caret });
  else if (panel.ui.suggestions.length > 0) panel.update((ui) => ({ ...ui, suggestions: [] }));
}

function detectSoon(): void {
  clearTimeout(detecting);
  const { draft, typing } = panel.ui;
  if (draft.trim() !== "")
    detecting = setTimeout(() => host.postMessage({ kind: "detect", requestId: typing, text: draft }), DETECT_MS);
}

function draw(): void {
  drawing = false;
  const view = currentView(state);
  const { caret } = panel.ui;
  held = focused(root) ?? held;
  follow(view?.plan, () => {
    render(html`${serverBanner()} ${page(view)}`, scroller);
    render(html`${composer(panel, view, { write, complete })} ${footer()}`, foot);
    if (document.hasFocus() && document.activeElement === document.body) keepFocus(root, held);
  });
  if (caret !== undefined) {
    placeCaret(caret);
    panel.update((ui) => ({ ...ui, caret: undefined }));
  }
  if (panel.ui.suggestion !== suggested) {
    suggested = panel.ui.suggestion;
    // The entry that the arrow keys have reached may be below the end of the list.
    root.querySelector("#suggestions .active")?.scrollIntoView({ block: "nearest" });
  }
  const waiting = view !== undefined && panel.ui.toCards && view.decisions > 0;
  scroll.show(view?.plan.planId ?? "", waiting ? root.querySelector(".cards") : null);
  if (panel.ui.toCards && view !== undefined) panel.update((ui) => ({ ...ui, toCards: false }));
  watch();
  ask();
}

function page(view: PlanView | undefined): View {
  return html`
    ${notices()} ${otherPlans(panel, state)}
    ${view === undefined || isHeld(panel.ui) ? modelSetUp(panel) : nothing} ${view?.plan.status === "pending_approval" ? nothing : windowState(panel)}
    ${
      view === undefined
        ? welcome(panel)
        : keyed(
            view.plan.planId,
            html`<main
              class="plan"
              data-status=${view.sign === "waiting" ? view.sign : view.plan.status}
              data-plan=${view.plan.planId}
              data-seq=${view.plan.seq}
              data-version=${view.plan.version}
            >${plan(view)}</main>`,
          )
    }
  `;
}

/** A plan with its outcome before its steps once it has ended; of a question the answer alone. */
function plan(view: PlanView): View {
  if (view.talk && view.plan.status !== "draft") return html`${talk(panel, view, state)} ${cards(panel, view)}`;
  const [first, second] = view.live ? [steps, outcome] : [outcome, steps];
  return html`${planHeader(panel, view)} ${resourceWaits(panel, view, state)} ${cards(panel, view)} ${first(panel, view)} ${second(panel, view)}`;
}

function placeCaret(caret: number): void {
  const area = document.querySelector<HTMLTextAreaElement>("#request");
  area?.focus();
  area?.setSelectionRange(caret, caret);
}

function serverBanner(): View {
  const { server } = panel.ui;
  const show = (what: "log" | "python" | "restart" | "settings", label: string) =>
    html`<vscode-button secondary @click=${() => host.postMessage({ kind: "show", what })}>${label}</vscode-button>`;
  switch (server.kind) {
    case "running":
      return server.problems.length === 0
        ? nothing
        : html`<div class="banner warning">${icon("warning")}<span>${server.problems.map(
            (problem) => html`<div>${shown(problem)}</div>`,
          )}</span></div>`;
    case "idle":
      return nothing;
    case "starting":
      return html`<div class="banner">${icon("loading")}<span>${shown(server.detail)}</span></div>`;
    case "stopped":
      return failed(server.detail, html`${show("restart", t("Restart"))}${show("log", t("Show log"))}`);
    case "noPython":
      return failed(server.detail, html`${show("python", t("Choose a Python…"))}${show("restart", t("Look Again"))}`);
  }
}

function failed(detail: string, actions: View): View {
  return html`<div class="banner error" role="alert">
    ${icon("error")}<span>${shown(detail)}</span>
    <div class="actions">${actions}</div>
  </div>`;
}

function notices(): View {
  const without = (notice: Notice) => (ui: Ui) => ({ ...ui, notices: ui.notices.filter((each) => each !== notice) });
  return html`<div class="notices">${panel.ui.notices.map(
    (notice) => html`<div class="banner ${notice.level}" role="alert">
      ${icon(notice.level === "error" ? "error" : notice.level === "warning" ? "warning" : "info")}
      <span>${shown(notice.message)}${helpLink(notice.help)}</span>
      ${iconButton("close", t("Dismiss"), () => panel.update(without(notice)))}
      ${mendButtons(panel, notice.mends ?? [])}
    </div>`,
  )}</div>`;
}

function footer(): View {
  const { server } = panel.ui;
  if (server.kind !== "running") return nothing;
  const { model } = server;
  const view = currentView(state);
  const unasked = choiceOf(panel, view?.live === true ? view.plan : undefined)?.unasked ?? "";
  const open = (what: "models" | "settings") => () => host.postMessage({ kind: "show", what });
  return html`<footer>
    ${linkButton(shown(model), open("models"), { icon: "hubot", title: t("Choose another model") })}
    <span class="grow"></span>
    ${when(unasked !== "", () =>
      linkButton(t("Allowed without asking: {0}", unasked), open("settings"), { title: t("Open the settings") }),
    )}
  </footer>`;
}

/** Notes what comes into view: an observer knows what the boxes around an element clip. */
const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting, intersectionRatio } of entries) {
      const { arm, end } = target instanceof HTMLElement ? target.dataset : {};
      if (arm !== undefined && intersectionRatio >= ARM_RATIO)
        setTimeout(() => panel.update((ui) => withArmed(ui, arm)), ARM_MS);
      if (end !== undefined && isIntersecting) panel.update((ui) => withSeen(ui, end));
    }
  },
  { threshold: [0, ARM_RATIO] },
);
let watched = new Map<Element, string>();

/** Observe the elements that were drawn; one that stands for something else now is observed anew. */
function watch(): void {
  const drawn = [...root.querySelectorAll<HTMLElement>("[data-arm], [data-end]")];
  const now = new Map(drawn.map((each) => [each, JSON.stringify(each.dataset)]));
  for (const [element, key] of watched) if (now.get(element as HTMLElement) !== key) observer.unobserve(element);
  for (const [element, key] of now) if (watched.get(element) !== key) observer.observe(element);
  watched = now;
}

let asked: ReadonlySet<string> = new Set();

/** Send what drawn elements ask for: each once, for as long as one with it is drawn. */
function ask(): void {
  const now = new Set([...root.querySelectorAll<HTMLElement>("[data-asks]")].map(({ dataset }) => dataset.asks ?? ""));
  for (const each of now) if (!asked.has(each)) host.postMessage(JSON.parse(each) as FromPanel);
  asked = now;
}

// The lines of the graph follow the width of the page.
window.addEventListener("resize", drawSoon);
setInterval(() => {
  const running = currentView(state)?.plan.steps.some((step) => step.status === "running") ?? false;
  if (running) drawSoon();
}, 1000);
draw();
if (panel.ui.draft !== "") detectSoon();
if (panel.ui.form !== undefined) previewSoon();
host.postMessage({ kind: "ready" });
// The commands of the palette use the review that was chosen here for a plan.
for (const [planId, { review }] of Object.entries(panel.ui.plans))
  if (review !== undefined) host.postMessage({ kind: "review", planId, review });
