// Makes characters visible that could hide or reorder what the user is about to approve (Trojan Source).

import { t } from "../../words";

type Piece = { kind: "text"; text: string } | { kind: "mark"; label: string; name: string };

/** Control, format and bidirectional characters, lone surrogates, line separators, ignorables and blanks. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800]/gu;
const PICTOGRAPH_BEFORE = /\p{Extended_Pictographic}$/u;

const NAMES: Readonly<Record<string, string>> = {
  "U+00AD": "soft hyphen",
  "U+200B": "zero width space",
  "U+200C": "zero width non-joiner",
  "U+200D": "zero width joiner",
  "U+200E": "left-to-right mark",
  "U+200F": "right-to-left mark",
  "U+202A": "left-to-right embedding",
  "U+202B": "right-to-left embedding",
  "U+202C": "pop directional formatting",
  "U+202D": "left-to-right override",
  "U+202E": "right-to-left override",
  "U+2060": "word joiner",
  "U+2066": "left-to-right isolate",
  "U+2067": "right-to-left isolate",
  "U+2068": "first strong isolate",
  "U+2069": "pop directional isolate",
  "U+FEFF": "byte order mark",
};

/** Split text at its hidden characters. Line feeds, tabs and the variation selector of an emoji stay in the text. */
export function pieces(text: string): readonly Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (isHarmless(text, match[0], match.index)) continue;
    if (match.index > from) found.push({ kind: "text", text: text.slice(from, match.index) });
    found.push(mark(match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ kind: "text", text: text.slice(from) });
  return found;
}

/** The same as plain text, for labels and tool tips, which cannot hold elements. */
export function plain(text: string): string {
  return pieces(text)
    .map((piece) => (piece.kind === "text" ? piece.text : `⟦${piece.label}⟧`))
    .join("");
}

function isHarmless(text: string, character: string, index: number): boolean {
  if (character === "\n" || character === "\t") return true;
  if (character === "\r") return text[index + 1] === "\n";
  return character === "\ufe0f" && PICTOGRAPH_BEFORE.test(text.slice(Math.max(0, index - 2), index));
}

function mark(character: string): Piece {
  const code = character.codePointAt(0) ?? 0;
  const label = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return { kind: "mark", label, name: NAMES[label] ?? t("hidden character") };
}
