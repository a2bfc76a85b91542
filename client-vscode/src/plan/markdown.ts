// Reads the Markdown that models write in answers into blocks and spans. It makes no HTML and no links: what a link
// points to stays text, and whatever is not understood stays as it was written.

export type Span =
  | { readonly kind: "text" | "code"; readonly text: string }
  | { readonly kind: "strong" | "emphasis"; readonly spans: readonly Span[] };

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly spans: readonly Span[] }
  | { readonly kind: "paragraph" | "quote"; readonly spans: readonly Span[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "rule" }
  | { readonly kind: "list"; readonly ordered: boolean; readonly start: number; readonly items: readonly Item[] }
  | {
      readonly kind: "table";
      readonly head: readonly (readonly Span[])[];
      readonly rows: readonly (readonly (readonly Span[])[])[];
    };

/** An item of a list, with the blocks below its first line. */
export interface Item {
  readonly spans: readonly Span[];
  readonly blocks: readonly Block[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6}) +(.+?)(?: +#+)?$/;
const RULE = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +)(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE_LINE = /^ {0,3}\|.*\|$/;
const TABLE_RULE = /^ {0,3}\|(?: *:?-+:? *\|)+$/;
/** Deeper lists are drawn as text: no reader follows them, and a text could be made of nothing else. */
const DEEPEST = 6;

/** The blocks of a text. */
export function markdown(text: string, depth = 0): readonly Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const { block, next } = blockAt(lines, at, depth);
    if (block !== undefined) blocks.push(block);
    at = next;
  }
  return blocks;
}

interface Read {
  readonly block?: Block;
  readonly next: number;
}

function blockAt(lines: readonly string[], at: number, depth: number): Read {
  const line = lines[at] ?? "";
  if (line.trim() === "") return { next: at + 1 };
  if (FENCE.test(line)) return fence(lines, at);
  const [, marks, title] = HEADING.exec(line) ?? [];
  if (marks !== undefined)
    return { block: { kind: "heading", level: marks.length, spans: spans(title ?? "") }, next: at + 1 };
  if (RULE.test(line)) return { block: { kind: "rule" }, next: at + 1 };
  if (ITEM.test(line) && depth < DEEPEST) return list(lines, at, depth);
  if (QUOTE.test(line)) return quote(lines, at);
  if (TABLE_LINE.test(line.trimEnd()) && TABLE_RULE.test((lines[at + 1] ?? "").trimEnd())) return table(lines, at);
  let next = at + 1;
  while (next < lines.length && !startsBlock(lines[next] ?? "")) next++;
  return { block: { kind: "paragraph", spans: spans(lines.slice(at, next).join("\n").trim()) }, next };
}

function startsBlock(line: string): boolean {
  return line.trim() === "" || [FENCE, HEADING, RULE, ITEM, QUOTE].some((pattern) => pattern.test(line));
}

/** A fenced text; one without an end goes on to the end, since an answer may be cut off. */
function fence(lines: readonly string[], at: number): Read {
  const mark = FENCE.exec(lines[at] ?? "")?.[1] ?? "```";
  const isEnd = (line: string): boolean => {
    const end = FENCE.exec(line);
    return end !== null && end[2]?.trim() === "" && (end[1] ?? "").startsWith(mark);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end++;
  return { block: { kind: "code", text: lines.slice(at + 1, end).join("\n") }, next: end + 1 };
}

function quote(lines: readonly string[], at: number): Read {
  let next = at;
  const quoted: string[] = [];
  for (let found = QUOTE.exec(lines[next] ?? ""); found !== null; found = QUOTE.exec(lines[next] ?? "")) {
    quoted.push(found[1] ?? "");
    next++;
  }
  return { block: { kind: "quote", spans: spans(quoted.join("\n")) }, next };
}

function list(lines: readonly string[], at: number, depth: number): Read {
  const mark = ITEM.exec(lines[at] ?? "")?.[2] ?? "-";
  const ordered = /\d/.test(mark);
  const items: Item[] = [];
  let next = at;
  for (;;) {
    const found = ITEM.exec(lines[next] ?? "");
    if (found === null || /\d/.test(found[2] ?? "") !== ordered || RULE.test(lines[next] ?? "")) break;
    const [, before = "", bullet = "", space = "", first = ""] = found;
    const indent = before.length + bullet.length + Math.min(space.length, 4);
    const below: string[] = [];
    next++;
    while (next < lines.length) {
      const line = lines[next] ?? "";
      const inside = line.trim() === "" ? isIndented(lines[next + 1] ?? "", indent) : isIndented(line, indent);
      const goesOn = line.trim() !== "" && below.length === 0 && !startsBlock(line);
      if (!inside && !goesOn) break;
      below.push(inside ? line.slice(indent) : line.trimStart());
      next++;
    }
    const own = below.findIndex((line) => startsBlock(line));
    const more = own < 0 ? below : below.slice(0, own);
    items.push({
      spans: spans([first, ...more].join("\n")),
      blocks: own < 0 ? [] : markdown(below.slice(own).join("\n"), depth + 1),
    });
    if ((lines[next] ?? "").trim() === "" && ITEM.test(lines[next + 1] ?? "")) next++;
  }
  return { block: { kind: "list", ordered, start: ordered ? Number.parseInt(mark, 10) : 1, items }, next };
}

function isIndented(line: string, by: number): boolean {
  return line.trim() !== "" && line.length - line.trimStart().length >= Math.min(by, 2);
}

function table(lines: readonly string[], at: number): Read {
  const cells = (line: string): readonly (readonly Span[])[] =>
    line
      .trim()
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => spans(cell.trim().replaceAll("\\|", "|")));
  let next = at + 2;
  while (TABLE_LINE.test((lines[next] ?? "").trimEnd())) next++;
  const rows = lines.slice(at + 2, next).map(cells);
  return { block: { kind: "table", head: cells(lines[at] ?? ""), rows }, next };
}

// Two underscores are left alone: they are the names of Python's modules and methods far more often than strong text.
const SPAN =
  /(`+)(?!`)(.*?[^`])\1(?!`)|(\*\*)(?=\S)(.*?\S)\3|(?<![\p{L}\p{N}_*])([*_])(?=[^\s*_])(.*?[^\s*_])\5(?![\p{L}\p{N}_*])/su;

/** The spans of a line. A text that is nested too deep stays as it is. */
export function spans(text: string, depth = 0): readonly Span[] {
  const found: Span[] = [];
  let rest = text;
  for (let match = depth > 3 ? null : SPAN.exec(rest); match !== null; match = SPAN.exec(rest)) {
    if (match.index > 0) found.push({ kind: "text", text: rest.slice(0, match.index) });
    const [whole, , code, , strong, , emphasis] = match;
    if (code !== undefined) found.push({ kind: "code", text: code.trim() });
    else if (strong !== undefined) found.push({ kind: "strong", spans: spans(strong, depth + 1) });
    else found.push({ kind: "emphasis", spans: spans(emphasis ?? "", depth + 1) });
    rest = rest.slice(match.index + whole.length);
  }
  return rest === "" ? found : [...found, { kind: "text", text: rest }];
}
