// What language servers say of a change: a quiet line that opens to the problems, each of which leads to its place.

import { html, nothing } from "lit";
import { when } from "lit/directives/when.js";
import type { JudgedView, ProblemView } from "../../protocol";
import { icon, shown, type View } from "../ui";

export function judgement(judged: JudgedView | null | undefined, go: (problem: ProblemView) => void): View {
  if (judged == null) return nothing;
  const { words, problems, more } = judged;
  if (problems == null) return html`<p class="judged quiet">${shown(words)}</p>`;
  return html`<details class="judged">
    <summary class="quiet">${shown(words)}</summary>
    <ul>
      ${problems.map(
        (each) => html`<li>
          ${icon(each.severity, each.kind, each.severity === "error" ? "bad" : "warn")}
          <span>
            <button class="path" type="button" @click=${() => go(each)}>${shown(`${each.path}:${each.line}`)}</button>
            <span class="quiet">${shown(each.message)}</span>
          </span>
        </li>`,
      )}
      ${when(more, () => html`<li class="quiet"><span>${more}</span></li>`)}
    </ul>
  </details>`;
}
