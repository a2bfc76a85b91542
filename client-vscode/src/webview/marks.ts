// Makes characters visible that would hide or reorder what a person is about to approve (Trojan Source).

export type Piece = { kind: "text"; text: string } | { kind: "mark"; label: string; name: string };

/** Controls, format and bidirectional characters, lone surrogates, line separators, ignorables and blank look-alikes. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2000-\u200a\u202f\u205f\u2800]/gu;
const PICTOGRAPH_BEFORE = /\p{Extended_Pictographic}$/u;

const NAMES: Readonly<Record<number, string>> = {
  0x00ad: "soft hyphen",
  0x200b: "zero width space",
  0x200c: "zero width non-joiner",
  0x200d: "zero width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "pop directional isolate",
  0xfeff: "byte order mark",
};

/** Split text at its hidden characters; line feeds, tabs and the colour form of an emoji are shown as they are. */
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

/** The same as plain text, for labels and tool tips that hold no elements. */
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
  return { kind: "mark", label, name: NAMES[code] ?? "hidden character" };
}
