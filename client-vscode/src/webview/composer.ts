// The field for a new request: completes @references, and shows whether the request will be planned.

import { html, nothing } from "lit";
import { classMap } from "lit/directives/class-map.js";
import { live } from "lit/directives/live.js";

import type { CreateParams, ReferenceItem } from "../protocol";
import { reasonOf } from "./format";
import { icon, type Panel, shown, type View } from "./ui";
import { isSending } from "./uiState";

type Mode = NonNullable<CreateParams["mode"]>;

const KIND_ICON: Readonly<Record<ReferenceItem["kind"], string>> = {
  file: "file",
  folder: "folder",
  symbol: "symbol-method",
  special: "sparkle",
};

/** The `@reference` that ends at the caret, if there is one. */
export function referenceBefore(text: string, caret: number): string | undefined {
  const before = text.slice(Math.max(0, caret - 300), caret);
  return /(?:^|[\s([{"'`])(@(?:"[^"\n]*|[^\s"@]*))$/.exec(before)?.[1];
}

/** The mode that Alt+Enter sends: the opposite of the detected one. */
function override(planned: boolean): Mode {
  return planned ? "direct" : "plan";
}

/** What the page does for the composer: keep a changed text, and look for completions at the caret. */
interface Asks {
  write(text: string, caret: number): void;
  complete(text: string, caret: number): void;
}

export function composer(panel: Panel, hasPlan: boolean, ask: Asks): View {
  const { ui } = panel;
  const open = ui.suggestions.length > 0;
  const compact = hasPlan && ui.draft === "";
  return html`
    <section class="composer ${compact ? "compact" : ""}" aria-label="New request">
      <div class="composer-box">
        <textarea
          id="request"
          rows=${compact ? 1 : 3}
          .value=${live(ui.draft)}
          ?readonly=${isSending(ui)}
          placeholder=${`${hasPlan ? "What next?" : "What should be done?"} Type @ to attach a file.`}
          aria-label="Describe a task"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded=${open}
          aria-controls="suggestions"
          aria-activedescendant=${open ? `suggestion-${ui.suggestion}` : nothing}
          @input=${(event: InputEvent) => withCaret(event, ask.write)}
          @click=${(event: MouseEvent) => withCaret(event, ask.complete)}
          @keydown=${(event: KeyboardEvent) => onKey(panel, event, ask)}
        ></textarea>
        ${open ? suggestions(panel, ask) : nothing}
      </div>
      ${compact ? nothing : verdict(panel)}
    </section>
  `;
}

function withCaret(event: Event, then: (text: string, caret: number) => void): void {
  if (event.target instanceof HTMLTextAreaElement) then(event.target.value, event.target.selectionStart);
}

function send(panel: Panel, mode: Mode): void {
  panel.create({ kind: "create", text: panel.ui.draft, mode });
}

function suggestions(panel: Panel, ask: Asks): View {
  const { ui } = panel;
  return html`<ul id="suggestions" role="listbox" aria-label="Files and references">
    ${ui.suggestions.map(
      (item, index) => html`<li
        id=${`suggestion-${index}`}
        role="option"
        class=${classMap({ active: index === ui.suggestion })}
        aria-selected=${index === ui.suggestion}
        @mousedown=${(event: MouseEvent) => {
          event.preventDefault();
          accept(panel, item, ask);
        }}
      >
        ${icon(KIND_ICON[item.kind])}<span class="label">${shown(item.label)}</span
        ><span class="detail">${shown(item.detail)}</span>
      </li>`,
    )}
  </ul>`;
}

function verdict(panel: Panel): View {
  const { ui } = panel;
  const empty = ui.draft.trim() === "";
  const planned = ui.verdict?.planned ?? true;
  const running = ui.server.kind === "running";
  const sending = isSending(ui);
  const ready = !empty && running && !sending;
  const by = (mode: Mode) => () => send(panel, mode);
  return html`
    <div class="verdict" aria-live="polite">
      ${
        sending
          ? html`<span class="hint">${icon("loading")} Sending…</span>`
          : empty || ui.verdict === undefined
            ? html`<span class="hint">${icon("lightbulb")} Small requests run directly, larger ones become a plan.</span>`
            : html`<span class="hint" id="verdict" data-planned=${planned}>
            ${icon(planned ? "checklist" : "zap")}
            <b>${planned ? "Will be planned" : "Runs directly"}</b> ·
            ${reasonOf(ui.verdict)}${ui.verdict.ambiguous ? " (not sure)" : ""}
          </span>`
      }
    </div>
    <div class="actions">
      <vscode-button
        id="send"
        ?disabled=${!ready}
        title="Enter"
        @click=${by("auto")}
      >${planned ? "Plan" : "Run"} <kbd>⏎</kbd></vscode-button>
      <vscode-button
        id="override"
        secondary
        ?disabled=${!ready}
        title="Alt+Enter: the other way"
        @click=${by(override(planned))}
        >${planned ? "Run directly" : "Plan first"} <kbd>Alt ⏎</kbd></vscode-button
      >
      <button
        class="icon-button"
        id="perspectives"
        type="button"
        ?disabled=${!ready}
        title="Plan with the three perspectives: strategy, code, operations"
        aria-label="Plan with perspectives"
        @click=${by("perspectives")}
      >
        ${icon("organization")}
      </button>
    </div>
  `;
}

function onKey(panel: Panel, event: KeyboardEvent, ask: Asks): void {
  const { ui } = panel;
  if (event.isComposing) return;
  const item = ui.suggestions[ui.suggestion];
  if (item !== undefined && !event.altKey) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : ui.suggestions.length - 1;
      event.preventDefault();
      panel.update((view) => ({ ...view, suggestion: (view.suggestion + step) % view.suggestions.length }));
      return;
    }
    if (event.key === "Enter" || event.key === "Tab") {
      event.preventDefault();
      accept(panel, item, ask);
      return;
    }
    if (event.key === "Escape") {
      event.preventDefault();
      panel.update((view) => ({ ...view, suggestions: [] }));
      return;
    }
  }
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  send(panel, event.altKey ? override(ui.verdict?.planned ?? true) : "auto");
}

function accept(panel: Panel, item: ReferenceItem, ask: Asks): void {
  const [from, to] = item.replace;
  const { draft } = panel.ui;
  const goesOn = item.kind === "folder";
  const inserted = item.insertText + (goesOn || /^\s/.test(draft.slice(to)) ? "" : " ");
  const caret = from + inserted.length;
  ask.write(draft.slice(0, from) + inserted + draft.slice(to), caret);
  panel.update((ui) => ({ ...ui, caret }));
}
