// The head of a plan: what was asked, where it stands, how far it is, and what can be done with all of it.

import { html, nothing } from "lit";

import { attention, progressOf, type PlanView } from "../planState";
import type { Attachment, Plan, Review } from "../protocol";
import { duration, PAUSE_REASON, PLAN_STATUS, reasonOf, spent } from "./format";
import { plain } from "./marks";
import { perspectives, thought } from "./perspectives";
import { focusSoon, icon, shown, valueOf, type Panel, type View } from "./ui";

const REVIEWS: Readonly<Record<Review, string>> = {
  each: "Review each step",
  end: "Review all at the end",
  auto: "Ask only for risky changes",
};

export function planHeader(panel: Panel, view: PlanView): View {
  const { plan } = view;
  return html`
    <header class="plan-header" data-status=${plan.status}>
      <div class="title-row">
        ${statusPill(plan)}
        ${plan.status === "draft" || plan.steps.length === 0 ? nothing : html`<span class="chip risk-${plan.overallRisk}" title="Overall risk">${icon("shield")}${plan.overallRisk} risk</span>`}
        ${plan.qualification == null || plan.qualification.taskType === "question" ? nothing : html`<span class="chip" title=${plain(plan.qualification.reasons.join("\n"))}>${plan.qualification.complexity} ${plan.qualification.taskType}</span>`}
        ${plan.route === "direct" ? html`<span class="chip" title="Runs without a plan of its own">${icon("zap")}direct</span>` : nothing}
      </div>
      ${request(panel, plan)} ${attached(view)} ${plan.summary === "" ? nothing : html`<p class="summary">${shown(plan.summary)}</p>`}
      ${verdictLine(view)} ${progress(view)} ${pause(view)} ${controls(panel, view)}
    </header>
    ${perspectives(view)}
  `;
}

function statusPill(plan: Plan): View {
  const waits = attention(plan) > 0 && plan.status !== "pending_approval";
  const label = waits ? "Waits for you" : PLAN_STATUS[plan.status];
  const icons = { draft: "loading", pending_approval: "checklist", approved: "loading", executing: "loading", paused: "debug-pause", completed: "pass-filled", failed: "error", cancelled: "circle-slash", rejected: "thumbsdown" };
  return html`<span class="pill" role="status" data-status=${waits ? "waiting" : plan.status}>${icon(waits ? "bell-dot" : icons[plan.status])}${label}</span>`;
}

function request(panel: Panel, plan: Plan): View {
  const whole = panel.ui.wholeRequest;
  const long = plan.request.length > 160 || plan.request.split("\n").length > 3;
  return html`<div class="request ${whole || !long ? "" : "clipped"}">${shown(plan.request)}</div>
    ${long
      ? html`<button class="link" type="button" @click=${() => panel.update((ui) => (ui.wholeRequest = !whole))}>${whole ? "Show less" : "Show the whole request"}</button>`
      : nothing}`;
}

function attached(view: PlanView): View {
  const { attachments } = view.plan;
  if (attachments.length === 0 && view.unresolved.length === 0) return nothing;
  return html`<ul class="chips" aria-label="Attachments">
    ${attachments.map((each) => html`<li class="chip" title=${plain(attachmentTip(each))}>${icon(each.kind === "folder" ? "folder" : each.kind === "link" ? "link" : "file")}${shown(each.label ?? each.reference)}${each.truncated ? html`<i>cut</i>` : nothing}</li>`)}
    ${view.unresolved.map((each) => html`<li class="chip warning" title=${plain(each.message)}>${icon("warning")}${shown(each.reference)}: ${shown(each.message)}</li>`)}
  </ul>`;
}

function attachmentTip(attachment: Attachment): string {
  return [attachment.uri ?? attachment.reference, `${attachment.bytes} bytes`, attachment.note ?? ""].filter(Boolean).join("\n");
}

function verdictLine(view: PlanView): View {
  const { plan, detection } = view;
  if (detection === undefined || plan.status !== "draft") return nothing;
  return html`<p class="quiet">${detection.planned ? "Planned" : "Direct"}: ${reasonOf(detection)}</p>`;
}

function progress(view: PlanView): View {
  const { plan } = view;
  const tokens = spent(plan);
  if (plan.status === "draft") {
    const tail = view.streams[""] ?? "";
    return html`<vscode-progress-bar indeterminate aria-label="Drafting the plan"></vscode-progress-bar>
      <div class="figures"><span>${plan.steps.length === 0 ? thought(view) : `${plan.steps.length} ${plan.steps.length === 1 ? "step" : "steps"} so far`}</span><span class="grow"></span><span>${tokens}</span></div>
      ${tail === "" ? nothing : html`<pre class="stream" aria-hidden="true">${shown(tail.slice(-400))}</pre>`}`;
  }
  const counts = progressOf(plan);
  if (counts.total === 0) return nothing;
  const started = !["pending_approval", "rejected"].includes(plan.status);
  return html`${started
      ? html`<vscode-progress-bar class="bar-${plan.status}" .value=${counts.percentComplete} max="100" aria-label="Progress of the plan"></vscode-progress-bar>`
      : nothing}
    <div class="figures">
      <span id="progress">${started ? `${counts.completed} of ${counts.total} steps` : `${counts.total} ${counts.total === 1 ? "step" : "steps"}`}</span>
      ${started ? html`<span>${counts.percentComplete} %</span>` : nothing}
      ${counts.failed > 0 ? html`<span class="bad">${counts.failed} failed</span>` : nothing}
      ${counts.skipped > 0 ? html`<span>${counts.skipped} skipped</span>` : nothing}
      <span class="grow"></span>${plan.estimatedDuration == null || started ? nothing : html`<span title="Estimated duration">≈ ${duration(plan.estimatedDuration * 1000)}</span>`}
      <span title="Tokens and model requests so far">${tokens}</span>
      ${plan.version > 0 ? html`<span title="Version of the plan, written by ${plan.author}">v${plan.version}</span>` : nothing}
    </div>`;
}

function pause(view: PlanView): View {
  const reason = view.pause?.reason ?? view.plan.pauseReason;
  // What waits for an answer says so in a card of its own.
  if (view.plan.status !== "paused" || reason == null || attention(view.plan) > 0) return nothing;
  const detail = view.pause?.detail ?? view.plan.pauseDetail;
  // Which files these are and what to do is one sentence of the server's.
  const said = reason === "unsaved_files" && detail != null ? "" : (PAUSE_REASON[reason] ?? "Paused.");
  return html`<p class="banner warning">${icon("debug-pause")}<span>${said} ${shown(detail)}</span></p>`;
}

function controls(panel: Panel, view: PlanView): View {
  const { plan } = view;
  const { ui } = panel;
  const { planId, version } = plan;
  const control = (action: "direct" | "pause" | "resume" | "cancel") => () => panel.post({ kind: "control", action, planId });
  const prompt = (kind: "reject" | "regenerate") => () => {
    panel.update((state) => (state.prompt = { kind, text: "" }));
    focusSoon("#prompt-text");
  };
  if (ui.prompt !== undefined) return promptForm(panel, plan, ui.prompt);
  switch (plan.status) {
    case "pending_approval":
      return html`<div class="actions main-actions">
          <vscode-button id="approve" @click=${() => panel.post({ kind: "approve", planId, version, review: ui.review })}>${icon("play")} Start execution</vscode-button>
          <vscode-button id="direct" secondary title="Send the request as it is, without this plan" @click=${control("direct")}>Execute directly</vscode-button>
        </div>
        <div class="actions">
          <vscode-single-select id="review" aria-label="When changes are reviewed" @change=${(event: Event) => panel.update((state) => (state.review = reviewOf(valueOf(event))))}>
            ${(["each", "end", "auto"] as const).map((value) => html`<vscode-option value=${value} ?selected=${ui.review === value}>${REVIEWS[value]}</vscode-option>`)}
          </vscode-single-select>
          <span class="grow"></span>
          <button class="link" id="regenerate" type="button" @click=${prompt("regenerate")}>Regenerate…</button>
          <button class="link" id="reject" type="button" @click=${prompt("reject")}>Reject…</button>
        </div>`;
    case "draft":
      return html`<div class="actions">
        <vscode-button secondary id="cancel" @click=${control("cancel")}>Cancel</vscode-button>
        ${plan.version === 0 ? html`<button class="link" type="button" @click=${control("direct")}>Execute directly instead</button>` : nothing}
      </div>`;
    case "approved":
    case "executing":
      return html`<div class="actions">
        <vscode-button secondary id="pause" @click=${control("pause")}>${icon("debug-pause")} Pause</vscode-button>
        <vscode-button secondary id="cancel" @click=${control("cancel")}>${icon("debug-stop")} Cancel</vscode-button>
      </div>`;
    case "paused":
      return html`<div class="actions">
        ${attention(plan) > 0 ? nothing : html`<vscode-button id="resume" @click=${control("resume")}>${icon("debug-continue")} Resume</vscode-button>`}
        <vscode-button secondary id="cancel" @click=${control("cancel")}>${icon("debug-stop")} Cancel</vscode-button>
        <span class="grow"></span>
        <button class="link" type="button" @click=${prompt("regenerate")}>Regenerate…</button>
      </div>`;
    case "rejected":
    case "failed":
    case "cancelled":
      return html`<div class="actions">
        <vscode-button secondary @click=${prompt("regenerate")}>${icon("refresh")} Regenerate…</vscode-button>
      </div>`;
    case "completed":
      return nothing;
  }
}

function promptForm(panel: Panel, plan: Plan, prompt: { kind: "reject" | "regenerate"; text: string }): View {
  const { planId, version } = plan;
  const rejecting = prompt.kind === "reject";
  const close = () => panel.update((ui) => (ui.prompt = undefined));
  const submit = () => {
    const text = prompt.text.trim();
    panel.post(rejecting ? { kind: "reject", planId, reason: text } : { kind: "regenerate", planId, version, feedback: text });
    close();
  };
  return html`<div class="prompt">
    <label for="prompt-text">${rejecting ? "Why not? The reason helps the next draft." : "What should change?"}</label>
    <vscode-textarea
      id="prompt-text"
      rows="3"
      resize="vertical"
      label=${rejecting ? "Reason for rejecting" : "Feedback for the next draft"}
      .value=${prompt.text}
      @input=${(event: Event) => (prompt.text = valueOf(event))}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key === "Escape") close();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
      }}
    ></vscode-textarea>
    <div class="actions">
      <vscode-button id="prompt-send" @click=${submit}>${rejecting ? "Reject plan" : "Regenerate"}</vscode-button>
      <vscode-button secondary @click=${close}>Back</vscode-button>
    </div>
  </div>`;
}

function reviewOf(value: string): Review {
  return value === "end" || value === "auto" ? value : "each";
}
