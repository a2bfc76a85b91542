// Places the steps of a plan in rows by their waves, and leads the lines between them around every step: across in the
// channels between the rows, down past rows in lanes at the left edge. It depends on the links alone, so that nothing
// moves while statuses change. All lengths are in pixels.

import { type Bundle, bundlesOf, type Dependencies, wavesOf } from "./waves";

/** What the drawing has room for: its whole width, and the least and greatest size of a step. */
export interface Room {
  readonly width: number;
  readonly step: { readonly least: number; readonly most: number; readonly height: number };
}

export interface PlacedStep {
  readonly wave: number;
  readonly row: number;
  readonly x: number;
  readonly y: number;
}

/** A bundle as paths of SVG, from each source to the part in common, and from each target back to it. */
export interface Line extends Bundle {
  readonly exits: readonly string[];
  readonly trunk: string;
  readonly entries: readonly string[];
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly step: { readonly width: number; readonly height: number };
  readonly waves: number;
  /** By the step's place in the plan. */
  readonly steps: readonly PlacedStep[];
  readonly rows: readonly (readonly number[])[];
  readonly lines: readonly Line[];
}

const GAP = 10;
/** Between two lines side by side, and between two ways into one step. */
const TRACK = 7;
const PORT = 8;
const LEAST_PITCH = 2.5;
const CHANNEL = 12;
const EDGE = 2;
const CORNER = 5;
/** How much width is kept for lanes before it is known how many there are. */
const LANES = 2 * TRACK;

/** A line on its way: the channels that it goes through, and where it crosses them. Channel `n` is below row `n`. */
interface Route {
  readonly bundle: Bundle;
  readonly channels: readonly number[];
  lane?: number;
}

interface Stretch {
  readonly route: Route;
  readonly from: number;
  readonly to: number;
  readonly exits: readonly number[];
  readonly entries: readonly number[];
}

export function layoutOf(dependencies: Dependencies, room: Room): Layout {
  const waves = wavesOf(dependencies);
  const { rows, rowOf } = inRows(waves, room);
  const routes = bundlesOf(dependencies).map((bundle): Route => {
    const passed = [...bundle.sources.map((each) => rowOf(each)), ...bundle.targets.map((each) => rowOf(each) - 1)];
    return { bundle, channels: [...new Set(passed)].sort((one, other) => one - other) };
  });
  const lanes = placeLanes(routes);
  // Many lanes move closer together, so that the steps stay in view.
  const pitch = Math.max(LEAST_PITCH, Math.min(TRACK, room.width / 4 / lanes));
  const left = EDGE + (lanes === 0 ? 0 : lanes * pitch + 4);
  const columns = Math.max(1, ...rows.map((row) => row.length));
  const fitting = (room.width - left - EDGE - (columns - 1) * GAP) / columns;
  const width = Math.floor(Math.min(room.step.most, Math.max(room.step.least, fitting)));
  const breadth = columns * width + (columns - 1) * GAP;
  const x = rows.flatMap((row) => {
    const start = left + (breadth - (row.length * width + (row.length - 1) * GAP)) / 2;
    return row.map((step, column) => [step, start + column * (width + GAP)] as const);
  });
  const xOf = new Map(x);
  const centre = (step: number): number => (xOf.get(step) ?? 0) + width / 2;
  const laneX = (lane: number): number => left - 4 - lane * pitch;
  const entryX = entriesOf(routes, centre);
  const channels = rows.map((_, channel) => {
    const stretches = routes
      .filter((route) => route.channels.includes(channel))
      .map((route): Stretch => {
        const exits = route.bundle.sources.filter((each) => rowOf(each) === channel).map(centre);
        const entries = route.bundle.targets
          .filter((each) => rowOf(each) - 1 === channel)
          .map((each) => entryX(route, each));
        const ends = [...exits, ...entries, ...(route.lane === undefined ? [] : [laneX(route.lane)])];
        return { route, from: Math.min(...ends), to: Math.max(...ends), exits, entries };
      });
    return { stretches, tracks: tracksOf(stretches) };
  });
  const tops: number[] = [];
  let height = EDGE;
  for (const { tracks } of channels) {
    tops.push(height);
    const most = Math.max(0, ...[...tracks.values()].map((track) => track + 1));
    height += room.step.height + (most === 0 ? GAP : 2 * CHANNEL + (most - 1) * TRACK);
  }
  height += EDGE - (rows.length === 0 ? 0 : GAP);
  const steps = waves.map((wave, step): PlacedStep => {
    const row = rowOf(step);
    return { wave, row, x: xOf.get(step) ?? 0, y: tops[row] ?? 0 };
  });
  const bottom = (channel: number): number => (tops[channel] ?? 0) + room.step.height;
  const lines = routes.map((route): Line => {
    const at = (channel: number): { stretch: Stretch; y: number } | undefined => {
      const stretch = channels[channel]?.stretches.find((each) => each.route === route);
      const track = stretch === undefined ? undefined : channels[channel]?.tracks.get(stretch);
      return stretch === undefined || track === undefined
        ? undefined
        : { stretch, y: bottom(channel) + CHANNEL + track * TRACK };
    };
    const stub = (channel: number, across: number, end: number): string => {
      const found = at(channel);
      return found === undefined ? "" : bent(across, end, found.y, found.stretch);
    };
    return {
      ...route.bundle,
      exits: route.bundle.sources.map((each) => stub(rowOf(each), centre(each), bottom(rowOf(each)))),
      entries: route.bundle.targets.map((each) =>
        stub(rowOf(each) - 1, entryX(route, each), (tops[rowOf(each)] ?? 0) - 1),
      ),
      trunk: trunkOf(route, at, route.lane === undefined ? undefined : laneX(route.lane)),
    };
  });
  return {
    width: Math.ceil(left + breadth + EDGE),
    height: Math.ceil(height),
    step: { width, height: room.step.height },
    waves: Math.max(-1, ...waves) + 1,
    steps,
    rows,
    lines,
  };
}

/** The rows from above to below: each wave in the plan's order, in as many rows as it needs for its width. */
function inRows(
  waves: readonly number[],
  { width, step }: Room,
): { rows: readonly (readonly number[])[]; rowOf: (step: number) => number } {
  const most = Math.max(1, Math.floor((width - LANES - 2 * EDGE + GAP) / (step.least + GAP)));
  const members: number[][] = [];
  for (const [place, wave] of waves.entries()) members[wave] = [...(members[wave] ?? []), place];
  const rows = members.flatMap((wave) => {
    const count = Math.ceil(wave.length / most);
    // Rows of nearly the same length.
    const size = Math.ceil(wave.length / count);
    return Array.from({ length: count }, (_, row) => wave.slice(row * size, (row + 1) * size));
  });
  const places = new Map(rows.flatMap((row, index) => row.map((each) => [each, index] as const)));
  return { rows, rowOf: (each) => places.get(each) ?? 0 };
}

/** Give each route of several channels a lane that no other one uses beside it, the shortest nearest; their number. */
function placeLanes(routes: readonly Route[]): number {
  const ends: { from: number; to: number }[][] = [];
  const length = ({ channels }: Route): number => (channels.at(-1) ?? 0) - (channels[0] ?? 0);
  const long = routes.filter((route) => route.channels.length > 1);
  for (const route of [...long].sort((one, other) => length(one) - length(other))) {
    const [from, to] = [route.channels[0] ?? 0, route.channels.at(-1) ?? 0];
    const free = ends.findIndex((used) => used.every((each) => each.to < from || to < each.from));
    route.lane = free === -1 ? ends.length : free;
    ends[route.lane] = [...(ends[route.lane] ?? []), { from, to }];
  }
  return ends.length;
}

/** Where each route enters a target: side by side around its centre, in the order of the routes. */
function entriesOf(
  routes: readonly Route[],
  centre: (step: number) => number,
): (route: Route, target: number) => number {
  const entering = new Map<number, Route[]>();
  for (const route of routes)
    for (const target of route.bundle.targets) entering.set(target, [...(entering.get(target) ?? []), route]);
  return (route, target) => {
    const all = entering.get(target) ?? [];
    return centre(target) + (all.indexOf(route) - (all.length - 1) / 2) * PORT;
  };
}

/**
 * The track of each stretch of one channel, from above: two that overlap have tracks of their own, and where one leaves
 * a step above the place at which another enters one, it turns off first.
 */
function tracksOf(stretches: readonly Stretch[]): ReadonlyMap<Stretch, number> {
  const near = (one: number, other: number): boolean => Math.abs(one - other) < 3;
  const above = (one: Stretch, other: Stretch): boolean =>
    one !== other && one.exits.some((exit) => other.entries.some((entry) => near(exit, entry)));
  const tracks = new Map<Stretch, number>();
  const rest = [...stretches];
  while (rest.length > 0) {
    const free = rest.findIndex((each) => !rest.some((other) => above(other, each)));
    // If such pairs form a cycle, the first of the rest is placed although another should be above it.
    const [next] = rest.splice(Math.max(0, free), 1);
    if (next === undefined) break;
    const placed = [...tracks];
    let track = Math.max(-1, ...placed.filter(([each]) => above(each, next)).map(([, each]) => each)) + 1;
    const overlaps = ([each, at]: readonly [Stretch, number]): boolean =>
      at === track && each.from < next.to + TRACK && next.from < each.to + TRACK;
    while (placed.some(overlaps)) track++;
    tracks.set(next, track);
  }
  return tracks;
}

/** A way between a step and its stretch, with a round corner for each side to which the stretch goes on. */
function bent(x: number, end: number, y: number, { from, to }: Stretch): string {
  const turn = y + Math.sign(end - y) * CORNER;
  const sides = [...(x - from >= CORNER ? [-1] : []), ...(to - x >= CORNER ? [1] : [])];
  if (sides.length === 0) return `M${x} ${end}V${y}`;
  return sides.map((side) => `M${x} ${end}V${turn}Q${x} ${y} ${x + side * CORNER} ${y}`).join("");
}

function trunkOf(
  { channels }: Route,
  at: (channel: number) => { stretch: Stretch; y: number } | undefined,
  lane: number | undefined,
): string {
  const parts: string[] = [];
  const ys: number[] = [];
  for (const channel of channels) {
    const found = at(channel);
    if (found === undefined) continue;
    const { stretch, y } = found;
    const [from, to] = [stretch.from + CORNER, stretch.to - CORNER];
    if (from < to) parts.push(`M${from} ${y}H${to}`);
    else if (stretch.from < stretch.to) parts.push(`M${stretch.from} ${y}H${stretch.to}`);
    if (lane === undefined) continue;
    ys.push(y);
    if (stretch.exits.length > 0 && channel !== channels.at(-1))
      parts.push(`M${lane + CORNER} ${y}Q${lane} ${y} ${lane} ${y + CORNER}`);
    if (stretch.entries.length > 0 && channel !== channels[0])
      parts.push(`M${lane} ${y - CORNER}Q${lane} ${y} ${lane + CORNER} ${y}`);
  }
  if (lane !== undefined) parts.push(`M${lane} ${Math.min(...ys) + CORNER}V${Math.max(...ys) - CORNER}`);
  return parts.join("");
}
