// The page with all plans: search, filter, and what can be done with each.

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { when } from "lit/directives/when.js";

import { FILTERS, type Filter, type ListedPlan, listed, matching } from "../../plan/planList";
import { PLAN_ICON } from "../../plan/signs";
import type { PanelState } from "../../plan/views";
import type { PlanStatus } from "../../protocol";
import { ago, moment, plural, t } from "../../words";
import { select, textField } from "../fields";
import { firstLine } from "../text/format";
import { plain } from "../text/hiddenCharacters";
import { icon, iconButton, type Panel, shown, type View } from "../ui";
import type { Ui } from "../uiState";

/** The most plans that are drawn: many hundreds would take long to draw at each key. */
const MOST_DRAWN = 200;
/** Statuses in which no step has run, so that their number says nothing. */
const UNSTARTED: readonly PlanStatus[] = ["draft", "pending_approval", "rejected"];

export function plansPage(panel: Panel, state: PanelState): View {
  const { list } = panel.ui;
  if (list === undefined) return nothing;
  const all = listed(list.plans ?? [], state);
  const found = matching(all, list.find, list.filter);
  const change = (more: Partial<NonNullable<Ui["list"]>>) =>
    panel.update((ui) => (ui.list === undefined ? ui : { ...ui, list: { ...ui.list, ...more } }));
  const close = () => panel.update((ui) => ({ ...ui, list: undefined }));
  const filters = FILTERS.map((each) => [each, filterName(each)] as const);
  const choose = (value: string) => change({ filter: FILTERS.find((each) => each === value) ?? "all" });
  return html`<main
    class="plans-page"
    @keydown=${(event: KeyboardEvent) => {
      if (event.key === "Escape") close();
    }}
  >
    <div class="plans-head">
      ${iconButton("arrow-left", t("Back"), close)}
      <h1>${t("All plans")}</h1>
      <span class="quiet" role="status">${plural(found.length, "1 plan", "{0} plans")}</span>
    </div>
    <div class="plans-find">
      ${textField(t("Search the requests"), list.find, (find) => change({ find }), {
        id: "find-plan",
        placeholder: t("Search…"),
      })}
      ${select(t("Which plans"), filters, list.filter, choose, { id: "filter-plans" })}
    </div>
    ${
      found.length === 0
        ? html`<p class="quiet nothing-found">${
            list.plans === undefined
              ? t("Reading the plans…")
              : all.length === 0
                ? t("There are no plans yet.")
                : t("No plan matches.")
          }</p>`
        : html`<ul class="plan-list">${repeat(
            found.slice(0, MOST_DRAWN),
            (each) => each.planId,
            (each) => row(panel, each, close, state.current),
          )}</ul>`
    }
    ${when(
      found.length > MOST_DRAWN,
      () => html`<p class="quiet">${t("The first {0} are shown. Search for the others.", MOST_DRAWN)}</p>`,
    )}
  </main>`;
}

function row(panel: Panel, plan: ListedPlan, close: () => void, current: string | undefined): View {
  const { planId } = plan;
  const title = firstLine(plan.request.trim());
  const ended = !plan.live;
  const show = () => {
    close();
    panel.post({ kind: "select", planId });
  };
  return html`<li class="listed" data-plan=${planId} data-status=${plan.status} data-waits=${plan.waits}>
    <button class="listed-plan" type="button" aria-current=${planId === current ? "true" : nothing} @click=${show}>
      ${icon(PLAN_ICON[plan.sign], undefined, plan.waits ? "warn" : "")}
      <span class="listed-title">${shown(title)}</span>
      <span class="listed-state"
        ><span class=${plan.waits ? "warn" : ""}>${shown(plan.state)}</span>${
          plan.progress.total === 0 || UNSTARTED.includes(plan.status)
            ? nothing
            : html` · ${plan.progress.completed}/${plan.progress.total}`
        } · <time datetime=${plan.updatedAt} title=${moment(plan.updatedAt)}>${ago(plan.updatedAt, Date.now())}</time></span>
    </button>
    <span class="listed-actions">
      ${iconButton("export", plain(t("Export “{0}”…", title)), () => panel.post({ kind: "export", planId }))}
      ${when(ended, () => iconButton("trash", plain(t("Delete “{0}”…", title)), () => panel.post({ kind: "delete", planId })))}
    </span>
  </li>`;
}

function filterName(filter: Filter): string {
  return {
    all: t("All"),
    waiting: t("Waiting for you"),
    open: t("Not ended"),
    ended: t("Ended"),
  }[filter];
}
