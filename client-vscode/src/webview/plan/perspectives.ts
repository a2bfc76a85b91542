// The perspectives of strategy, code and operations on a request: the state of each, and its analysis to unfold.

import { html, nothing } from "lit";

import type { PlanView } from "../../plan/planView";
import { AGENTS, type Agent, type ChapoPerspective, type DevoPerspective, type KodaPerspective } from "../../protocol";
import { list, t } from "../../words";
import { agentName } from "../text/format";
import { icon, shown, type View } from "../ui";

type State = "thinking" | "failed" | "done" | "to come";

function stateName(state: State): string {
  return { thinking: t("thinking"), failed: t("no answer"), done: t("done"), "to come": t("to come") }[state];
}

const LOOK: Readonly<Record<State, string>> = {
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

/** What the model does while there are no steps yet. */
export function thought(view: PlanView): string {
  const roles = list(view.asking.map(agentName));
  if (view.asking.length > 0)
    return view.asking.length === 1 ? t("{0} is thinking…", roles) : t("{0} are thinking…", roles);
  return AGENTS.every((agent) => ["done", "failed"].includes(stateOf(view, agent)))
    ? t("Merging the perspectives into one plan…")
    : t("Thinking…");
}

export function perspectives(view: PlanView): View {
  const waited = view.plan.route === "perspectives" && view.plan.status === "draft";
  const agents = AGENTS.filter((agent) => waited || stateOf(view, agent) !== "to come");
  if (agents.length === 0) return nothing;
  const heard = agents.filter((agent) => stateOf(view, agent) === "done").length;
  return html`<section class="perspectives" aria-label=${t("Perspectives")}>
    <h3>
      ${icon("organization")}<span class="grow">${t("Perspectives")}</span>
      <span class="quiet">${t("{0} of {1}", heard, agents.length)}</span>
    </h3>
    ${agents.map((agent) => row(view, agent))}
  </section>`;
}

function stateOf(view: PlanView, agent: Agent): State {
  if (view.asking.includes(agent)) return "thinking";
  if (view.perspectiveErrors[agent] !== undefined) return "failed";
  return view.plan.perspectives[agent] == null ? "to come" : "done";
}

function row(view: PlanView, agent: Agent): View {
  const state = stateOf(view, agent);
  const perspective = view.plan.perspectives[agent];
  const glyph = icon(LOOK[state], stateName(state), "glyph");
  const head = html`${glyph}<b>${agentName(agent)}</b><span class="grow"></span>
    ${
      state === "done" && perspective != null
        ? html`<span
          class="chip"
          title=${t("Estimated effort")}
        >${shown(perspective.estimatedEffort)}</span>${icon("chevron-right", undefined, "opens")}`
        : html`<span class="quiet">${stateName(state)}</span>`
    }`;
  if (state === "done" && perspective != null) {
    return html`<details class="perspective" data-agent=${agent} data-state=${state}>
      <summary>${head}</summary>
      <div class="perspective-text"><p>${shown(perspective.analysis)}</p>${parts(perspective)}</div>
    </details>`;
  }
  return html`<div class="perspective" data-agent=${agent} data-state=${state}>
    <div class="perspective-head">${head}</div>
    ${state === "failed" ? html`<p class="perspective-text bad">${shown(view.perspectiveErrors[agent])}</p>` : nothing}
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
