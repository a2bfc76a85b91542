// The head of a plan: its request, status and progress, and the buttons for the whole plan.

import { html, nothing } from "lit";
import { when } from "lit/directives/when.js";

import { draftText } from "../../plan/draftText";
import { PLAN_ICON } from "../../plan/signs";
import { offers, type PlanView } from "../../plan/views";
import { type Attachment, type Plan, REVIEWS, type UserMessage } from "../../protocol";
import { percent, plural, t } from "../../words";
import { select, textForm } from "../fields";
import { pausedForModel } from "../mends";
import { plain } from "../text/hiddenCharacters";
import { button, focusSoon, icon, linkButton, type Panel, shown, type View } from "../ui";
import { actionButton, choiceOf, reviewOf } from "./actions";
import { perspectives } from "./perspectives";
import { toSummary } from "./summary";

/** What is sent with a text; the server must offer it. */
const PROMPTED = ["reject", "regenerate"] as const;

export function planHeader(panel: Panel, view: PlanView): View {
  const { plan } = view;
  return html`
    <header class="plan-header" data-away="head" data-status=${plan.status}>
      <div class="title-row">
        ${statusPill(view)}
        ${when(
          view.risk != null,
          () => html`<span
            class="chip risk-${plan.overallRisk}"
            title=${t("Overall risk")}
          >${icon("shield")}${view.risk}</span>`,
        )}
        ${when(
          view.task != null,
          () => html`<span
            class="chip"
            title=${plain(plan.qualification?.reasons.join("\n") ?? "")}
          >${view.task}</span>`,
        )}
        ${when(
          plan.route === "direct",
          () =>
            html`<span class="chip" title=${t("Runs without a plan of its own")}>${icon("zap")}${t("direct")}</span>`,
        )}
      </div>
      ${request(panel, plan)} ${messages(panel, plan)} ${attached(view)} ${when(plan.summary !== "", () => html`<p class="summary">${shown(plan.summary)}</p>`)}
      ${(plan.commandsRun ?? []).map((line) => html`<p class="quiet">${t("Run while planning:")} ${shown(line)}</p>`)}
      ${verdictLine(view)} ${progress(view)} ${pause(panel, view)} ${draftOutcome(panel, view)} ${controls(panel, view)} ${toSummary(panel, "to-summary")}
    </header>
    ${perspectives(view)}
  `;
}

function statusPill({ plan, sign, state, partly }: PlanView): View {
  return html`<span
    class="pill"
    role="status"
    data-status=${sign === "waiting" ? sign : plan.status}
    data-partly=${partly}
  >${icon(sign === "completed" ? "pass-filled" : PLAN_ICON[sign])}${shown(state)}</span>`;
}

function request(panel: Panel, plan: Plan): View {
  const whole = panel.forms(plan.planId).wholeRequest;
  const long = plan.request.length > 160 || plan.request.split("\n").length > 3;
  return html`<h1 class="request ${whole || !long ? "" : "clipped"}">${shown(plan.request)}</h1>
    ${when(long, () =>
      linkButton(whole ? t("Show less") : t("Show the whole request"), () =>
        panel.change(plan.planId, (forms) => (forms.wholeRequest = !whole)),
      ),
    )}`;
}

function messageState(state: UserMessage["state"]): readonly [string, string] {
  const words: Readonly<Record<UserMessage["state"], readonly [string, string]>> = {
    open: ["clock", t("not read yet")],
    read: ["check", t("read")],
    dropped: ["circle-slash", t("not followed")],
  };
  return words[state];
}

/** What the user has said to the plan since its request, and whether it was read. */
function messages(panel: Panel, plan: Plan): View {
  const { follows } = plan;
  const said = plan.messages ?? [];
  return html`${when(follows, (planId) =>
    linkButton(t("Continues an earlier plan"), () => panel.post({ kind: "select", planId }), {
      icon: "references",
      id: "follows",
    }),
  )}${when(
    said.length > 0,
    () => html`<ul class="messages" aria-label=${t("What you have said")}>
        ${said.map(({ text, state }) => {
          const [name, words] = messageState(state);
          return html`<li data-state=${state}>${icon("comment")}<span>${shown(text)}</span>
            <span class="quiet">${icon(name)} ${words}</span></li>`;
        })}
      </ul>`,
  )}`;
}

function attached(view: PlanView): View {
  const { attachments } = view.plan;
  const { unresolved = [] } = view;
  if (attachments.length === 0 && unresolved.length === 0) return nothing;
  return html`<ul class="chips" aria-label=${t("Attachments")}>
    ${attachments.map(
      (each) =>
        html`<li
          class="chip"
          title=${plain(attachmentTip(each))}
        >${icon(each.kind === "folder" || each.kind === "link" ? each.kind : "file")}${shown(
          each.label ?? each.reference,
        )}${each.truncated ? html`<i>${t("truncated")}</i>` : nothing}</li>`,
    )}
    ${unresolved.map(
      (each) =>
        html`<li
          class="chip warning"
          title=${plain(each.message)}
        >${icon("warning")}${shown(each.reference)}: ${shown(each.message)}</li>`,
    )}
  </ul>`;
}

function attachmentTip(attachment: Attachment): string {
  return [
    attachment.uri ?? attachment.reference,
    plural(attachment.bytes, "1 byte", "{0} bytes"),
    attachment.note ?? "",
  ]
    .filter(Boolean)
    .join("\n");
}

function verdictLine({ verdict }: PlanView): View {
  return verdict == null ? nothing : html`<p class="quiet">${verdict}</p>`;
}

function progress(view: PlanView): View {
  const { plan, progress: counts, estimate, estimates } = view;
  const used =
    view.used === ""
      ? nothing
      : html`<span id="spent" title=${view.usedLines?.join("\n") ?? nothing}>${shown(view.used)}</span>`;
  if (plan.status === "draft") {
    const tail = draftText(view.streams[""] ?? "");
    return html`<vscode-progress-bar indeterminate aria-label=${t("Drafting the plan")}></vscode-progress-bar>
      <div class="figures">
        <span>${view.thought}</span>
        <span class="grow"></span>${used}
      </div>
      ${tail === "" ? nothing : html`<pre class="stream" aria-hidden="true">${shown(tail)}</pre>`}`;
  }
  if (counts.total === 0) return nothing;
  const started = !["pending_approval", "rejected"].includes(plan.status);
  return html`${when(
    started,
    () => html`<vscode-progress-bar
      class="bar-${view.partly ? "partly" : plan.status}"
      .value=${counts.percentComplete}
      max="100"
      aria-label=${t("Progress of the plan")}
    ></vscode-progress-bar>`,
  )}
    <div class="figures">
      <span id="progress">${
        started
          ? plural(counts.total, "{1} of 1 step", "{1} of {0} steps", counts.completed)
          : plural(counts.total, "1 step", "{0} steps")
      }</span>
      ${started ? html`<span>${percent(counts.percentComplete)}</span>` : nothing}
      ${counts.failed > 0 ? html`<span class="bad">${t("{0} failed", counts.failed)}</span>` : nothing}
      ${counts.skipped > 0 ? html`<span>${t("{0} skipped", counts.skipped)}</span>` : nothing}
      <span class="grow"></span>${when(estimate != null, () => html`<span title=${estimates?.join("\n") ?? nothing}>${estimate}</span>`)}
      ${when(plan.version > 0, () => html`<span title=${t("Version {0} of the plan", plan.version)}>v${plan.version}</span>`)}
      ${used}
    </div>`;
}

function pause(panel: Panel, view: PlanView): View {
  const { plan, pause: why } = view;
  if (plan.status === "paused" && plan.pauseReason === "model_unavailable" && view.decisions === 0)
    return pausedForModel(panel, view);
  return why == null ? nothing : html`<p class="banner warning">${icon("debug-pause")}<span>${shown(why)}</span></p>`;
}

function controls(panel: Panel, view: PlanView): View {
  const { plan, actions } = view;
  const { planId } = plan;
  const forms = panel.forms(planId);
  const { server } = panel.ui;
  const choices = (server.kind === "running" ? server.reviews : []).map(
    ({ review, title }) => [review, title] as const,
  );
  const choose = (value: string) => {
    const review = REVIEWS.find((each) => each === value) ?? "each";
    panel.change(planId, (mine) => (mine.review = review));
    panel.post({ kind: "review", planId, review });
  };
  const prompt = (kind: "reject" | "regenerate") => () => {
    panel.change(planId, (mine) => (mine.texts[kind] = ""));
    focusSoon("#prompt-text");
  };
  const prompted = PROMPTED.find((kind) => forms.texts[kind] !== undefined && offers(view, `planloom.${kind}`));
  if (prompted !== undefined) return promptForm(panel, plan, prompted);
  if (plan.status === "pending_approval")
    return html`<div class="actions main-actions">
          ${actionButton(panel, plan, actions, "approve", { id: "approve", icon: "play" })}
          ${actionButton(panel, plan, actions, "direct", {
            id: "direct",
            secondary: true,
            title: t("Send the request as it is, without this plan"),
          })}
        </div>
        <div class="actions">
          ${select(t("When changes are reviewed"), choices, reviewOf(panel, plan), choose, { id: "review" })}
        </div>
        ${asks(panel, plan)}
        <div class="actions">
          ${actionButton(panel, plan, actions, "pause", { id: "pause", link: true })}
          <span class="grow"></span>
          ${linkButton(t("Regenerate…"), prompt("regenerate"), { id: "regenerate" })}
          ${linkButton(t("Reject…"), prompt("reject"), { id: "reject" })}
        </div>`;
  const again = offers(view, "planloom.regenerate");
  if (!again && !["resume", "pause", "cancel"].some((name) => offers(view, `planloom.${name}`))) return nothing;
  return html`<div class="actions">
    ${when(view.decisions === 0, () => actionButton(panel, plan, actions, "resume", { id: "resume", icon: "debug-continue" }))}
    ${actionButton(panel, plan, actions, "review", { id: "review", link: true })}
    ${actionButton(panel, plan, actions, "pause", { id: "pause", icon: "debug-pause", secondary: true })}
    ${actionButton(panel, plan, actions, "cancel", { id: "cancel", icon: "debug-stop", secondary: true })}
    ${when(plan.status === "draft" && plan.version === 0, () => actionButton(panel, plan, actions, "direct", { link: true }))}
    ${when(again && view.live, () => html`<span class="grow"></span>${linkButton(t("Regenerate…"), prompt("regenerate"))}`)}
    ${when(again && !view.live, () => button(t("Regenerate…"), prompt("regenerate"), { icon: "refresh", secondary: true }))}
  </div>`;
}

/** What this plan will ask: the select alone does not show what the settings allow. */
function asks(panel: Panel, plan: Plan): View {
  const again = reviewOf(panel, plan) === "each" ? plan.asksAgain : undefined;
  const words = again ?? choiceOf(panel, plan)?.asks;
  return words === undefined ? nothing : html`<p class="quiet" id="asks">${shown(words)}</p>`;
}

function promptForm(panel: Panel, { planId, version }: Plan, kind: "reject" | "regenerate"): View {
  const rejecting = kind === "reject";
  return html`<label for="prompt-text">${rejecting ? t("Why not? The reason helps the next draft.") : t("What should change?")}</label>
    ${textForm(panel, planId, kind, {
      label: rejecting ? t("Reason for rejecting") : t("Feedback for the next draft"),
      area: { id: "prompt-text" },
      button: rejecting ? t("Reject plan") : t("Regenerate"),
      look: { id: "prompt-send" },
      send: (typed) => {
        const text = typed.trim() || undefined;
        if (rejecting) panel.decide(planId, "planloom/plan/reject", { planId, reason: text }, kind);
        else panel.decide(planId, "planloom/plan/regenerate", { planId, version, feedback: text }, kind);
      },
    })}`;
}

/** What became of the last draft: why it failed, with the feedback that it was for, or what the planner warns of. */
function draftOutcome(panel: Panel, view: PlanView): View {
  const { draft, plan } = view;
  if (draft == null) return nothing;
  const { feedback = "", failed, warnings } = draft;
  const again = () => {
    panel.change(plan.planId, (forms) => {
      delete forms.texts.reject;
      forms.texts.regenerate = feedback;
    });
    focusSoon("#prompt-text");
  };
  return html`<div class="banner warning draft-outcome" role="status">
    ${icon("warning")}<span>${warnings.map((each) => html`<div>${shown(each)}</div>`)}${when(failed && feedback !== "", () => html`<div class="quiet">${t("Your feedback: {0}", feedback)}</div>`)}</span>
    ${failed ? linkButton(t("Try again…"), again, { icon: "refresh", id: "draft-again" }) : nothing}
  </div>`;
}
