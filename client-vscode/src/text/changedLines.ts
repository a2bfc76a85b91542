// The lines that a change has written, counted in the text after it.

/** One of the changes that were made at once: it replaced text of the lines `startLine` to `endLine`, from 0. */
export interface LineChange {
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

/** The first and last line that each change has written; one that only removed whole lines has written none. */
export function changedLines(changes: readonly LineChange[]): readonly (readonly [number, number])[] {
  const written: [number, number][] = [];
  let moved = 0;
  for (const { startLine, endLine, text } of [...changes].sort((one, other) => one.startLine - other.startLine)) {
    const breaks = text.match(/\r\n|\r|\n/g)?.length ?? 0;
    const first = startLine + moved;
    // A text that ends with a line end has written nothing of the line behind it.
    const last = first + breaks - (breaks > 0 && /[\r\n]$/.test(text) ? 1 : 0);
    if (text !== "" || startLine === endLine) written.push([first, last]);
    moved += breaks - (endLine - startLine);
  }
  return written;
}
