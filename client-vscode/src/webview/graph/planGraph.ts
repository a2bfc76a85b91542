// The plan's steps drawn in waves, with lines between those that wait for each other. The selected step is shown below it.

import { html, nothing } from "lit";
import { ref } from "lit/directives/ref.js";

import type { PlanView } from "../../plan/views";
import type { Plan, Step, StepView } from "../../protocol";
import { t } from "../../words";
import type { PlanForms } from "../planForms";
import { NODE_ICON, RULE_ICON, stepLook } from "../steps/stepParts";
import { plain } from "../text/hiddenCharacters";
import { icon, iconButton, type Panel, shown, type View } from "../ui";

/** With more steps than this the drawing has numbers alone. */
const MANY = 40;

export function planGraph(panel: Panel, view: PlanView): View {
  const { plan, steps } = view;
  const selected = selectedStep(panel, plan);
  const last = Math.max(0, ...steps.map(({ wave = 0 }) => wave));
  const waves = Array.from({ length: last + 1 }, (_, at) => steps.filter(({ wave = 0 }) => wave === at));
  return html`<div
    class="graph"
    data-many=${steps.length > MANY}
    role="group"
    aria-label=${t("Steps by what they wait for; the arrow keys walk between them")}
    @keydown=${(event: KeyboardEvent) => onKey(panel, plan, event)}
  >
    ${iconButton("list-unordered", t("Show as List"), () => panel.change(plan.planId, (forms) => (forms.drawn = false)))}
    <svg class="links" aria-hidden="true" ${ref((svg) => svg && requestAnimationFrame(() => link(svg, steps, selected)))}></svg>
    ${waves.map(
      (wave, at) =>
        html`<div class="wave">${wave.map((each) =>
          node(panel, plan, each, each.step.stepId === selected, t("wave {0} of {1}", at + 1, waves.length)),
        )}</div>`,
    )}
  </div>`;
}

/** The step that the graph has selected: the one whose row or node had the focus last, else one at work, else the first. */
export function selectedStep(panel: Panel, plan: Plan): string | undefined {
  const { row } = panel.forms(plan.planId);
  const is = (find: (step: Step) => boolean): string | undefined => plan.steps.find(find)?.stepId;
  return is((step) => step.stepId === row) ?? is((step) => step.status === "running") ?? plan.steps[0]?.stepId;
}

function node(panel: Panel, plan: Plan, each: StepView, isSelected: boolean, wave: string): View {
  const { step, number, after, rules = [] } = each;
  const look = stepLook(each);
  const kind = NODE_ICON[step.kind];
  // What decides whether and how often a step runs stands behind its kind; its details say it in words.
  const marks = [...(kind === undefined ? [] : [kind]), ...rules.map((rule) => RULE_ICON[rule.kind])];
  return html`<button
    class="node"
    type="button"
    data-node=${step.stepId}
    data-sign=${each.sign}
    data-status=${look.status}
    data-waits=${each.waits ?? nothing}
    tabindex=${isSelected ? 0 : -1}
    aria-pressed=${isSelected}
    aria-description=${[...(after === "" ? [] : [t("after {0}", after)]), wave].join(", ")}
    title=${plain(step.description)}
    @focus=${() => panel.change(plan.planId, (forms) => (forms.row = step.stepId))}
    @click=${() => panel.change(plan.planId, (forms) => openOrClose(forms, step.stepId))}
  >${icon(look.icon, look.label, "glyph")}<span class="number">${number}</span> <span class="node-title">${shown(step.description)}</span>${marks.map(
    (name) => icon(name, undefined, "node-mark"),
  )}</button>`;
}

/** Show a step below the graph with its details, or without them if they were shown. */
function openOrClose(forms: PlanForms, stepId: string): void {
  forms.row = stepId;
  forms.open = forms.open.includes(stepId) ? forms.open.filter((each) => each !== stepId) : [...forms.open, stepId];
}

/** Draw the lines behind the steps as they stand in the page; those of the selected step stand out. */
function link(svg: Element, steps: readonly StepView[], selected: string | undefined): void {
  const graph = svg.closest(".graph");
  if (graph === null) return;
  const { left, top } = svg.getBoundingClientRect();
  const boxes = new Map(
    [...graph.querySelectorAll<HTMLElement>(".node")].map((each) => [each.dataset.node, each.getBoundingClientRect()]),
  );
  const lines = steps.flatMap(({ step: { stepId }, links = [] }) =>
    links.flatMap((from) => {
      const [one, other] = [boxes.get(from), boxes.get(stepId)];
      if (one === undefined || other === undefined) return [];
      const [x, y, toX, toY] = [
        one.x + one.width / 2 - left,
        one.bottom - top,
        other.x + other.width / 2 - left,
        other.y - top,
      ];
      const bend = Math.max(8, (toY - y) / 2);
      const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("d", `M${x} ${y}C${x} ${y + bend} ${toX} ${toY - bend} ${toX} ${toY}`);
      line.classList.toggle("on", from === selected || stepId === selected);
      return [line];
    }),
  );
  svg.replaceChildren(...lines);
}

/** The arrow keys go to the nearest step in their direction; `Home` and `End` to the first and the last. */
function onKey(panel: Panel, plan: Plan, event: KeyboardEvent): void {
  const { target } = event;
  if (!(target instanceof HTMLElement) || target.dataset.node === undefined) return;
  const nodes = [...(target.closest(".graph")?.querySelectorAll<HTMLElement>(".node") ?? [])];
  const boxes = nodes.map((each) => each.getBoundingClientRect());
  const next = nodes[neighbour(boxes, nodes.indexOf(target), event.key) ?? -1];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest", inline: "nearest" });
  panel.change(plan.planId, (forms) => (forms.row = next.dataset.node));
}

type Box = Readonly<Record<"x" | "y" | "width" | "height", number>>;

/** The box that a key leads to, by place; undefined at an edge, and for any other key. */
export function neighbour(boxes: readonly Box[], from: number, key: string): number | undefined {
  if (key === "Home" || key === "End") return key === "Home" ? 0 : boxes.length - 1;
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  const here = boxes[from];
  if (step === undefined || here === undefined) return undefined;
  const [dx = 0, dy = 0] = step;
  const centre = ({ x, y, width, height }: Box) => [x + width / 2, y + height / 2] as const;
  const [x, y] = centre(here);
  const ahead = boxes.flatMap((box, place) => {
    const [toX, toY] = centre(box);
    const along = (toX - x) * dx + (toY - y) * dy;
    const across = Math.abs((toX - x) * dy) + Math.abs((toY - y) * dx);
    return along > 1 && (dx === 0 || across < here.height) ? [{ place, along, across }] : [];
  });
  const [found] = ahead.sort((one, other) => one.along - other.along || one.across - other.across);
  return found?.place;
}
