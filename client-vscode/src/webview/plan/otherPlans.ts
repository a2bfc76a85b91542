// The plans that are not displayed and have not ended, with what each of them waits for.

import { html, nothing } from "lit";

import { others, type PanelState, type PlanView } from "../../plan/views";
import { t } from "../../words";
import { firstLine } from "../text/format";
import { icon, type Panel, shown, type View } from "../ui";
import { toAllPlans } from "./plansPage";

export function otherPlans(panel: Panel, state: PanelState): View {
  const views = others(state);
  if (views.length === 0) return nothing;
  return html`<nav class="others" aria-label=${t("Other plans")}>${views.map((view) => row(panel, view))}</nav>${toAllPlans(panel)}`;
}

function row(panel: Panel, view: PlanView): View {
  const { planId, request } = view.plan;
  const { waits, state } = view;
  const title = firstLine(request.trim());
  return html`<button
    class="other ${waits === undefined ? "" : "warn"}"
    type="button"
    title=${t("Show this plan")}
    @click=${() => panel.post({ kind: "select", planId })}
  >
    ${icon(waits === undefined ? "checklist" : "bell-dot")}<span class="other-title">${shown(title)}</span
    ><span class="other-state">${shown(waits ?? state)}</span>
  </button>`;
}
