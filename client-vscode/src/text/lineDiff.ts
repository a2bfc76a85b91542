// Finds the hunks between two texts, and puts a text together of those that were chosen.

import { diffArrays } from "diff";

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

/** The hunks that turn one text into the other, in their order. */
export function hunksOf(before: string, after: string): readonly Hunk[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const { head, tail } = commonEnds(old, now);
  const [left, right] = [old.slice(head, old.length - tail), now.slice(head, now.length - tail)];
  const unlike = [
    { value: left, added: false, removed: true },
    { value: right, added: true, removed: false },
  ];
  const hunks: Hunk[] = [];
  let hunk: { -readonly [Field in keyof Hunk]: Hunk[Field] } | undefined;
  let [from, to] = [head, head];
  for (const { value, added, removed } of diffArrays(left, right, { maxEditLength: MOST_CHANGES }) ?? unlike) {
    if (added || removed) {
      if (hunk === undefined) {
        hunk = { beforeStart: from, removed: [], afterStart: to, added: [] };
        hunks.push(hunk);
      }
      if (added) hunk.added = [...hunk.added, ...value];
      else hunk.removed = [...hunk.removed, ...value];
    } else hunk = undefined;
    if (!added) from += value.length;
    if (!removed) to += value.length;
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
