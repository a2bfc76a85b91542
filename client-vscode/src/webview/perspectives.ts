// The perspectives of strategy, code and operations on a request: the state of each, and its analysis to unfold.

import { html, nothing } from "lit";

import type { PlanView } from "../plan/planView";
import { AGENTS, type Agent, type ChapoPerspective, type DevoPerspective, type KodaPerspective } from "../protocol";
import { icon, shown, type View } from "./ui";

const ROLE: Readonly<Record<Agent, string>> = { chapo: "Strategy", koda: "Code", devo: "Operations" };
type State = "thinking" | "failed" | "done" | "to come";
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

/** The titles of the parts of a perspective, in the order in which they are shown. */
const TITLE: Readonly<Record<Part, string>> = {
  strategicAnalysis: "Strategy",
  riskAssessment: "Risks",
  impactAreas: "Impact",
  coordinationNeeds: "Coordination",
  affectedFiles: "Files",
  codePatterns: "Patterns",
  potentialBreakingChanges: "Breaking changes",
  testingRequirements: "Tests",
  deploymentImpact: "Deployment",
  rollbackStrategy: "Rollback",
  servicesAffected: "Services",
  infrastructureChanges: "Infrastructure",
  concerns: "Concerns",
  recommendations: "Recommendations",
  dependencies: "Dependencies",
};

/** What the model does while there are no steps yet. */
export function thought(view: PlanView): string {
  const roles = view.asking.map((agent) => ROLE[agent]).join(" and ");
  if (roles !== "") return `${roles} ${view.asking.length === 1 ? "is" : "are"} thinking…`;
  return AGENTS.every((agent) => ["done", "failed"].includes(stateOf(view, agent)))
    ? "Merging the perspectives into one plan…"
    : "Thinking…";
}

export function perspectives(view: PlanView): View {
  const waited = view.plan.route === "perspectives" && view.plan.status === "draft";
  const agents = AGENTS.filter((agent) => waited || stateOf(view, agent) !== "to come");
  if (agents.length === 0) return nothing;
  const heard = agents.filter((agent) => stateOf(view, agent) === "done").length;
  return html`<section class="perspectives" aria-label="Perspectives">
    <h3>
      ${icon("organization")}<span class="grow">Perspectives</span>
      <span class="quiet">${heard} of ${agents.length}</span>
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
  const glyph = icon(LOOK[state], state, "glyph");
  const head = html`${glyph}<b>${ROLE[agent]}</b><span class="quiet">${agent}</span><span class="grow"></span>
    ${
      state === "done" && perspective != null
        ? html`<span
          class="chip"
          title="Estimated effort"
        >${shown(perspective.estimatedEffort)}</span>${icon("chevron-right", undefined, "opens")}`
        : html`<span class="quiet">${state === "failed" ? "no answer" : state}</span>`
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
  const written = Object.entries(TITLE).map(([name, title]) => [title, perspective[name as Part] ?? ""] as const);
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
