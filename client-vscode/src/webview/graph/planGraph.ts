// The plan's steps drawn by their dependencies. The step that has the focus, or was clicked, is shown below it.

import { html, nothing, svg } from "lit";
import { classMap } from "lit/directives/class-map.js";

import { type PlanView, stepView } from "../../plan/views";
import type { Plan, Step, StepView } from "../../protocol";
import { plural, t } from "../../words";
import type { PlanForms } from "../planForms";
import { NODE_ICON, RULE_ICON, stepLook } from "../steps/stepParts";
import { plain } from "../text/hiddenCharacters";
import { icon, iconButton, type Panel, shown, type View } from "../ui";
import { type Layout, layoutOf, type Room } from "./layout";
import { dependenciesOf } from "./waves";

/** What is left and right of the drawing in the page. */
const MARGIN = 30;
/** The sizes of a step, from the smallest: its number alone; its title too; its title on more lines. */
const SIZES: readonly Room["step"][] = [
  { least: 46, most: 46, height: 26 },
  { least: 112, most: 240, height: 42 },
  { least: 180, most: 340, height: 62 },
];
const WITH_TITLE = 1;
/** With more steps than this the drawing begins with numbers alone. */
const MANY = 40;

/** The signs of what decides whether and how often a step runs, behind that of its kind; its row says it in words. */
function marks({ step, rules = [] }: StepView): readonly string[] {
  const node = NODE_ICON[step.kind];
  return [...(node === undefined ? [] : [node]), ...rules.map(({ kind }) => RULE_ICON[kind])];
}

let last: { key: string; layout: Layout } | undefined;

export function planGraph(panel: Panel, view: PlanView): View {
  const { plan } = view;
  const zoom = zoomOf(panel, plan);
  const layout = laidOut(plan, document.documentElement.clientWidth - MARGIN, zoom);
  const selectedId = selectedStep(panel, plan);
  const selected = plan.steps.findIndex((step) => step.stepId === selectedId);
  const zoomTo = (next: number) => () => panel.change(plan.planId, (forms) => (forms.zoom = next));
  return html`<div class="graph-section">
    <div class="graph-tools" role="toolbar" aria-label=${t("Size of the graph")}>
      <span class="quiet">${plural(layout.waves, "1 wave", "{0} waves")}</span>
      <span class="grow"></span>
      ${iconButton("list-unordered", t("Show as List"), () => panel.change(plan.planId, (forms) => (forms.drawn = false)))}
      ${iconButton("zoom-out", t("Smaller"), zoomTo(zoom - 1), zoom === 0)}
      ${iconButton("zoom-in", t("Larger"), zoomTo(zoom + 1), zoom === SIZES.length - 1)}
    </div>
    <div
      class="graph"
      data-zoom=${zoom}
      role="group"
      aria-label=${t("Steps by what they wait for; the arrow keys walk between them")}
      @keydown=${(event: KeyboardEvent) => onKey(panel, plan, layout, event)}
    >
      <svg width=${layout.width} height=${layout.height}>
        <g aria-hidden="true">${layout.lines.map(
          ({ sources, targets, exits, trunk, entries }) => svg`<g
            class=${classMap({ line: true, chosen: sources.includes(selected) || targets.includes(selected) })}
          >
            <path d=${trunk} />
            ${exits.map(
              (path, index) =>
                svg`<path d=${path} class=${targets.includes(selected) || sources[index] === selected ? "on" : ""} />`,
            )}
            ${entries.map(
              (path, index) => svg`<path
                d=${path}
                marker-start="url(#arrow)"
                class=${sources.includes(selected) || targets[index] === selected ? "on" : ""}
              />`,
            )}
          </g>`,
        )}</g>
        <defs>
          <marker id="arrow" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto-start-reverse">
            <path d="M0 0L6 3L0 6Z" />
          </marker>
        </defs>
        ${plan.steps.map((step, index) => node(panel, view, layout, step, index, index === selected))}
      </svg>
    </div>
  </div>`;
}

/** The step that the graph has selected: the one whose row or node had the focus last, else one at work, else the first. */
export function selectedStep(panel: Panel, plan: Plan): string | undefined {
  const { row } = panel.forms(plan.planId);
  const is = (find: (step: Step) => boolean): string | undefined => plan.steps.find(find)?.stepId;
  return is((step) => step.stepId === row) ?? is((step) => step.status === "running") ?? plan.steps[0]?.stepId;
}

/** The layout for this width. It is kept while only statuses change. */
function laidOut({ steps, sequential }: Plan, width: number, zoom: number): Layout {
  const key = JSON.stringify([
    width,
    zoom,
    sequential,
    steps.map((step) => [step.stepId, step.dependsOn, step.parent]),
  ]);
  if (last?.key !== key) {
    const step = SIZES[zoom] ?? SIZES[WITH_TITLE];
    last = { key, layout: layoutOf(dependenciesOf(steps, sequential), { width, step: step as Room["step"] }) };
  }
  return last.layout;
}

function zoomOf(panel: Panel, { planId, steps }: Plan): number {
  const chosen = panel.forms(planId).zoom ?? (steps.length > MANY ? 0 : WITH_TITLE);
  return Math.min(SIZES.length - 1, Math.max(0, chosen));
}

function node(panel: Panel, view: PlanView, layout: Layout, step: Step, index: number, isSelected: boolean): View {
  const { plan } = view;
  const each = stepView(view, step.stepId);
  const look = each === undefined ? undefined : stepLook(each);
  const { x = 0, y = 0, wave = 0 } = layout.steps[index] ?? {};
  const after = each?.after ?? "";
  const choose = () => panel.change(plan.planId, (forms) => (forms.row = step.stepId));
  const place = [after === "" ? "" : t("after {0}", after), t("wave {0} of {1}", wave + 1, layout.waves)];
  // Lines are drawn in SVG; a step is HTML in it, for its icon and the end of a long title.
  return svg`<foreignObject x=${x} y=${y} width=${layout.step.width} height=${layout.step.height}>${html`<button
      class="node"
      type="button"
      data-node=${step.stepId}
      data-index=${index}
      data-status=${look?.status ?? step.status}
      data-waits=${each?.waits ?? nothing}
      tabindex=${isSelected ? 0 : -1}
      aria-pressed=${isSelected}
      aria-description=${place.filter((each) => each !== "").join(", ")}
      title=${plain(step.description)}
      @focus=${choose}
      @click=${() => panel.change(plan.planId, (forms) => openOrClose(forms, step.stepId))}
    ><span class="node-state">${look === undefined ? nothing : icon(look.icon, look.label)}<span class="number">${index + 1}</span></span> <span
      class="node-title"
      >${shown(step.description)}</span
    >${(each === undefined ? [] : marks(each)).map((name) => icon(name, undefined, "node-mark"))}</button>`}</foreignObject>`;
}

/** Show a step below the graph with its details, or without them if they were shown. */
function openOrClose(forms: PlanForms, stepId: string): void {
  forms.row = stepId;
  forms.open = forms.open.includes(stepId) ? forms.open.filter((each) => each !== stepId) : [...forms.open, stepId];
}

/** The arrow keys go along a row and to the nearest step of the next one; `Home` and `End` to the first and the last. */
function onKey(panel: Panel, plan: Plan, layout: Layout, event: KeyboardEvent): void {
  const target = event.target;
  if (!(target instanceof HTMLElement) || target.dataset.node === undefined) return;
  const next = neighbour(layout, Number(target.dataset.index), event.key);
  if (next === undefined) return;
  event.preventDefault();
  const found = target.closest(".graph")?.querySelector<HTMLElement>(`.node[data-index="${next}"]`);
  found?.focus();
  found?.scrollIntoView({ block: "nearest", inline: "nearest" });
  panel.change(plan.planId, (forms) => (forms.row = plan.steps[next]?.stepId));
}

/** The step that a key leads to, by place; undefined at an edge, and for any other key. */
export function neighbour({ steps, rows }: Layout, from: number, key: string): number | undefined {
  const at = steps[from];
  if (at === undefined) return undefined;
  const row = rows[at.row] ?? [];
  const inRow = (by: -1 | 1): number | undefined => row[row.indexOf(from) + by];
  const nearest = (to: readonly number[] = []): number | undefined =>
    [...to].sort(
      (one, other) => Math.abs((steps[one]?.x ?? 0) - at.x) - Math.abs((steps[other]?.x ?? 0) - at.x) || one - other,
    )[0];
  switch (key) {
    case "ArrowLeft":
      return inRow(-1);
    case "ArrowRight":
      return inRow(1);
    case "ArrowUp":
      return nearest(rows[at.row - 1]);
    case "ArrowDown":
      return nearest(rows[at.row + 1]);
    case "Home":
      return rows[0]?.[0];
    case "End":
      return rows.at(-1)?.at(-1);
    default:
      return undefined;
  }
}
