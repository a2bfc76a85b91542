// The lines that a change has written, counted in the text after it.

/** One of the changes that were made at once: it replaced text of the lines `startLine` to `endLine`, from 0. */
export interface LineChange {
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

type Lines = readonly [first: number, last: number];

/**
 * The first and last line that each change has written, and those `marked` before that none of them has replaced, where
 * they are now. A change that only removed whole lines has written none.
 */
export function changedLines(changes: readonly LineChange[], marked: readonly Lines[] = []): readonly Lines[] {
  const written: Lines[] = [];
  let kept = marked;
  let moved = 0;
  for (const { startLine, endLine, text } of [...changes].sort((one, other) => one.startLine - other.startLine)) {
    const breaks = text.match(/\r\n|\r|\n/g)?.length ?? 0;
    const first = startLine + moved;
    // A text that ends with a line end has written nothing of the line behind it.
    const last = first + breaks - (breaks > 0 && /[\r\n]$/.test(text) ? 1 : 0);
    if (text !== "" || startLine === endLine) written.push([first, last]);
    const [at, end, by] = [first, moved + Math.max(startLine, endLine - 1), breaks - (endLine - startLine)];
    kept = kept
      .filter((each) => each[1] < at || each[0] > end)
      .map((each): Lines => (each[0] > end ? [each[0] + by, each[1] + by] : each));
    moved += by;
  }
  return [...kept, ...written];
}
