// The list of steps: a row for each, which unfolds to its instruction, checks, calls and result.

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { when } from "lit/directives/when.js";

import type { PlanView } from "../../plan/views";
import type { Check, CheckWords, Plan, PlanChange, Step, StepView } from "../../protocol";
import { plural, t } from "../../words";
import { judgement } from "../cards/judgement";
import { planGraph, selectedStep } from "../graph/planGraph";
import { actionButton, reviewOf } from "../plan/actions";
import type { StepDraft } from "../planForms";
import { duration, firstLine, headline, valueText } from "../text/format";
import { plain } from "../text/hiddenCharacters";
import { inlineDiff } from "../text/inlineDiff";
import { markdownView } from "../text/markdownView";
import { focusSoon, icon, iconButton, linkButton, type Panel, shown, type View } from "../ui";
import { commandOutput, isCommand } from "./commandOutput";
import { dragged, draggedAway, draggedOver, dropped } from "./dragging";
import { draftOf, emptyDraft, hasWork } from "./stepDraft";
import { stepForm } from "./stepForm";
import { questionsBefore, stepLook } from "./stepParts";

/** Whether the plan's status allows its steps to be edited. */
function isEditable(plan: Plan): boolean {
  return plan.status === "pending_approval" || plan.status === "paused";
}

export function steps(panel: Panel, view: PlanView): View {
  const { plan } = view;
  if (plan.steps.length === 0) return nothing;
  const editable = isEditable(plan);
  const target = panel.forms(plan.planId).step?.target;
  const drawn = isDrawn(panel, plan);
  const selected = drawn ? selectedStep(panel, plan) : undefined;
  const listed = drawn ? plan.steps.filter((step) => step.stepId === selected) : plan.steps;
  const list = html`<section class="steps-section" aria-label=${t("Steps")}>
    ${drawn ? planGraph(panel, view) : nothing} ${revision(panel, view)}
    <ol
      class="steps"
      data-digits=${String(plan.steps.length).length}
      @focusin=${(event: FocusEvent) => keepRow(panel, plan, event)}
      @keydown=${(event: KeyboardEvent) => onKey(panel, plan, event)}
    >
      ${repeat(
        listed,
        (step) => step.stepId,
        (step, index) => row(panel, view, drawn ? plan.steps.indexOf(step) : index),
      )}
      ${when(
        editable && target?.kind === "new" && !isStep(plan, target.after),
        () => html`<li class="step editing">${stepForm(panel, plan, undefined)}</li>`,
      )}
    </ol>
    ${when(editable && (target === undefined || (target.kind === "existing" && !isStep(plan, target.stepId))), () =>
      linkButton(t("Add a step"), () => start(panel, plan, emptyDraft(plan.steps.at(-1)?.stepId ?? null)), {
        icon: "add",
        classes: "add",
        id: "add-step",
      }),
    )}
  </section>`;
  // The steps of a plan that has ended are read after its outcome.
  return view.live
    ? list
    : html`<details class="ended-steps"><summary>${plural(plan.steps.length, "1 step", "{0} steps")}</summary>${list}</details>`;
}

/** The changes of the version under review that nobody has read yet. */
function unread(panel: Panel, { plan, changes = [] }: PlanView): readonly PlanChange[] {
  return panel.forms(plan.planId).read === plan.version ? [] : changes;
}

/** How the version under review differs from the one before it, until that was read; and the way back. */
function revision(panel: Panel, view: PlanView): View {
  const { plan, actions } = view;
  const changes = unread(panel, view);
  if (changes.length === 0) return nothing;
  const gone = changes.filter(({ kind }) => kind === "dropped");
  const read = () => panel.change(plan.planId, (forms) => (forms.read = plan.version));
  return html`<div class="revision" role="status">
    <span class="grow">${shown(view.revision)}</span>
    ${actionButton(panel, plan, actions, "restore", { id: "restore", link: true })}
    ${iconButton("check", t("Mark as read"), read)}
    ${gone.map(({ before, stepId }) => html`<p class="dropped" data-step=${stepId}>${shown(firstLine(before ?? ""))}</p>`)}
  </div>`;
}

/** Whether the steps are drawn as a graph, which then stands above the selected one. */
function isDrawn(panel: Panel, plan: Plan): boolean {
  return panel.forms(plan.planId).drawn === true && plan.steps.length > 1;
}

function isStep(plan: Plan, stepId: string | null): boolean {
  return plan.steps.some((step) => step.stepId === stepId);
}

function newStepAt(panel: Panel, plan: Plan, after: string | null): boolean {
  const target = panel.forms(plan.planId).step?.target;
  return target?.kind === "new" && target.after === after;
}

/** Open a form. An open form that holds something stays, and gets the caret instead. */
function start(panel: Panel, plan: Plan, draft: StepDraft): void {
  if (!hasWork(panel.forms(plan.planId).step, plan)) panel.change(plan.planId, (forms) => (forms.step = draft));
  focusSoon("#step-description");
}

function row(panel: Panel, view: PlanView, index: number): View {
  const { plan } = view;
  const each = view.steps[index];
  if (each === undefined) return nothing;
  const { step } = each;
  const forms = panel.forms(plan.planId);
  const target = forms.step?.target;
  if (target?.kind === "existing" && target.stepId === step.stepId && isEditable(plan))
    return html`<li class="step editing">${stepForm(panel, plan, step)}</li>`;
  const look = stepLook(each);
  const open = forms.open.includes(step.stepId);
  const change = unread(panel, view).find(({ stepId }) => stepId === step.stepId)?.kind;
  const toggle = () =>
    panel.change(
      plan.planId,
      (mine) => (mine.open = open ? mine.open.filter((each) => each !== step.stepId) : [...mine.open, step.stepId]),
    );
  return html`<li
      class="step"
      data-sign=${each.sign}
      data-status=${look.status}
      data-step=${step.stepId}
      data-waits=${each.waits ?? nothing}
      data-change=${change ?? nothing}
    >
      <div
        class="step-row"
        role="button"
        tabindex=${step.stepId === tabStop(panel, plan) ? 0 : -1}
        aria-expanded=${open}
        data-index=${index}
        draggable=${isMovable(plan, step)}
        @dragstart=${(event: DragEvent) => dragged(event, step.stepId)}
        @dragover=${isEditable(plan) ? draggedOver : nothing}
        @dragleave=${draggedAway}
        @drop=${(event: DragEvent) => onDrop(panel, plan, step, event)}
        @click=${toggle}
      >
        ${icon(look.icon, look.label, "glyph")}
        <span class="number">${index + 1}</span>
        <span class="step-title" title=${plain(step.description)}>${shown(runs(each) && step.activeForm !== "" ? step.activeForm : step.description)}</span>
        ${each.note == null ? nothing : html`<span class="step-note ${each.waits == null ? "" : "waits"}">${shown(each.note)}</span>`}
        ${change === undefined ? nothing : icon(CHANGED[change], changeWords(change), "change")}
      </div>
      ${open ? details(panel, view, each, index) : doing(view, each)}
    </li>
    ${when(
      newStepAt(panel, plan, step.stepId) && isEditable(plan),
      () => html`<li class="step editing">${stepForm(panel, plan, undefined)}</li>`,
    )}`;
}

const CHANGED = { added: "add", changed: "edit", moved: "arrow-swap", dropped: "trash" } as const;

function changeWords(kind: PlanChange["kind"]): string {
  return { added: t("new"), changed: t("changed"), moved: t("moved"), dropped: t("dropped") }[kind];
}

/** What a running step is at: its call, or the model's last words, which its opened details have too. */
function doing(view: PlanView, each: StepView): View {
  const { step, calls = [] } = each;
  const [call] = calls;
  const said = view.words[step.stepId]?.trim().split("\n\n").at(-1) ?? "";
  const text = call === undefined ? said : `${call.tool} ${headline(call.args)}`;
  return !runs(each) || text === "" || view.plan.route === "direct"
    ? nothing
    : html`<div class="doing quiet">${shown(text)}</div>`;
}

/** The step whose row Tab reaches: the one that had the focus last, else one at work, else the first with a row. */
function tabStop(panel: Panel, plan: Plan): string | undefined {
  const { row, step } = panel.forms(plan.planId);
  const target = step?.target;
  const inForm = isEditable(plan) && target?.kind === "existing" ? target.stepId : undefined;
  const rows = plan.steps.filter((each) => each.stepId !== inForm);
  const at = (is: (each: Step) => boolean): string | undefined => rows.find(is)?.stepId;
  return at((each) => each.stepId === row) ?? at((each) => each.status === "running") ?? rows[0]?.stepId;
}

function keepRow(panel: Panel, plan: Plan, { target }: FocusEvent): void {
  const stepId = target instanceof Element ? target.closest<HTMLElement>(".step")?.dataset.step : undefined;
  if (stepId !== undefined && panel.forms(plan.planId).row !== stepId)
    panel.change(plan.planId, (forms) => (forms.row = stepId));
}

/** Whether a step runs and waits for nothing. */
function runs({ step, waits, stalled }: StepView): boolean {
  return step.status === "running" && waits == null && stalled == null;
}

/** How long the step's last run has worked, in milliseconds; undefined while it has not begun. */
function workedMs({ workedMs: worked, clock }: StepView, now: number): number | undefined {
  if (clock == null) return worked;
  const end = clock.until == null ? now : Date.parse(clock.until);
  return Math.max(0, end - Date.parse(clock.since) - clock.waitedMs);
}

function details(panel: Panel, view: PlanView, each: StepView, index: number): View {
  const { plan } = view;
  const { step } = each;
  const stream = view.streams[step.stepId] ?? "";
  const calls = step.toolsExecuted.filter((call) => !isCommand(call));
  const commands = step.toolsExecuted.filter(isCommand);
  // A card above has the failure, and a call its own outcome.
  const isSaid = (text: string): boolean =>
    text === "" || each.waits === "recovery" || step.toolsExecuted.some((call) => call.summary === text);
  const error = step.result?.error ?? "";
  const shownError = commands.length > 0 ? firstLine(error) : error;
  const summary = step.result?.summary ?? "";
  const worked = workedMs(each, Date.now());
  const asks = each.asks?.includes(reviewOf(panel, plan)) === true ? [t("asks before it changes anything")] : [];
  const facts = [...(each.facts ?? []), ...asks, ...(worked === undefined ? [] : [duration(worked)])];
  return html`<div class="details">
    ${
      step.instruction === "" || step.instruction === step.description
        ? nothing
        : html`<p class="instruction">${shown(step.instruction)}</p>`
    }
    <p class="facts quiet">${shown(facts.join(" · "))}</p>
    ${judgement(each.judged, ({ uri, line }) => panel.post({ kind: "open", uri, line: line - 1 }))}
    ${commands.length > 0 ? nothing : argumentTable(step)}
    ${when(
      step.checks.length > 0,
      () =>
        html`<ul class="checks" aria-label=${t("Checks")}>${step.checks.map((check, place) => checkRow(check, each.checks?.[place]))}</ul>`,
    )}
    ${when(
      calls.length > 0,
      () => html`<ul class="calls" aria-label=${t("Tool calls")}>
        ${calls.map(
          (call) =>
            html`<li>
              ${call.ok ? icon("check", t("succeeded"), "good") : icon("close", t("failed"), "bad")}<b>${shown(call.tool)}</b>
              <span class="arg">${shown(headline(call.args))}</span>${when(call.deduplicated, () => html`<i class="quiet">${t("same as before")}</i>`)}<span class="quiet">${shown(call.summary)}</span></li>`,
        )}
      </ul>`,
    )}
    ${questionsBefore(view, step.stepId)} ${commandOutput(panel, view, step)}
    ${stream === "" ? said(view, step) : html`<pre class="stream">${shown(stream.slice(-1500))}</pre>`}
    ${isSaid(summary) ? nothing : html`<p class="result">${shown(summary)}</p>`}
    ${isSaid(shownError) ? nothing : html`<p class="bad">${shown(shownError)}</p>`}
    ${isEditable(plan) ? tools(panel, plan, step, index) : undo(panel, view, each)}
  </div>`;
}

/** What the model has written between the calls of a step's last run, without what is its summary. */
function said(view: PlanView, step: Step): View {
  const words = (view.words[step.stepId] ?? "")
    .split("\n\n")
    .filter((each) => !step.result?.summary?.includes(each.trim()));
  return words.every((each) => each.trim() === "")
    ? nothing
    : html`<div class="words" role="group" aria-label=${t("What the model wrote")}>${markdownView(words.join("\n\n"))}</div>`;
}

/** The arguments of a step's call; the texts of an edit are drawn as their difference. */
function argumentTable(step: Step): View {
  const { old_text: before, new_text: after } = step.args ?? {};
  const isEdit = step.tool === "edit_file" && typeof before === "string" && typeof after === "string";
  const names = Object.entries(step.args ?? {}).filter(
    ([name]) => !isEdit || (name !== "old_text" && name !== "new_text"),
  );
  if (names.length === 0 && !isEdit) return nothing;
  return html`<dl class="args">
    ${names.map(([name, value]) => html`<dt>${shown(name)}</dt><dd><pre>${shown(valueText(value))}</pre></dd>`)}
  </dl>${isEdit ? inlineDiff(before, after, { numbers: false }) : nothing}`;
}

function checkRow(check: Check, words: CheckWords | undefined): View {
  const look = { passed: ["pass", "good"], failed: ["error", "bad"], unknown: ["question", "warn"] } as const;
  const [name, tone] = check.outcome == null ? (["circle-outline", "quiet"] as const) : look[check.outcome];
  return html`<li>${icon(name, words?.outcome, tone)}<span
      >${shown(check.path ?? check.command)} ${words?.what}
      ${check.text == null ? nothing : html`<code>${shown(check.text)}</code>`}</span
    ><span class="quiet">${shown(check.detail)}</span></li>`;
}

function undo(panel: Panel, { plan }: PlanView, { actions = [] }: StepView): View {
  if (!actions.some(({ command }) => command === "planloom.undo" || command === "planloom.redo")) return nothing;
  return html`<div class="actions">
    ${actionButton(panel, plan, actions, "undo", { icon: "discard", classes: "undo-step", link: true })}
    ${actionButton(panel, plan, actions, "redo", { icon: "redo", classes: "redo-step", link: true })}
  </div>`;
}

function tools(panel: Panel, plan: Plan, step: Step, index: number): View {
  if (step.status === "completed") return nothing;
  const { stepId } = step;
  const last = index === plan.steps.length - 1;
  return html`<div class="step-tools" role="toolbar" aria-label=${t("Edit step {0}", index + 1)}>
    ${iconButton("edit", t("Edit (F2)"), () => start(panel, plan, draftOf(step)))}
    ${iconButton("arrow-up", t("Move up (Alt+Up)"), () => move(panel, plan, index, -1), index === 0)}
    ${iconButton("arrow-down", t("Move down (Alt+Down)"), () => move(panel, plan, index, 1), last)}
    ${
      step.status === "skipped"
        ? iconButton("debug-continue", t("Do not skip (S)"), () => edit(panel, plan, { op: "unskip", stepId }))
        : iconButton("debug-step-over", t("Skip (S)"), () => edit(panel, plan, { op: "skip", stepId }))
    }
    ${iconButton("add", t("Add a step after this"), () => start(panel, plan, emptyDraft(step.stepId)))}
    <span class="grow"></span>
    ${iconButton("trash", t("Remove (Delete)"), () => edit(panel, plan, { op: "remove", stepId: step.stepId }))}
  </div>`;
}

type Edit = { op: "skip" | "unskip" | "remove"; stepId: string } | { op: "move"; stepId: string; after: string | null };

function edit(panel: Panel, plan: Plan, change: Edit): void {
  const { planId, version } = plan;
  panel.decide(planId, "planloom/plan/edit", { planId, version, edits: [change] });
}

function move(panel: Panel, plan: Plan, index: number, by: -1 | 1): void {
  const step = plan.steps[index];
  const before = by === -1 ? index - 2 : index + 1;
  if (step === undefined || index + by < 0 || index + by >= plan.steps.length) return;
  edit(panel, plan, {
    op: "move",
    stepId: step.stepId,
    after: before < 0 ? null : (plan.steps[before]?.stepId ?? null),
  });
}

function isMovable(plan: Plan, step: Step): boolean {
  return isEditable(plan) && step.status !== "completed";
}

function onDrop(panel: Panel, plan: Plan, target: Step, event: DragEvent): void {
  const ids = plan.steps.map((each) => each.stepId);
  dropped(event, ids, target.stepId, (stepId, after) => edit(panel, plan, { op: "move", stepId, after }));
}

function onKey(panel: Panel, plan: Plan, event: KeyboardEvent): void {
  const target = event.target;
  if (!(target instanceof HTMLElement) || !target.classList.contains("step-row")) return;
  const index = Number(target.dataset.index);
  const step = plan.steps[index];
  if (step === undefined) return;
  const editable = isMovable(plan, step);
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !event.altKey) {
    const next = index + (event.key === "ArrowDown" ? 1 : -1);
    target.closest("ol")?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
  } else if (event.key === "Home" || event.key === "End") {
    const rows = target.closest("ol")?.querySelectorAll<HTMLElement>(".step-row") ?? [];
    rows[event.key === "Home" ? 0 : rows.length - 1]?.focus();
  } else if (event.key === "Enter" || event.key === " ") target.click();
  else if (!editable) return;
  else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown"))
    move(panel, plan, index, event.key === "ArrowUp" ? -1 : 1);
  else if (event.key === "F2") start(panel, plan, draftOf(step));
  else if (event.key === "Delete") edit(panel, plan, { op: "remove", stepId: step.stepId });
  else if (event.key === "s")
    edit(panel, plan, { op: step.status === "skipped" ? "unskip" : "skip", stepId: step.stepId });
  else return;
  event.preventDefault();
}
