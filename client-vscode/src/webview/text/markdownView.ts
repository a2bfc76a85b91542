// Draws Markdown as templates of text nodes: nothing that a model wrote becomes markup, an address or a command. What a
// link points to stays text, and whatever is not drawn here stays as it was written.

import { html, nothing } from "lit";
import { Lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from "marked";

import { shown, type View } from "../ui";

/** Reading costs time with the length; a longer text is drawn as it is. */
const LONGEST = 60_000;
/** Deeper quotes, lists and emphases are drawn as text: no reader follows them, and a text could be made of nothing else. */
const DEEPEST = 8;
const TEXTS_KEPT = 4;
const read = new Map<string, readonly Token[] | undefined>();

/** Two underscores are left alone: they are the names of Python's modules and methods far more often than strong text. */
class WithoutUnderscores extends Tokenizer {
  override emStrong(source: string, ...more: [string, string?]): Tokens.Em | Tokens.Strong | undefined {
    const [raw] = /^_{2,}/.exec(source) ?? [];
    // The type of the method knows no text, but the lexer takes it like any token.
    return raw === undefined
      ? super.emStrong(source, ...more)
      : ({ type: "text", raw, text: raw } as unknown as Tokens.Em);
  }
}

export function markdownView(text: string): View {
  const tokens = text.length > LONGEST ? undefined : tokensOf(text);
  return tokens === undefined
    ? html`<div class="markdown plain">${shown(text)}</div>`
    : html`<div class="markdown">${drawn(tokens)}</div>`;
}

/** The blocks of a text, which is drawn again at each event of its plan; undefined if they are nested too deep to be read. */
function tokensOf(text: string): readonly Token[] | undefined {
  if (!read.has(text)) read.set(text, lexed(text));
  const [oldest] = read.keys();
  if (read.size > TEXTS_KEPT && oldest !== undefined) read.delete(oldest);
  return read.get(text);
}

function lexed(text: string): readonly Token[] | undefined {
  try {
    return new Lexer({ gfm: true, tokenizer: new WithoutUnderscores() }).lex(text);
  } catch {
    // The library calls itself for each level.
    return undefined;
  }
}

function drawn(tokens: readonly Token[] | undefined, depth = 0): View {
  return html`${tokens?.map((token) => (depth > DEEPEST ? shown(token.raw) : view(token as MarkedToken, depth + 1)))}`;
}

function view(token: MarkedToken, depth: number): View {
  switch (token.type) {
    case "space":
      return nothing;
    case "heading":
      return html`<p class="markdown-heading" data-level=${token.depth} role="heading" aria-level=${Math.min(6, token.depth + 2)}>${drawn(token.tokens, depth)}</p>`;
    case "paragraph":
      return html`<p>${drawn(token.tokens, depth)}</p>`;
    case "blockquote":
      return html`<blockquote>${drawn(token.tokens, depth)}</blockquote>`;
    case "code":
      return html`<pre tabindex="0">${shown(token.text)}</pre>`;
    case "hr":
      return html`<hr />`;
    case "list": {
      const items = token.items.map((item) => html`<li>${drawn(item.tokens, depth)}</li>`);
      return token.ordered ? html`<ol start=${token.start || 1}>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case "table": {
      const { header, rows } = token;
      return html`<div class="markdown-table" tabindex="0"><table><thead><tr>${header.map(
        (cell) => html`<th>${drawn(cell.tokens, depth)}</th>`,
      )}</tr></thead><tbody>${rows.map(
        (row) => html`<tr>${row.map((cell) => html`<td>${drawn(cell.tokens, depth)}</td>`)}</tr>`,
      )}</tbody></table></div>`;
    }
    case "codespan":
      return html`<code>${shown(token.text)}</code>`;
    case "strong":
      return html`<strong>${drawn(token.tokens, depth)}</strong>`;
    case "em":
      return html`<em>${drawn(token.tokens, depth)}</em>`;
    case "escape":
      return shown(token.text);
    case "text":
      // A line of a list has parts of its own.
      return "tokens" in token && token.tokens !== undefined ? drawn(token.tokens, depth - 1) : shown(token.text);
    case "html":
      return token.block ? html`<p>${shown(token.raw.trim())}</p>` : shown(token.raw);
    case "def":
      return html`<p>${shown(token.raw.trim())}</p>`;
    default:
      return shown(token.raw);
  }
}
