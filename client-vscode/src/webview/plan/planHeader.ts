// The head of a plan: its request, one line on where it stands, its main button, and a menu with everything else.

import { html, nothing } from "lit";
import { when } from "lit/directives/when.js";

import { draftText } from "../../plan/draftText";
import { PLAN_ICON } from "../../plan/signs";
import type { PlanView } from "../../plan/views";
import type { Attachment, Plan, UserMessage } from "../../protocol";
import { t, timeOfDay } from "../../words";
import { textForm } from "../fields";
import { helpLink, mendButtons, pausedForModel } from "../mends";
import { plain } from "../text/hiddenCharacters";
import { focusSoon, icon, linkButton, menu, type Panel, shown, type View } from "../ui";
import { composed } from "../uiState";
import { actionButton, actionItems, choiceOf, reviewOf } from "./actions";
import { perspectives } from "./perspectives";

/** How much is shown of what a planner has looked at. */
const LOOKED = 3;

export function planHeader(panel: Panel, view: PlanView): View {
  const { plan } = view;
  const { about = false, texts } = panel.forms(plan.planId);
  return html`
    <header class="plan-header" data-status=${plan.status}>
      <div class="plan-title"><h1 class="request" title=${plain(plan.request)}>${shown(plan.request)}</h1>${more(panel, view)}</div>
      <div class="plan-line">
        <span
          class="plan-state"
          role="status"
          data-status=${view.sign === "waiting" ? view.sign : plan.status}
          data-partly=${view.partly}
        >${icon(view.sign === "completed" ? "pass-filled" : PLAN_ICON[view.sign])}${
          view.decisions === 0
            ? html`<span>${shown(view.line)}</span>`
            : linkButton(shown(view.line), () => document.querySelector(".cards")?.scrollIntoView({ block: "start" }), {
                id: "waits",
                title: t("Show what waits for you"),
              })
        }${reviewMenu(panel, view)}</span>
        <span class="plan-buttons">${buttons(panel, view)}</span>
      </div>
      ${progress(view)}
      ${about ? details(panel, view) : nothing}
      ${texts.reject === undefined || plan.status !== "pending_approval" ? nothing : rejectForm(panel, plan)}
      ${messages(plan, about)} ${unresolved(view)} ${pause(panel, view)} ${draftOutcome(panel, view, about)}
    </header>
    ${plan.status === "draft" ? perspectives(view) : nothing}
  `;
}

/** When changes are reviewed, as what the plan will ask, and the choice. */
function reviewMenu(panel: Panel, view: PlanView): View {
  const { plan } = view;
  const { server } = panel.ui;
  const chosen = choiceOf(panel, plan);
  if (plan.status !== "pending_approval" || server.kind !== "running" || chosen === undefined) return nothing;
  const { planId } = plan;
  const asks = chosen.review === "each" ? (view.asks ?? chosen.line) : chosen.line;
  const items = server.reviews.map(({ review, title, asks }) => ({
    label: title,
    hint: review === "each" ? (plan.asksAgain ?? asks) : asks,
    checked: review === reviewOf(panel, plan),
    act: () => {
      panel.change(planId, (mine) => (mine.review = review));
      panel.post({ kind: "review", planId, review });
    },
  }));
  return html`<span aria-hidden="true">·</span>${menu("review", html`${asks}${icon("chevron-down")}`, items, {
    title: t("When changes are reviewed"),
  })}`;
}

/** The action that matters now, which stands beside the menu. */
function mainAction({ plan, actions, decisions, problem }: PlanView): string {
  if (plan.status === "pending_approval") return "approve";
  if (plan.status === "draft") return "cancel";
  if (plan.status !== "paused" || decisions > 0 || problem != null) return "pause";
  return actions.some(({ command }) => command === "planloom.saveFiles") ? "saveFiles" : "resume";
}

function buttons(panel: Panel, view: PlanView): View {
  const { plan, actions } = view;
  const { server } = panel.ui;
  const name = mainAction(view);
  if (name === "approve" && server.kind === "running" && !server.trusted) return mendButtons(panel, ["trust"]);
  const glyph = { cancel: "debug-stop", pause: "debug-pause" }[name];
  const look = glyph === undefined ? {} : { as: icon(glyph) as View, link: true, classes: "icon-button" };
  return actionButton(panel, plan, actions, name, { id: name, ...(name === "approve" ? { as: t("Start") } : look) });
}

/** Everything else that can be done with the plan. */
function more(panel: Panel, view: PlanView): View {
  const { plan, actions } = view;
  const { planId } = plan;
  const { about = false, drawn = false } = panel.forms(planId);
  const items = [
    {
      label: about ? t("Hide details") : t("Details"),
      id: "about",
      act: () => panel.change(planId, (forms) => (forms.about = !about)),
    },
    plan.steps.length > 1
      ? {
          label: drawn ? t("Show as List") : t("Show as Graph"),
          id: "drawn",
          act: () => panel.change(planId, (forms) => (forms.drawn = !drawn)),
        }
      : undefined,
    ...actionItems(panel, plan, actions, [mainAction(view), "undo", "redo", "restore"]),
    { label: t("Export…"), id: "export", act: () => panel.post({ kind: "export", planId }) },
    { label: t("New request"), id: "new-request", act: () => panel.update((ui) => ({ ...ui, asNew: true })) },
    { label: t("All plans"), id: "to-plans", act: () => panel.post({ kind: "show", what: "plans" }) },
  ];
  return menu("more", icon("ellipsis"), items, {
    classes: "icon-button",
    ariaLabel: t("More actions"),
    title: t("More actions"),
  });
}

/** What is known of the plan, for who wants to know it. */
function details(panel: Panel, view: PlanView): View {
  const { plan } = view;
  const { follows } = plan;
  return html`<section class="about" aria-label=${t("Details of the plan")}>
    <p class="whole-request">${shown(plan.request)}</p>
    ${plan.summary === "" ? nothing : html`<p>${shown(plan.summary)}</p>`}
    ${(plan.commandsRun ?? []).map((line) => html`<p>${t("Run while planning:")} ${shown(line)}</p>`)}
    ${when(follows, (planId) =>
      linkButton(t("Continues an earlier plan"), () => panel.post({ kind: "select", planId }), {
        icon: "references",
        id: "follows",
      }),
    )}
    ${when(
      plan.attachments.length > 0,
      () => html`<ul class="attachments" aria-label=${t("Attachments")}>${plan.attachments.map(attachment)}</ul>`,
    )}
    ${view.facts?.map((fact) => html`<p class="fact">${shown(fact)}</p>`)}
    ${plan.status === "draft" ? nothing : perspectives(view)}
    ${when(
      view.log.length > 0,
      () =>
        html`<ul class="log" aria-label=${t("Log")}>${view.log.map(
          ({ level, at, message }) => html`<li data-level=${level}><time>${timeOfDay(at)}</time>${shown(message)}</li>`,
        )}</ul>`,
    )}
  </section>`;
}

function attachment({ kind, uri, reference, label, truncated, note }: Attachment): View {
  return html`<li title=${plain(uri ?? reference)}>${icon(kind === "folder" || kind === "link" ? kind : "file")} ${shown(label ?? reference)}${
    truncated ? html` <i>${t("truncated")}</i>` : nothing
  } ${note == null ? nothing : html`<span class="quiet">${shown(note)}</span>`}</li>`;
}

/** References of the request that were not found. */
function unresolved({ unresolved: missed = [] }: PlanView): View {
  return html`${missed.map(
    ({ reference, message }) =>
      html`<p class="banner">${icon("warning")}<span>${shown(reference)}: ${shown(message)}</span></p>`,
  )}`;
}

const SAID: Readonly<Record<UserMessage["state"], string>> = { open: "clock", read: "check", dropped: "circle-slash" };

/** What the user has said to the plan since its request; what was read is among the details. */
function messages({ messages: said = [] }: Plan, about: boolean): View {
  const words = { open: t("not read yet"), read: t("read"), dropped: t("not followed") };
  const listed = said.filter(({ state }) => about || state !== "read");
  if (listed.length === 0) return nothing;
  return html`<ul class="messages" aria-label=${t("What you have said")}>${listed.map(
    ({ text, state }) => html`<li data-state=${state}>${icon(SAID[state])}<span>${shown(text)}</span>
      <span class="quiet">${words[state]}</span></li>`,
  )}</ul>`;
}

function progress(view: PlanView): View {
  const { plan, progress: counts } = view;
  if (plan.status === "draft") {
    const tail = draftText(view.streams[""] ?? "");
    return html`<vscode-progress-bar indeterminate aria-label=${t("Drafting the plan")}></vscode-progress-bar>
      <p class="quiet thought">${shown([view.thought, view.verdict].filter(Boolean).join(" · "))}</p>
      ${view.looked?.slice(-LOOKED).map((each) => html`<p class="doing quiet">${shown(each)}</p>`)}
      ${tail === "" ? nothing : html`<pre class="stream" aria-hidden="true">${shown(tail)}</pre>`}`;
  }
  return view.live && plan.status !== "pending_approval" && counts.total > 0
    ? html`<vscode-progress-bar .value=${counts.percentComplete} max="100" aria-label=${t("Progress of the plan")}></vscode-progress-bar>`
    : nothing;
}

function pause(panel: Panel, view: PlanView): View {
  const { plan, pause: why } = view;
  if (plan.status === "paused" && plan.pauseReason === "model_unavailable" && view.decisions === 0)
    return pausedForModel(panel, view);
  return why == null
    ? nothing
    : html`<p class="banner">${icon("debug-pause")}<span>${shown(why)}${helpLink(view.pauseHelp)}</span></p>`;
}

function rejectForm(panel: Panel, { planId }: Plan): View {
  return html`<label for="prompt-text">${t("Why not? The reason helps the next draft.")}</label>
    ${textForm(panel, planId, "reject", {
      label: t("Reason for rejecting"),
      area: { id: "prompt-text" },
      button: t("Reject plan"),
      look: { id: "prompt-send" },
      send: (typed) =>
        panel.decide(planId, "planloom/plan/reject", { planId, reason: typed.trim() || undefined }, "reject"),
    })}`;
}

/** Why the last draft failed, and the way to try again; what the planner warned of is among the details. */
function draftOutcome(panel: Panel, { draft }: PlanView, about: boolean): View {
  if (draft == null || !(draft.failed || about)) return nothing;
  const { feedback = "", failed, warnings } = draft;
  const again = () => {
    panel.update((ui) => ({ ...composed({ ...ui, draft: "" }, feedback, Date.now()), asNew: false }));
    focusSoon("#request");
  };
  return html`<div class="banner draft-outcome" role="status">
    ${icon("warning")}<span>${warnings.map((each) => html`<div>${shown(each)}</div>`)}</span>
    ${failed ? linkButton(t("Try again…"), again, { icon: "refresh", id: "draft-again" }) : nothing}
  </div>`;
}
