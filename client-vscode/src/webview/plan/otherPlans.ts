// The plans that are not displayed: those that have not ended, with what each waits for, and those that use what the
// displayed plan waits for.

import { html, nothing } from "lit";

import { others, type PanelState, type PlanView } from "../../plan/views";
import { plural, t } from "../../words";
import { firstLine } from "../text/format";
import { icon, linkButton, type Panel, phrase, shown, type View } from "../ui";

/** More plans than these are one line, which leads to the page of all plans. */
const LISTED = 3;

export function otherPlans(panel: Panel, state: PanelState): View {
  const views = others(state);
  if (views.length === 0) return nothing;
  const waiting = views.filter(({ waits }) => waits !== undefined).length;
  const show = () => panel.post({ kind: "show", what: "plans" });
  return html`<nav class="others" aria-label=${t("Other plans")}>${
    views.length <= LISTED
      ? views.map((view) => row(panel, view))
      : html`<button class="other" type="button" id="all-plans" @click=${show}>${icon("history")}<span class="other-title"
          >${plural(views.length, "1 other plan", "{0} other plans")}</span
        ><span class="other-state">${waiting === 0 ? nothing : plural(waiting, "1 waits for you", "{0} wait for you")}</span></button>`
  }</nav>`;
}

function row(panel: Panel, view: PlanView): View {
  const { waits, state, plan } = view;
  return html`<button
    class="other"
    type="button"
    title=${t("Show this plan")}
    @click=${() => panel.post({ kind: "select", planId: plan.planId })}
  >${icon(waits === undefined ? "checklist" : "bell-dot")}<span class="other-title">${shown(firstLine(plan.request.trim()))}</span
    ><span class="other-state">${shown(waits ?? state)}</span></button>`;
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
