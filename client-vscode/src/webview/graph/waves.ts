// What is drawn of a plan's dependencies: the wave of each step, and the links that are not implied by a longer path.

/** A step by its place in the plan, with the places of the steps that it waits for. */
export type Dependencies = readonly (readonly number[])[];

/** The steps that share the same dependants, and those dependants: they are drawn as one line with branches. */
export interface Bundle {
  readonly sources: readonly number[];
  readonly targets: readonly number[];
}

/**
 * The dependencies of steps by place. Unknown steps are left out. A loop waits for the steps that it became, and in a
 * sequential plan each step for the one before it.
 */
export function dependenciesOf(steps: readonly Linked[], sequential: boolean): Dependencies {
  const places = new Map(steps.map(({ stepId }, place) => [stepId, place]));
  const before = steps.map(({ dependsOn }, place) =>
    dependsOn.flatMap((id) => places.get(id) ?? []).filter((each) => each !== place),
  );
  // A loop comes after the steps that it became, which stand right behind it.
  const turns = steps.map((_, place) => place);
  for (const [place, { parent }] of steps.entries()) {
    const loop = places.get(parent ?? "");
    if (loop === undefined) continue;
    before[loop]?.push(place);
    raise(turns, loop, place + 0.5);
  }
  const order = [...steps.keys()].sort((one, other) => (turns[one] ?? 0) - (turns[other] ?? 0));
  if (sequential) for (const [index, place] of order.entries()) before[place]?.push(...order.slice(index - 1, index));
  return before.map((each) => [...new Set(each)]);
}

interface Linked {
  readonly stepId: string;
  readonly dependsOn: readonly string[];
  /** The loop that became this step. */
  readonly parent?: string | undefined;
}

const OPEN = 1;
const CLOSED = 2;

/** The steps before each step come first. A cycle, which a draft may have, is cut where it closes. */
function ordered(dependencies: Dependencies): { order: readonly number[]; before: Dependencies } {
  const order: number[] = [];
  const before: number[][] = dependencies.map(() => []);
  const state = new Uint8Array(dependencies.length);
  for (let first = 0; first < dependencies.length; first++) {
    // An explicit stack, since a chain of steps may be longer than the depth of recursion that JavaScript allows.
    const stack = state[first] === 0 ? [{ step: first, next: 0 }] : [];
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as { step: number; next: number };
      state[top.step] ||= OPEN;
      const each = dependencies[top.step]?.[top.next++];
      if (each === undefined) {
        state[top.step] = CLOSED;
        order.push(top.step);
        stack.pop();
      } else if (state[each] !== OPEN) {
        before[top.step]?.push(each);
        if (state[each] === 0) stack.push({ step: each, next: 0 });
      }
    }
  }
  return { order, before };
}

/** The wave of each step, from 0: one more than the latest wave among the steps that it waits for. */
export function wavesOf(dependencies: Dependencies): readonly number[] {
  const { order, before } = ordered(dependencies);
  const waves = new Array<number>(dependencies.length).fill(0);
  for (const step of order) for (const each of before[step] ?? []) raise(waves, step, (waves[each] ?? 0) + 1);
  return waves;
}

function raise(values: number[], place: number, least: number): void {
  if ((values[place] ?? 0) < least) values[place] = least;
}

/** The links without those that a longer path implies, as bundles in the order of their first source. */
export function bundlesOf(dependencies: Dependencies): readonly Bundle[] {
  const { order, before } = ordered(dependencies);
  const ancestors = new Array<bigint>(dependencies.length).fill(0n);
  const targets: number[][] = dependencies.map(() => []);
  for (const step of order) {
    const direct = before[step] ?? [];
    const behind = direct.reduce((mask, each) => mask | (ancestors[each] ?? 0n), 0n);
    ancestors[step] = direct.reduce((mask, each) => mask | (1n << BigInt(each)), behind);
    for (const each of direct) if (((behind >> BigInt(each)) & 1n) === 0n) targets[each]?.push(step);
  }
  const bundles = new Map<string, { sources: number[]; targets: readonly number[] }>();
  for (const [source, reached] of targets.entries()) {
    if (reached.length === 0) continue;
    const sorted = [...reached].sort((one, other) => one - other);
    const key = sorted.join();
    const known = bundles.get(key);
    if (known === undefined) bundles.set(key, { sources: [source], targets: sorted });
    else known.sources.push(source);
  }
  return [...bundles.values()];
}
