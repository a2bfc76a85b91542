// Writes the references that are added to a request: `@path`, `@path:10-20`, with quote marks where they are needed.

/** Lines as people count them: from 1, both ends included. */
export interface Lines {
  readonly first: number;
  readonly last: number;
}

/** Letters, digits and marks that a reference is read back with as they stand; its last one is no punctuation. */
const PLAIN = /^[\p{L}\p{N}_][\p{L}\p{N}_./-]*[\p{L}\p{N}_/]$|^[\p{L}\p{N}_]$/u;
/** Words that mean something else than a file. */
const WORDS = /^(selection|diagnostics|problems|terminal|git|symbol)\b/i;

/** A reference to a path of the workspace, or to what `kind` tells of it. A name with a quote mark cannot be quoted. */
export function referenceTo(path: string, lines?: Lines, kind?: "git"): string {
  const isPlain = (PLAIN.test(path) && (kind !== undefined || !WORDS.test(path))) || path.includes('"');
  const written = isPlain ? path : `"${path}"`;
  const span =
    lines === undefined ? "" : lines.first === lines.last ? `:${lines.first}` : `:${lines.first}-${lines.last}`;
  return `@${kind === undefined ? "" : `${kind}:`}${written}${span}`;
}

/** The lines of a selection (from 0); one that ends before the first letter of a line does not mean that line. */
export function linesOf(start: { line: number }, end: { line: number; character: number }): Lines {
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return { first: start.line + 1, last: last + 1 };
}

/** A draft with references after it, without those that it has already. */
export function withReferences(draft: string, references: readonly string[]): string {
  const has = new Set(draft.split(/\s+/));
  const added = references.filter((each) => !has.has(each));
  if (added.length === 0) return draft;
  return `${draft}${draft === "" || /\s$/.test(draft) ? "" : " "}${added.join(" ")} `;
}
