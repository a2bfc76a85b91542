// Draws Markdown as templates of text nodes: nothing that a model wrote becomes markup, an address or a command.

import { html, nothing } from "lit";

import { type Block, markdown, type Span } from "../../plan/markdown";
import { shown, type View } from "../ui";

/** Reading costs time with the length; a longer text is drawn as it is. */
const LONGEST = 200_000;
const TEXTS_KEPT = 4;
const read = new Map<string, readonly Block[]>();

export function markdownView(text: string): View {
  if (text.length > LONGEST) return html`<div class="markdown plain">${shown(text)}</div>`;
  return html`<div class="markdown">${blocksOf(text).map(blockView)}</div>`;
}

/** The blocks of a text, which is drawn again at each event of its plan. */
function blocksOf(text: string): readonly Block[] {
  const known = read.get(text);
  if (known !== undefined) return known;
  const blocks = markdown(text);
  read.set(text, blocks);
  const [oldest] = read.keys();
  if (read.size > TEXTS_KEPT && oldest !== undefined) read.delete(oldest);
  return blocks;
}

function blockView(block: Block): View {
  switch (block.kind) {
    case "heading":
      return html`<p class="markdown-heading" data-level=${block.level} role="heading" aria-level=${Math.min(6, block.level + 2)}>${spansView(block.spans)}</p>`;
    case "paragraph":
      return html`<p>${spansView(block.spans)}</p>`;
    case "quote":
      return html`<blockquote>${spansView(block.spans)}</blockquote>`;
    case "code":
      return html`<pre tabindex="0">${shown(block.text)}</pre>`;
    case "rule":
      return html`<hr />`;
    case "list": {
      const items = block.items.map(
        (item) =>
          html`<li>${spansView(item.spans)}${item.blocks.length === 0 ? nothing : item.blocks.map(blockView)}</li>`,
      );
      return block.ordered ? html`<ol start=${block.start}>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case "table":
      return html`<div class="markdown-table" tabindex="0"><table><thead><tr>${block.head.map(
        (cell) => html`<th>${spansView(cell)}</th>`,
      )}</tr></thead><tbody>${block.rows.map(
        (row) => html`<tr>${row.map((cell) => html`<td>${spansView(cell)}</td>`)}</tr>`,
      )}</tbody></table></div>`;
  }
}

function spansView(spans: readonly Span[]): View {
  return html`${spans.map(spanView)}`;
}

function spanView(span: Span): View {
  switch (span.kind) {
    case "text":
      return shown(span.text);
    case "code":
      return html`<code>${shown(span.text)}</code>`;
    case "strong":
      return html`<strong>${spansView(span.spans)}</strong>`;
    case "emphasis":
      return html`<em>${spansView(span.spans)}</em>`;
  }
}
