// The other plans that use what the displayed plan waits for, with the way to them.

import { html, nothing } from "lit";

import type { PanelState, PlanView } from "../../plan/views";
import { t } from "../../words";
import { firstLine } from "../text/format";
import { icon, linkButton, type Panel, phrase, shown, type View } from "../ui";

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
