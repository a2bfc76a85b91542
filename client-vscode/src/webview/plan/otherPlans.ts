// The plans that are not displayed: those that have not ended, with what each waits for, and those that use what the
// displayed plan waits for.

import { html, nothing } from "lit";

import { others, type PanelState, type PlanView } from "../../plan/views";
import { t } from "../../words";
import { firstLine } from "../text/format";
import { icon, linkButton, type Panel, phrase, shown, type View } from "../ui";
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

/** The other plans that use what the displayed plan waits for, with the way to them. */
export function resourceWaits(panel: Panel, view: PlanView, { plans }: PanelState): View {
  return html`${(view.waitsFor ?? []).map(({ planId, words }) => {
    const other = plans[planId];
    const title = firstLine(other?.plan.request.trim() ?? "");
    const waits = other?.waits;
    return html`<p class="banner resource-wait">
      ${icon("watch")}<span>${shown(words)}<br /><span class="quiet"
        >${phrase("The plan “{0}” uses it", shown(title))}${waits === undefined ? nothing : html` · ${shown(waits)}`}</span
      ></span>
      ${linkButton(t("Show that plan"), () => panel.post({ kind: "select", planId }), { classes: "show-user" })}
    </p>`;
  })}`;
}
