// The page of the user's figures: how plans went, and what they have used of models, in a time span.

import { html, nothing, svg } from "lit";

import { type Bar, bars, SPANS, type Span, total } from "../../plan/figures";
import type { ModelUse, StatsResult, Usage } from "../../protocol";
import { dayOf, number, percent, plural, t } from "../../words";
import { costOf } from "../plan/spent";
import { amount, duration, money, tokenCount } from "../text/format";
import { fieldValue, icon, iconButton, linkButton, type Panel, shown, type View } from "../ui";

/** `now` ends the time span. */
export function figuresPage(panel: Panel, now: Date): View {
  const { figures } = panel.ui;
  if (figures === undefined) return nothing;
  const { span, stats } = figures;
  const close = () => panel.update((ui) => ({ ...ui, figures: undefined }));
  return html`<main
    class="figures-page"
    @keydown=${(event: KeyboardEvent) => {
      if (event.key === "Escape") close();
    }}
  >
    <div class="plans-head">
      ${iconButton("arrow-left", t("Back"), close)}
      <h1>${t("Statistics")}</h1>
      <vscode-single-select
        id="span"
        .label=${t("Time span")}
        .value=${span}
        @change=${(event: Event) => {
          const chosen = SPANS.find((each) => each === fieldValue(event));
          if (chosen !== undefined) panel.post({ kind: "figures", span: chosen });
        }}
      >
        ${SPANS.map((each) => html`<vscode-option value=${each} ?selected=${each === span}>${spanName(each)}</vscode-option>`)}
      </vscode-single-select>
      ${iconButton("export", t("Export…"), () => panel.post({ kind: "exportFigures", span }), stats.plans === 0)}
    </div>
    ${
      stats.plans === 0
        ? html`<p class="quiet nothing-found">${t("No plan of this time has ended.")}</p>`
        : html`${tiles(stats)} ${chart(bars(span, stats.days, now))} ${models(panel, stats)}`
    }
    <p class="quiet figures-kept">${icon("lock")} ${t("Counted from the plans on this machine, of all folders. These figures are sent nowhere.")}</p>
  </main>`;
}

function spanName(span: Span): string {
  return span === "all" ? t("All time") : t("{0} days", span);
}

function tiles(stats: StatsResult): View {
  const { usage } = stats;
  const cost = costOf(stats);
  const waited = total(stats.models.map(({ seconds }) => seconds));
  return html`<dl class="tiles">
    ${tile(t("Plans"), number(stats.plans), plural(stats.steps, "1 step done", "{0} steps done"))}
    ${tile(t("Completed"), percent(stats.success ?? 0), statuses(stats))}
    ${tile(t("Undone"), percent(stats.undone ?? 0), t("whole or in part"))}
    ${tile(t("Requests"), number(usage.requests), waited === 0 ? "" : t("waited {0}", duration(waited * 1000)))}
    ${tile(t("Tokens"), amount(tokenCount(usage)), readAndWritten(usage))}
    ${cost === undefined ? nothing : tile(t("Cost"), money(cost), t("at your prices"))}
  </dl>`;
}

function readAndWritten({ promptTokens, completionTokens }: Usage): string {
  return t("{0} read, {1} written", amount(promptTokens), amount(completionTokens));
}

function tile(name: string, value: string, more: string): View {
  return html`<div class="tile"><dt>${name}</dt><dd><strong>${value}</strong><span class="quiet">${more}</span></dd></div>`;
}

/** How many plans did not complete. */
function statuses({ statuses: counts }: StatsResult): string {
  const words = [
    [counts.failed, (count: number) => t("{0} failed", count)],
    [counts.cancelled, (count: number) => t("{0} cancelled", count)],
    [counts.rejected, (count: number) => t("{0} rejected", count)],
  ] as const;
  return words.flatMap(([count, say]) => (count == null ? [] : [say(count)])).join(", ");
}

const CHART_HEIGHT = 40;
const BAR_WIDTH = 10;
const GAP = 2;

function chart(shownBars: readonly Bar[]): View {
  const [first, last] = [shownBars[0], shownBars.at(-1)];
  if (first === undefined || last === undefined) return nothing;
  const most = Math.max(...shownBars.map(({ plans }) => plans));
  const width = shownBars.length * BAR_WIDTH;
  const label = t("Plans from {0} to {1}: at most {2} together", dayOf(first.from), dayOf(last.to), most);
  return html`<figure class="chart">
    <svg role="img" aria-label=${label} viewBox="0 0 ${width} ${CHART_HEIGHT}" preserveAspectRatio="none">
      ${shownBars.map((bar, index) => {
        const height = (bar.plans / most) * CHART_HEIGHT;
        const done = (bar.completed / most) * CHART_HEIGHT;
        const x = index * BAR_WIDTH + GAP / 2;
        return svg`<g><title>${barWords(bar)}</title>
          <rect class="ground" x=${x} y="0" width=${BAR_WIDTH - GAP} height=${CHART_HEIGHT}></rect>
          <rect class="rest" x=${x} y=${CHART_HEIGHT - height} width=${BAR_WIDTH - GAP} height=${height - done}></rect>
          <rect class="done" x=${x} y=${CHART_HEIGHT - done} width=${BAR_WIDTH - GAP} height=${done}></rect></g>`;
      })}
    </svg>
    <figcaption class="quiet"><span>${dayOf(first.from)}</span>
      <span><span class="key done"></span> ${t("completed")} <span class="key rest"></span> ${t("other")}</span>
      <span>${dayOf(last.to)}</span></figcaption>
  </figure>`;
}

function barWords({ from, to, plans, completed }: Bar): string {
  const when = from === to ? dayOf(from) : `${dayOf(from)} – ${dayOf(to)}`;
  return `${when}: ${plural(plans, "1 plan, {1} completed", "{0} plans, {1} completed", completed)}`;
}

function models(panel: Panel, stats: StatsResult): View {
  if (stats.models.length === 0) return nothing;
  const count = ({ usage }: ModelUse): number => tokenCount(usage);
  const whole = total(stats.models.map(count));
  return html`<section aria-labelledby="by-model">
    <h2 id="by-model">${t("By model")}</h2>
    <ul class="model-uses">${stats.models.map((use) => model(use, whole === 0 ? 0 : count(use) / whole, stats.costs[use.model]))}</ul>
    ${
      costOf(stats) === undefined
        ? linkButton(t("Set what your models cost…"), () => panel.post({ kind: "show", what: "prices" }), {
            icon: "settings-gear",
            id: "set-prices",
          })
        : nothing
    }
  </section>`;
}

function model({ model: name, usage, seconds }: ModelUse, share: number, cost: number | undefined): View {
  const words = [
    plural(usage.requests, "1 request", "{0} requests"),
    readAndWritten(usage),
    usage.cachedTokens == null ? "" : t("{0} from the cache", amount(usage.cachedTokens)),
    seconds === 0 ? "" : t("waited {0}", duration(seconds * 1000)),
  ];
  return html`<li data-model=${name}>
    <div class="model-name"><strong>${shown(name)}</strong><span>${cost === undefined ? nothing : money(cost)}</span></div>
    <svg class="share" role="img" aria-label=${t("{0} of the tokens", percent(100 * share))} viewBox="0 0 100 4" preserveAspectRatio="none">
      <rect class="ground" x="0" y="0" width="100" height="4"></rect>
      <rect class="done" x="0" y="0" width=${100 * share} height="4"></rect>
    </svg>
    <div class="quiet">${words.filter(Boolean).join(" · ")}</div>
  </li>`;
}
