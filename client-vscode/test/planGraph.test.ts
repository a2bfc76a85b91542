// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";

import type { FromPanel } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";
import type { Plan } from "../src/protocol";
import { type Layout, layoutOf, type Room } from "../src/webview/graph/layout";
import { neighbour } from "../src/webview/graph/planGraph";
import { bundlesOf, type Dependencies, dependenciesOf, wavesOf } from "../src/webview/graph/waves";
import { steps } from "../src/webview/steps/steps";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi, taken } from "../src/webview/uiState";
import { plan, step, viewOf } from "./plans";

const TITLES: Room["step"] = { least: 112, most: 240, height: 42 };
const NUMBERS: Room["step"] = { least: 46, most: 46, height: 26 };

/** Steps of which each waits for a few before it, the same for the same seed. */
function random(count: number, seed: number): Dependencies {
  let state = seed;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  return Array.from({ length: count }, (_, place) => [
    ...new Set(Array.from({ length: next(Math.min(place, 3) + 1) }, () => next(place))),
  ]);
}

const fan = (count: number): Dependencies => [
  [],
  ...Array.from({ length: count }, () => [0]),
  Array.from({ length: count }, (_, place) => place + 1),
];
const chain = (count: number): Dependencies => Array.from({ length: count }, (_, at) => (at === 0 ? [] : [at - 1]));

interface Segment {
  from: readonly [number, number];
  to: readonly [number, number];
}

/** The straight pieces of a path, and the chords of its corners. */
function segments(path: string): readonly Segment[] {
  const found: Segment[] = [];
  let at: [number, number] = [0, 0];
  for (const [, command, values = ""] of path.matchAll(/([MVHQ])([^MVHQ]*)/g)) {
    const numbers = values.trim().split(/[ ,]+/).map(Number);
    const to: [number, number] =
      command === "V"
        ? [at[0], numbers[0]!]
        : command === "H"
          ? [numbers[0]!, at[1]]
          : [numbers.at(-2)!, numbers.at(-1)!];
    if (command !== "M") found.push({ from: at, to });
    at = to;
  }
  return found;
}

/** How many steps overlap, and how many lines cross a step. */
function faults({ steps: placed, step: size, lines, width, height }: Layout): number {
  let count = 0;
  const inside = (x: number, y: number, by: number): number =>
    placed.filter(
      (each) => x > each.x + by && x < each.x + size.width - by && y > each.y + by && y < each.y + size.height - by,
    ).length;
  for (const [index, one] of placed.entries()) {
    if (one.x < 0 || one.y < 0 || one.x + size.width > width || one.y + size.height > height) count++;
    for (const other of placed.slice(index + 1))
      if (Math.abs(one.x - other.x) < size.width && Math.abs(one.y - other.y) < size.height) count++;
  }
  for (const { exits, trunk, entries } of lines)
    for (const { from, to } of [trunk, ...exits, ...entries].flatMap(segments)) {
      const points = Math.max(1, Math.ceil(Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1])) / 6));
      for (let at = 0; at <= points; at++) {
        const [x, y] = [from[0] + ((to[0] - from[0]) * at) / points, from[1] + ((to[1] - from[1]) * at) / points];
        if (!Number.isFinite(x + y) || x < 0 || y < 0 || x > width || y > height) count++;
        count += inside(x, y, 0.5);
      }
    }
  return count;
}

test("a step is one wave behind the latest that it waits for; a sequential plan is a chain", () => {
  const of = (sequential: boolean) =>
    dependenciesOf(
      [step("a"), step("b", { dependsOn: ["a", "gone"] }), step("c"), step("d", { dependsOn: ["b"] })],
      sequential,
    );
  expect(wavesOf(of(false))).toEqual([0, 1, 0, 2]);
  expect(wavesOf(of(true))).toEqual([0, 1, 2, 3]);
  expect(wavesOf(chain(5000)).at(-1)).toBe(4999);
});

test.each([
  [false, [0, 1, 1, 2, 3]],
  [true, [0, 1, 2, 3, 4]],
])("a loop waits for the steps that it became; sequential: %s", (sequential, waves) => {
  const steps = [
    step("a"),
    step("x1", { dependsOn: ["a"], parent: "loop" }),
    step("x2", { dependsOn: ["a"], parent: "loop" }),
    step("loop", { dependsOn: ["a"] }),
    step("after", { dependsOn: ["loop"] }),
  ];
  expect(wavesOf(dependenciesOf(steps, sequential))).toEqual(waves);
  // The server puts them behind their loop.
  const [a, x1, x2, loop, after] = steps as [(typeof steps)[0], ...typeof steps];
  const moved = wavesOf(dependenciesOf([a, loop!, x1!, x2!, after!], sequential));
  expect(moved).toEqual([waves[0], waves[3], waves[1], waves[2], waves[4]]);
});

test("a cycle in a draft is cut", () => {
  expect(wavesOf([[1], [2], [0]])).toEqual([2, 1, 0]);
  expect(wavesOf([[0]])).toEqual([0]);
});

test("a link that a longer way implies is not drawn; steps with the same dependants share a line", () => {
  expect(bundlesOf([[], [0], [0, 1]])).toEqual([
    { sources: [0], targets: [1] },
    { sources: [1], targets: [2] },
  ]);
  expect(bundlesOf(fan(3))).toEqual([
    { sources: [0], targets: [1, 2, 3] },
    { sources: [1, 2, 3], targets: [4] },
  ]);
});

test.each([
  ["nothing", []],
  ["one step", [[]]],
  ["a chain of 60", chain(60)],
  ["a fan of 60", fan(60)],
  ["two waves, each step waiting for all before", [[], [], [], [0, 1, 2], [0, 1, 2], [0, 1, 2]]],
  ["a link across many rows", [[], [0], [1], [2], [3], [0], [4, 5]]],
  ["steps that cross over", [[], [], [1], [0], [3], [2]]],
  ...[1, 2, 3, 4, 5, 6].map((seed) => [`60 steps, ${seed}`, random(60, seed)] as const),
  ["300 steps", random(300, 7)],
] as const)("no step overlaps and no line crosses a step: %s", (_, dependencies) => {
  for (const width of [270, 390, 900])
    for (const size of [TITLES, NUMBERS]) expect(faults(layoutOf(dependencies, { width, step: size }))).toBe(0);
});

test.each([
  ["a chain of 300", chain(300)],
  ["a fan of 298", fan(298)],
] as const)("%s fits in a narrow panel", (_, dependencies) => {
  for (const size of [TITLES, NUMBERS]) {
    const { width } = layoutOf(dependencies, { width: 270, step: size });
    expect(width).toBeLessThanOrEqual(270);
  }
});

test("many links that pass each other leave room for the steps", () => {
  expect(layoutOf(random(300, 7), { width: 270, step: NUMBERS }).width).toBeLessThan(500);
});

test("two links that part in one channel have a line each", () => {
  const { lines } = layoutOf([[], [], [0], [1], [0]], { width: 390, step: TITLES });
  const ys = lines.map(({ trunk }) => segments(trunk).map(({ from }) => from[1])[0]);
  expect(new Set(ys.filter((y) => y !== undefined)).size).toBe(ys.filter((y) => y !== undefined).length);
});

test("arrow keys walk along a row and to the nearest step of the next", () => {
  const layout = layoutOf([[], [0], [0], [1, 2]], { width: 390, step: TITLES });
  const walk = (...keys: string[]) => keys.reduce((at, key) => neighbour(layout, at, key) ?? at, 0);
  expect(walk("ArrowDown")).toBe(1);
  expect(walk("ArrowDown", "ArrowRight")).toBe(2);
  expect(walk("ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown")).toBe(3);
  expect(walk("End")).toBe(3);
  expect(walk("End", "Home", "ArrowUp")).toBe(0);
  expect(neighbour(layout, 0, "a")).toBeUndefined();
});

const THREE = [step("a"), step("b", { dependsOn: ["a"] }), step("c", { dependsOn: ["a"], when: "true" })];

function panelOf(): Panel {
  const sent: FromPanel[] = [];
  return createPanel(freshUi(), { post: (message) => void sent.push(message), changed: () => undefined });
}

function drawn(panel: Panel, now: Plan): HTMLElement {
  const root = document.createElement("div");
  render(steps(panel, viewOf(now)), root);
  return root;
}

test("the graph has each step with its status, and the selected one below it", () => {
  const panel = panelOf();
  expect(drawn(panel, plan(THREE)).querySelectorAll(".step-row").length).toBe(3);
  panel.update((ui) => taken(ui, { kind: "graph" }, { ...EMPTY, current: plan(THREE).planId }));
  const before = drawn(panel, plan(THREE));
  expect(before.querySelectorAll(".node").length).toBe(3);
  before.querySelector<HTMLElement>('.node[data-node="c"]')!.click();
  const running = plan(
    THREE.map((each) => (each.stepId === "c" ? { ...each, status: "running" as const } : each)),
    { status: "executing" },
  );
  const after = drawn(panel, running);
  expect([...after.querySelectorAll(".step")].map((each) => each.getAttribute("data-step"))).toEqual(["c"]);
  expect(after.querySelectorAll(".details").length, "a click shows the details").toBe(1);
  const node = after.querySelector('.node[data-node="c"]')!;
  expect([node.getAttribute("data-status"), node.getAttribute("tabindex")]).toEqual(["running", "0"]);
  expect(node.querySelector(".codicon")!.getAttribute("aria-label")).toBe("running");
  expect([node.textContent?.replace(/\s+/g, " "), node.getAttribute("aria-description")]).toEqual([
    "3 Do c",
    "after 1, wave 2 of 2",
  ]);
  const places = (root: HTMLElement) =>
    [...root.querySelectorAll("foreignObject")].map((each) => each.outerHTML.slice(0, 60));
  expect(places(after)).toEqual(places(before));
});

test("a plan of one step has no graph, and a button of the graph shows the list again", () => {
  const panel = panelOf();
  panel.change(plan([]).planId, (forms) => (forms.drawn = true));
  expect(drawn(panel, plan([step("a")])).querySelector(".graph")).toBeNull();
  drawn(panel, plan(THREE)).querySelector<HTMLElement>('button[aria-label="Show as List"]')!.click();
  expect(drawn(panel, plan(THREE)).querySelectorAll(".step-row").length).toBe(3);
});
