// The perspectives of strategy, code and operations on a request: the state of each, and its analysis to unfold.

import { html, nothing } from "lit";

import type { PlanView } from "../../plan/views";
import type { ChapoPerspective, DevoPerspective, KodaPerspective, PerspectiveState } from "../../protocol";
import { t } from "../../words";
import { icon, shown, type View } from "../ui";

const LOOK: Readonly<Record<PerspectiveState["state"], string>> = {
  thinking: "loading",
  failed: "warning",
  done: "pass-filled",
  "to come": "circle-large-outline",
};

type Part = Exclude<
  keyof ChapoPerspective | keyof KodaPerspective | keyof DevoPerspective,
  "agent" | "analysis" | "estimatedEffort" | "timestamp"
>;

/** The parts of a perspective with their titles, in the order in which they are shown. */
function titles(): Readonly<Record<Part, string>> {
  return {
    strategicAnalysis: t("Strategy"),
    riskAssessment: t("Risks"),
    impactAreas: t("Impact"),
    coordinationNeeds: t("Coordination"),
    affectedFiles: t("Files"),
    codePatterns: t("Patterns"),
    potentialBreakingChanges: t("Breaking changes"),
    testingRequirements: t("Tests"),
    deploymentImpact: t("Deployment"),
    rollbackStrategy: t("Rollback"),
    servicesAffected: t("Services"),
    infrastructureChanges: t("Infrastructure"),
    concerns: t("Concerns"),
    recommendations: t("Recommendations"),
    dependencies: t("Dependencies"),
  };
}

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

function row(view: PlanView, { agent, name, state, words, error }: PerspectiveState): View {
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
      <div class="perspective-text"><p>${shown(perspective.analysis)}</p>${parts(perspective)}</div>
    </details>`;
  }
  return html`<div class="perspective" data-agent=${agent} data-state=${state}>
    <div class="perspective-head">${head}</div>
    ${error == null ? nothing : html`<p class="perspective-text bad">${shown(error)}</p>`}
  </div>`;
}

function parts(perspective: Partial<Record<Part, string | readonly string[]>>): View {
  const written = Object.entries(titles()).map(([name, title]) => [title, perspective[name as Part] ?? ""] as const);
  return html`${written
    .filter(([, text]) => text.length > 0)
    .map(
      ([title, text]) =>
        html`<h5>${title}</h5>${
          typeof text === "string"
            ? html`<p>${shown(text)}</p>`
            : html`<ul class="plain">${text.map((item) => html`<li>${shown(item)}</li>`)}</ul>`
        }`,
    )}`;
}
