// The other plans that use what the displayed plan waits for, with the way to them.

import { html, nothing } from "lit";

import type { PanelState } from "../../plan/planState";
import type { PlanView } from "../../plan/planView";
import { resourceWords, waitingFor, waitsForPlans } from "../../plan/waiting";
import { t } from "../../words";
import { firstLine } from "../text/format";
import { icon, linkButton, type Panel, phrase, shown, type View } from "../ui";
import { capitalized } from "./planHeader";

export function resourceWaits(panel: Panel, view: PlanView, { plans }: PanelState): View {
  return html`${waitsForPlans(view).map((wait) => {
    const { usedByPlan: planId } = wait;
    const other = plans[planId];
    const title = firstLine(other?.plan.request.trim() ?? "");
    const waits = other === undefined ? undefined : waitingFor(other);
    return html`<p class="banner resource-wait">
      ${icon("watch")}<span>${shown(capitalized(resourceWords(wait)))}<br /><span class="quiet"
        >${phrase("The plan “{0}” uses it", shown(title))}${waits === undefined ? nothing : html` · ${waits}`}</span
      ></span>
      ${linkButton(t("Show that plan"), () => panel.post({ kind: "select", planId }), { classes: "show-user" })}
    </p>`;
  })}`;
}
