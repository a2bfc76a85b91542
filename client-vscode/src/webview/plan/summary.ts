// The outcome of a plan: its answer or result first, what it changed with the way back, and what was not done.

import { html, nothing } from "lit";
import { when } from "lit/directives/when.js";
import { explanation } from "../../models/mends";
import type { PanelState, PlanView } from "../../plan/views";
import type { ChangedFile, RanCommand } from "../../protocol";
import { plural, t } from "../../words";
import { helpLink, mendButtons } from "../mends";
import { CHANGE_LETTER, pathOf } from "../text/format";
import { plain } from "../text/hiddenCharacters";
import { markdownView } from "../text/markdownView";
import { button, icon, linkButton, type Panel, shown, type View } from "../ui";
import { isSending } from "../uiState";
import { actionButton } from "./actions";

export function outcome(panel: Panel, view: PlanView): View {
  return html`${answer(view)} ${error(panel, view)} ${result(view)} ${files(panel, view)} ${left(panel, view)}`;
}

/** A question with its answer, behind those that it goes on with. */
export function talk(panel: Panel, view: PlanView, state: PanelState): View {
  const turns: PlanView[] = [];
  for (let at: PlanView | undefined = view; at?.talk === true; at = state.plans[at.plan.follows ?? ""])
    turns.unshift(at);
  return html`${turns.map(
    (turn) => html`<section class="turn">
      <p class="asked-for" role=${turn === view ? "heading" : nothing} aria-level=${turn === view ? "1" : nothing}>${shown(turn.plan.request)}</p>
      ${
        turn.live
          ? html`<vscode-progress-bar indeterminate aria-label=${t("Answering")}></vscode-progress-bar>
            ${actionButton(panel, turn.plan, turn.actions, "cancel", { id: "cancel", link: true })}`
          : nothing
      }
      ${outcome(panel, turn)}
    </section>`,
  )}`;
}

function answer(view: PlanView): View {
  if (view.answer == null) {
    const [stepId] = view.plan.route === "direct" ? Object.keys(view.streams) : [];
    const text = stepId === undefined ? "" : (view.streams[stepId] ?? "");
    return text === ""
      ? nothing
      : html`<section class="answer-text streaming" aria-label=${t("Answer")}>${markdownView(text)}</section>`;
  }
  const { answer: text, confidence } = view;
  return html`<section class="answer-text" aria-label=${t("Answer")}>${markdownView(text)}
    ${confidence == null ? nothing : html`<p class="quiet">${icon("verified")} ${confidence}</p>`}</section>`;
}

function error(panel: Panel, { plan, problem }: PlanView): View {
  if (plan.status === "rejected" && plan.rejectionReason)
    return html`<p class="banner">${icon("thumbsdown")}<span>${shown(plan.rejectionReason)}</span></p>`;
  if (plan.error == null || problem == null) return nothing;
  const raw = plan.error.rawText;
  return html`<section class="card failure" aria-label=${t("Why the plan failed")}>
    <h3>${icon("error")}<span class="grow">${shown(explanation(problem))}${helpLink(problem.help)}</span></h3>
    ${raw == null ? nothing : html`<details><summary>${t("What the model wrote")}</summary><pre>${shown(raw)}</pre></details>`}
    ${mendButtons(panel, problem.mends, plan.planId)}
  </section>`;
}

/** What came of an ended plan that did more than answer, which stands above already. */
function result({ plan, live, answer, commands: ran = [] }: PlanView): View {
  const { executionSummary: summary, report } = plan;
  if (live || plan.steps.length === 0 || !summary || (answer != null && ran.length === 0 && report?.files.length === 0))
    return nothing;
  return html`<section class="outcome" data-status=${plan.status} aria-label=${t("Summary")}>
    ${report?.closing == null || report.answered ? nothing : html`<div class="closing">${markdownView(report.closing)}</div>`}
    <p class="summary-text">${shown(summary)}</p>
    ${commands(ran)}
    ${report?.notes?.map((note) => html`<p class="banner note">${icon("warning")}<span>${shown(note)}</span></p>`)}
  </section>`;
}

/** The commands of a plan, each with the outcome of its last run. */
function commands(ran: readonly RanCommand[]): View {
  if (ran.length === 0) return nothing;
  return html`<ul class="commands" aria-label=${t("Commands")}>${ran.map(
    ({ command, good, words }) => html`<li data-good=${good ?? nothing}>
      ${
        good == null
          ? icon("stop-circle", t("did not end by itself"), "quiet")
          : icon(good ? "pass" : "error", good ? t("succeeded") : t("failed"), good ? "good" : "bad")
      }
      <span><code>${shown(command)}</code> <span class="quiet">${shown(words)}</span></span>
    </li>`,
  )}</ul>`;
}

/** The steps that a completed plan has not done, and a button that plans them. Other plans are regenerated instead. */
function left(panel: Panel, view: PlanView): View {
  const { plan, rest } = view;
  if (rest == null) return nothing;
  const again = () => panel.create({ kind: "create", text: rest, mode: "plan", sessionId: plan.sessionId });
  return html`<section class="not-done" aria-label=${t("Not done")}>
    <h3>${t("Not done")}</h3>
    <ul>${view.left?.map(
      ({ number, description, why }) =>
        html`<li>
          <span class="number">${number}</span>
          <span>${shown(description)}<span class="quiet"> · ${shown(why)}</span></span>
        </li>`,
    )}</ul>
    <div class="actions">${button(t("Plan the rest"), again, {
      id: "rest",
      secondary: true,
      disabled: isSending(panel.ui),
      title: t("Drafts a new plan of these steps, which you review"),
    })}</div>
  </section>`;
}

function files(panel: Panel, view: PlanView): View {
  const { files: changed, plan, actions } = view;
  if (changed.length === 0 || (view.live && plan.status !== "paused")) return nothing;
  const { planId, workspaceFolders, report } = plan;
  const counted = new Map(report?.files.map((file) => [file.uri, file]));
  const now = (file: ChangedFile): string => (file.state === "applied" ? (file.newUri ?? file.uri) : file.uri);
  const name = (uri: string): string => pathOf(uri, workspaceFolders);
  return html`<section class="changed" aria-label=${t("Changed files")}>
    <ul class="files">
      ${changed.map(
        (file) => html`<li class="file" data-state=${file.state}>
          <span class="letter change-${file.change}" title=${file.kind}>${CHANGE_LETTER[file.change] ?? "M"}</span>
          <button
            class="path"
            type="button"
            title=${plain(now(file))}
            @click=${() => panel.post({ kind: "open", uri: now(file) })}
          >${shown(file.newUri == null ? name(file.uri) : `${name(file.uri)} → ${name(file.newUri)}`)}</button>
          ${when(file.merged, () => icon("git-merge", t("Merged with what you typed meanwhile"), "quiet"))}
          ${when(file.byCommand, () =>
            icon(
              "terminal",
              file.lasting ? t("It cannot be taken back: the text from before is not known") : t("by a command"),
              "quiet",
            ),
          )}
          ${lines(file.state === "applied" ? counted.get(now(file)) : undefined)}
          <span class="quiet" title=${plain(file.reason ?? "")}>${file.words}</span>
          ${when(
            counted.has(now(file)) && !file.lasting && file.state === "applied" && file.change !== "createFolder",
            () =>
              linkButton(icon("diff"), () => panel.post({ kind: "changes", planId, uri: now(file) }), {
                classes: "diff icon-button",
                ariaLabel: plain(t("Diff of {0}", name(now(file)))),
              }),
          )}
        </li>`,
      )}
    </ul>
    <div class="actions">
      ${when(
        report?.files.some((file) => file.change !== "createFolder") &&
          changed.some((file) => file.state === "applied"),
        () =>
          linkButton(t("Show all changes"), () => panel.post({ kind: "changes", planId }), {
            icon: "diff-multiple",
            id: "changes",
          }),
      )}
      ${actionButton(panel, plan, actions, "undo", { id: "undo", icon: "discard", as: t("Undo"), link: true })}
      ${actionButton(panel, plan, actions, "redo", { id: "redo", icon: "redo", as: t("Redo"), link: true })}
      ${saveButton(panel, changed)}
    </div>
  </section>`;
}

/** Saves those of the changed files that have unsaved text. */
function saveButton(panel: Panel, changed: readonly ChangedFile[]): View {
  const uris = changed.map((file) => file.newUri ?? file.uri).filter((uri) => panel.ui.unsaved.includes(uri));
  return uris.length === 0
    ? nothing
    : linkButton(
        plural(uris.length, "Save 1 changed file", "Save {0} changed files"),
        () => panel.post({ kind: "save", uris }),
        {
          icon: "save-all",
          id: "save",
          title: t("What you have typed in them is saved too"),
        },
      );
}

function lines(file: { added?: number; removed?: number } | undefined): View {
  if (file?.added === undefined || file.added + (file.removed ?? 0) === 0) return nothing;
  return html`<span class="added">+${file.added}</span><span class="removed">−${file.removed ?? 0}</span>`;
}
