// Draws the difference of two texts in the panel: hunks of removed and added lines with some lines around them.

import { html, nothing } from "lit";

import { commonEnds, type Hunk, hunksOf, linesOf } from "../../text/lineDiff";
import { plural, t } from "../../words";
import { shown, type View } from "../ui";

const CONTEXT = 2;
const LIMIT = 80;

export interface InlineDiffOptions {
  /** The most lines that are drawn; the others are counted. */
  limit?: number;
  /** Whether lines have their numbers; a text that is only a part of a file has none. */
  numbers?: boolean;
  /** What stands above each hunk, such as a choice. */
  heading?: (hunk: Hunk, place: number) => View;
  /** Whether a hunk was left out. */
  isLeft?: (place: number) => boolean;
  /** What stands below the last line, unless lines were cut. */
  ending?: View;
}

interface Line {
  sign: "+" | "−" | " ";
  /** The numbers of the line from 1 in the old text and in the new one, as far as it is there. */
  old?: number;
  now?: number;
  text: string;
  /** The text on the other side of a line that was changed rather than added or removed. */
  other?: string | undefined;
}

/** The difference of two texts. A text that is null is a file that does not exist. */
export function inlineDiff(before: string | null, after: string | null, options: InlineDiffOptions = {}): View {
  const { limit = LIMIT, numbers = true, heading, isLeft, ending = nothing } = options;
  const [old, now] = [before ?? "", after ?? ""];
  const hunks = hunksOf(old, now);
  const lines = linesOf(old);
  let drawn = 0;
  const groups = hunks.map((hunk, place) => {
    const all = linesAround(lines, hunks, place);
    const rows = all.slice(0, Math.max(limit - drawn, 0));
    drawn += all.length;
    return rows.length === 0 && heading === undefined
      ? nothing
      : html`<div class="diff-hunk" data-hunk=${place} data-left=${isLeft?.(place) ?? false}>
          ${heading?.(hunk, place) ?? nothing}${rows.map((line) => row(line, numbers))}
        </div>`;
  });
  const more = drawn - limit;
  return html`<div class="inline-diff" role="group" aria-label=${t("Changed lines")} tabindex="0">
    ${hunks.length === 0 ? html`<p class="quiet">${t("No line is changed.")}</p>` : groups}
    ${more > 0 ? html`<p class="quiet more">${plural(more, "1 more line", "{0} more lines")}</p>` : ending}
  </div>`;
}

/** The lines of a hunk, and those around it that do not stand around the hunk before it already. */
function linesAround(lines: readonly string[], hunks: readonly Hunk[], place: number): readonly Line[] {
  const { beforeStart, removed, afterStart, added } = hunks[place] as Hunk;
  const [previous, next] = [hunks[place - 1], hunks[place + 1]];
  const end = beforeStart + removed.length;
  const free = previous === undefined ? 0 : previous.beforeStart + previous.removed.length + CONTEXT;
  const from = Math.min(beforeStart, Math.max(beforeStart - CONTEXT, free, 0));
  const to = Math.min(end + CONTEXT, next?.beforeStart ?? lines.length);
  const shift = afterStart - beforeStart;
  const same = (start: number, stop: number, by: number): Line[] =>
    lines.slice(start, stop).map((text, index) => {
      const old = start + index + 1;
      return { sign: " ", old, now: old + by, text };
    });
  const isPaired = removed.length === added.length;
  return [
    ...same(from, beforeStart, shift),
    ...removed.map(
      (text, index): Line => ({
        sign: "−",
        old: beforeStart + index + 1,
        text,
        other: isPaired ? added[index] : undefined,
      }),
    ),
    ...added.map(
      (text, index): Line => ({
        sign: "+",
        now: afterStart + index + 1,
        text,
        other: isPaired ? removed[index] : undefined,
      }),
    ),
    ...same(end, to, shift + added.length - removed.length),
  ];
}

const KIND = { "+": "added-line", "−": "removed-line", " ": "same-line" } as const;

function row({ sign, old, now, text, other }: Line, numbers: boolean): View {
  const content = withoutEnd(text);
  const otherContent = other === undefined ? undefined : withoutEnd(other);
  const ends =
    otherContent === content && other !== undefined
      ? endName(text)
      : sign !== " " && endOf(text) === ""
        ? endName(text)
        : undefined;
  return html`<div class="diff-line ${KIND[sign]}"
    >${numbers ? html`<span class="diff-number" aria-hidden="true">${old}</span><span class="diff-number" aria-hidden="true">${now}</span>` : nothing}<span class="diff-sign"
      >${sign}</span
    ><span class="diff-text">${
      otherContent === undefined || otherContent === content ? shown(content) : changedPart(content, otherContent)
    }${ends === undefined ? nothing : html`<span class="mark">${ends}</span>`}</span></div>`;
}

/** A line with the part marked in which it differs from the other side, if the lines have something in common. */
function changedPart(text: string, other: string): View {
  const here = [...text];
  const { head, tail } = commonEnds(here, [...other]);
  const part = (from: number, to: number): string => here.slice(from, to).join("");
  const [before, changed, after] = [
    part(0, head),
    part(head, here.length - tail),
    part(here.length - tail, here.length),
  ];
  return `${before}${after}`.trim() === ""
    ? shown(text)
    : html`${shown(before)}<span class="changed-part">${shown(changed)}</span>${shown(after)}`;
}

function endOf(line: string): string {
  return /[\r\n]+$/.exec(line)?.[0] ?? "";
}

function withoutEnd(line: string): string {
  return line.slice(0, line.length - endOf(line).length);
}

function endName(line: string): string {
  return { "": t("no line end"), "\n": "LF", "\r\n": "CRLF", "\r": "CR" }[endOf(line)] ?? "";
}
