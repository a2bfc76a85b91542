// Finds the hunks between two texts, and puts a text together of those that were chosen.

/** A run of changed lines, each with its line end; the places count lines from 0. */
export interface Hunk {
  readonly beforeStart: number;
  readonly removed: readonly string[];
  readonly afterStart: number;
  readonly added: readonly string[];
}

/** From this many changes on, the lines between the first and the last of them count as one hunk. */
const MOST_CHANGES = 1000;

/** The lines of a text with their line ends; an empty text has none. */
export function linesOf(text: string): readonly string[] {
  return text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
}

/** How many parts two texts have in common at their beginning, and how many of the others at their end. */
export function commonEnds(old: readonly string[], now: readonly string[]): { head: number; tail: number } {
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  return { head, tail };
}

/** The last line, from 0, in which two texts differ, counted in `after`; undefined if they are equal. */
export function lastChangedLine(before: string, after: string): number | undefined {
  const now = after.split("\n");
  return before === after ? undefined : Math.max(now.length - 1 - commonEnds(before.split("\n"), now).tail, 0);
}

/** The hunks that turn one text into the other, in their order (E. W. Myers, An O(ND) Difference Algorithm, 1986). */
export function hunksOf(before: string, after: string): readonly Hunk[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const { head, tail } = commonEnds(old, now);
  const kept = keptLines(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  const hunks: Hunk[] = [];
  let [from, to] = [head, head];
  for (const [x, y] of [
    ...kept.map(([x, y]) => [x + head, y + head] as const),
    [old.length - tail, now.length - tail],
  ] as const) {
    if (x > from || y > to)
      hunks.push({ beforeStart: from, removed: old.slice(from, x), afterStart: to, added: now.slice(to, y) });
    [from, to] = [x + 1, y + 1];
  }
  return hunks;
}

/** The text with the changes of the hunks that are taken; `hunks` are those of `before` and another text. */
export function withHunks(before: string, hunks: readonly Hunk[], isTaken: (place: number) => boolean): string {
  const lines = [...linesOf(before)];
  for (const [place, { beforeStart, removed, added }] of [...hunks.entries()].reverse())
    if (isTaken(place)) lines.splice(beforeStart, removed.length, ...added);
  return lines.join("");
}

/** A changed text with the hunks at these places left out. */
export function withoutHunks(before: string, after: string, left: readonly number[]): string {
  return withHunks(before, hunksOf(before, after), (place) => !left.includes(place));
}

/** The places of the lines that both texts keep, in their order. */
function keptLines(old: readonly string[], now: readonly string[]): readonly (readonly [number, number])[] {
  if (old.length === 0 || now.length === 0) return [];
  const most = Math.min(old.length + now.length, MOST_CHANGES);
  const reached: Map<number, number>[] = [];
  let ends = new Map<number, number>([[1, 0]]);
  for (let changes = 0; changes <= most; changes++) {
    reached.push(ends);
    const next = new Map(ends);
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let x = start(ends, diagonal, changes);
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x++;
      next.set(diagonal, x);
      if (x >= old.length && x - diagonal >= now.length) return walkedBack(reached, old.length, now.length);
    }
    ends = next;
  }
  return [];
}

/** Whether the path comes to a diagonal by a line that was added, rather than by one that was removed. */
function isAddition(ends: ReadonlyMap<number, number>, diagonal: number, changes: number): boolean {
  const [above, below] = [ends.get(diagonal + 1) ?? -1, ends.get(diagonal - 1) ?? -1];
  return diagonal === -changes || (diagonal !== changes && below < above);
}

/** Where the path on a diagonal begins after one more change, in lines of the old text. */
function start(ends: ReadonlyMap<number, number>, diagonal: number, changes: number): number {
  return isAddition(ends, diagonal, changes) ? (ends.get(diagonal + 1) ?? 0) : (ends.get(diagonal - 1) ?? 0) + 1;
}

function walkedBack(
  reached: readonly ReadonlyMap<number, number>[],
  oldLength: number,
  nowLength: number,
): readonly (readonly [number, number])[] {
  const kept: [number, number][] = [];
  let [x, y] = [oldLength, nowLength];
  for (const [changes, ends] of [...reached.entries()].reverse()) {
    const diagonal = x - y;
    const begin = start(ends, diagonal, changes);
    while (x > begin) kept.push([--x, --y]);
    if (isAddition(ends, diagonal, changes)) y = begin - diagonal - 1;
    else x = begin - 1;
  }
  return kept.reverse();
}
