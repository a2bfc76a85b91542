// Finds the end of a change, so that the editor's diff view can be told to have been seen to there.

/** The last line, from 0, in which two texts differ, counted in `after`; undefined if they are equal. */
export function lastChangedLine(before: string, after: string): number | undefined {
  if (before === after) return undefined;
  const [old, now] = [before.split("\n"), after.split("\n")];
  let same = 0;
  while (same < Math.min(old.length, now.length) && old[old.length - 1 - same] === now[now.length - 1 - same]) same++;
  return Math.max(now.length - 1 - same, 0);
}
