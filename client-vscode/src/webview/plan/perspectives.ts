// The perspectives of strategy, code and operations on a request: the state of each, and its analysis to unfold.

import { html, nothing } from "lit";

import type { PlanView } from "../../plan/views";
import type { PerspectiveState, ReportPart } from "../../protocol";
import { t } from "../../words";
import { icon, shown, type View } from "../ui";

const LOOK: Readonly<Record<PerspectiveState["state"], string>> = {
  thinking: "loading",
  failed: "warning",
  done: "pass-filled",
  "to come": "circle-large-outline",
};

export function perspectives(view: PlanView): View {
  const { perspectives: agents = [] } = view;
  if (agents.length === 0) return nothing;
  const heard = agents.filter(({ state }) => state === "done").length;
  return html`<section class="perspectives" aria-label=${t("Perspectives")}>
    <h3>
      ${icon("organization")}<span class="grow">${t("Perspectives")}</span>
      <span class="quiet">${t("{0} of {1}", heard, agents.length)}</span>
    </h3>
    ${agents.map((each) => row(view, each))}
  </section>`;
}

function row(view: PlanView, { agent, name, state, words, error, parts = [] }: PerspectiveState): View {
  const perspective = view.plan.perspectives[agent];
  const glyph = icon(LOOK[state], words, "glyph");
  const head = html`${glyph}<b>${name}</b><span class="grow"></span>
    ${
      state === "done" && perspective != null
        ? html`<span
          class="chip"
          title=${t("Estimated effort")}
        >${shown(perspective.estimatedEffort)}</span>${icon("chevron-right", undefined, "opens")}`
        : html`<span class="quiet">${words}</span>`
    }`;
  if (state === "done" && perspective != null) {
    return html`<details class="perspective" data-agent=${agent} data-state=${state}>
      <summary>${head}</summary>
      <div class="perspective-text"><p>${shown(perspective.analysis)}</p>${parts.map(part)}</div>
    </details>`;
  }
  return html`<div class="perspective" data-agent=${agent} data-state=${state}>
    <div class="perspective-head">${head}</div>
    ${error == null ? nothing : html`<p class="perspective-text bad">${shown(error)}</p>`}
  </div>`;
}

function part({ title, text, items = [] }: ReportPart): View {
  const list = html`<ul class="plain">${items.map((item) => html`<li>${shown(item)}</li>`)}</ul>`;
  return html`<h5>${title}</h5>${text == null ? list : html`<p>${shown(text)}</p>`}`;
}
