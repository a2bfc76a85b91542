// The outcome of a plan: its report or error, the answer of a direct request, the changed files, the log.

import { html, nothing } from "lit";
import { when } from "lit/directives/when.js";
import { explanation } from "../../models/mends";
import { offers, type PlanView } from "../../plan/views";
import type { ChangedFile, RanCommand, Report } from "../../protocol";
import { plural, t, timeOfDay } from "../../words";
import { mendButtons } from "../mends";
import { CHANGE_LETTER, pathOf } from "../text/format";
import { plain } from "../text/hiddenCharacters";
import { markdownView } from "../text/markdownView";
import { button, icon, linkButton, type Panel, shown, type View } from "../ui";
import { isSending } from "../uiState";
import { actionButton } from "./actions";

export function outcome(panel: Panel, view: PlanView): View {
  return html`
    ${answer(view)} ${error(panel, view)} ${summary(view)} ${left(panel, view)} ${files(panel, view)} ${log(view)}
  `;
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
    <h3>${icon("error")}<span class="grow">${shown(explanation(problem))}</span></h3>
    ${raw == null ? nothing : html`<details><summary>${t("What the model wrote")}</summary><pre>${shown(raw)}</pre></details>`}
    ${mendButtons(panel, problem.mends, plan.planId)}
  </section>`;
}

function summary(view: PlanView): View {
  const { plan } = view;
  if (
    plan.executionSummary == null ||
    plan.executionSummary === "" ||
    !["completed", "failed", "cancelled"].includes(plan.status)
  )
    return nothing;
  if (plan.report != null && onlyAnswers(plan.report)) return nothing;
  const { partly } = view;
  const glyph =
    partly || plan.report?.caveats?.length ? "warning" : plan.status === "completed" ? "pass-filled" : "info";
  return html`<section class="card outcome" data-away="outcome" data-status=${plan.status} data-partly=${partly} aria-label=${t("Summary")}>
    <h3>${icon(glyph)}<span class="grow">${t("Summary")}</span></h3>
    ${
      plan.report?.closing == null || plan.report.answered
        ? nothing
        : html`<div class="closing">${markdownView(plan.report.closing)}</div>`
    }
    <p class="summary-text">${shown(plan.executionSummary)}</p>
    ${commands(view.commands ?? [])}
    ${(plan.report?.notes ?? []).map((note) => html`<p class="banner warning note">${icon("warning")}<span>${shown(note)}</span></p>`)}
    ${view.used === "" ? nothing : html`<p class="quiet" title=${view.usedLines?.join("\n") ?? nothing}>${view.used}</p>`}
  </section>`;
}

/** The way to the summary of an ended plan, while that is out of view. */
export function toSummary(panel: Panel, id: string): View {
  return panel.ui.away.includes("outcome")
    ? linkButton(t("Summary"), () => document.querySelector(".outcome")?.scrollIntoView({ block: "start" }), {
        icon: "arrow-down",
        id,
      })
    : nothing;
}

/** Whether all that a plan has done is to give an answer, which stands above already. */
function onlyAnswers({ answered, done, files, commands, left, notAllowed }: Report): boolean {
  const others = [files, commands, left, notAllowed];
  return answered && done.length === 1 && others.every((each) => each.length === 0);
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
  return html`<section class="card not-done" aria-label=${t("Not done")}>
    <h3>${icon("debug-step-over")}<span class="grow">${t("Not done")}</span></h3>
    <ul>${view.left?.map(
      ({ number, description, why }) =>
        html`<li>
          <span class="number">${number}</span>
          <span>${shown(description)}<span class="quiet"> · ${shown(why)}</span></span>
        </li>`,
    )}</ul>
    <div class="actions">${button(t("Plan the rest"), again, {
      id: "rest",
      icon: "add",
      secondary: true,
      disabled: isSending(panel.ui),
      title: t("Drafts a new plan of these steps, which you review"),
    })}</div>
  </section>`;
}

function files(panel: Panel, view: PlanView): View {
  const { files: changed } = view;
  if (changed.length === 0) return nothing;
  const { planId, workspaceFolders, report } = view.plan;
  const counted = new Map(report?.files.map((file) => [file.uri, file]));
  const now = (file: ChangedFile): string => (file.state === "applied" ? (file.newUri ?? file.uri) : file.uri);
  const name = (uri: string): string => pathOf(uri, workspaceFolders);
  return html`<section class="changed" aria-label=${t("Changed files")}>
    <h3>${icon("files")}<span class="grow">${t("Changed files")}</span><span class="quiet">${changed.length}</span></h3>
    ${when(
      report?.files.some((file) => file.change !== "createFolder") && changed.some((file) => file.state === "applied"),
      () =>
        linkButton(t("Show all changes"), () => panel.post({ kind: "changes", planId }), {
          icon: "diff-multiple",
          id: "changes",
        }),
    )}
    ${saveButton(panel, changed)}
    ${
      offers(view, "planloom.undo")
        ? actionButton(panel, view.plan, view.actions, "undo", { id: "undo", icon: "discard", link: true })
        : actionButton(panel, view.plan, view.actions, "redo", { id: "redo", icon: "redo", link: true })
    }
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
          ${when(
            file.merged,
            () =>
              html`<span class="chip" title=${t("Merged with what you typed meanwhile")}>${icon("git-merge")}${t("merged")}</span>`,
          )}
          ${when(
            file.byCommand,
            () =>
              html`<span class="chip" title=${file.lasting ? t("It cannot be taken back: the text from before is not known") : nothing}>${icon("terminal")}${t("by a command")}</span>`,
          )}
          ${lines(file.state === "applied" ? counted.get(now(file)) : undefined)}
          <span class="quiet" title=${plain(file.reason ?? "")}>${file.words}</span>
          ${when(
            counted.has(now(file)) && !file.lasting && file.state === "applied" && file.change !== "createFolder",
            () =>
              linkButton(t("Diff"), () => panel.post({ kind: "changes", planId, uri: now(file) }), {
                icon: "diff",
                classes: "diff",
                ariaLabel: plain(t("Diff of {0}", name(now(file)))),
              }),
          )}
        </li>`,
      )}
    </ul>
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

function log(view: PlanView): View {
  if (view.log.length === 0) return nothing;
  return html`<vscode-collapsible heading=${t("Log")} class="section">
    <span slot="decorations" class="quiet">${view.log.length}</span>
    <ul class="log">${view.log.map(
      (line) => html`<li data-level=${line.level}><time>${timeOfDay(line.at)}</time>${shown(line.message)}</li>`,
    )}</ul>
  </vscode-collapsible>`;
}
