// Where a request is written: completion of @references, and detection's verdict with its one-key override.

import { html, nothing } from "lit";
import { classMap } from "lit/directives/class-map.js";

import type { CompletionItem, Mode } from "../protocol";
import { reasonOf } from "./format";
import { icon, shown, type Panel, type View } from "./ui";

const KIND_ICON: Readonly<Record<CompletionItem["kind"], string>> = {
  file: "file",
  folder: "folder",
  symbol: "symbol-method",
  special: "sparkle",
};

/** The `@reference` that ends at the caret, if one does: completion is asked only then. */
export function referenceBefore(text: string, caret: number): string | undefined {
  const before = text.slice(Math.max(0, caret - 300), caret);
  return /(?:^|[\s([{"'`])(@(?:"[^"\n]*|[^\s"@]*))$/.exec(before)?.[1];
}

/** The mode that Alt+Enter sends: the opposite of what detection says. */
export function override(planned: boolean): Mode {
  return planned ? "direct" : "plan";
}

export function composer(panel: Panel, hasPlan: boolean, ask: { typed(area: HTMLTextAreaElement): void; send(mode: Mode): void }): View {
  const { ui } = panel;
  const open = ui.suggestions.length > 0;
  const compact = hasPlan && ui.draft === "";
  return html`
    <section class="composer ${compact ? "compact" : ""}" aria-label="New request">
      <div class="composer-box">
        <textarea
          id="request"
          rows=${compact ? 1 : 3}
          .value=${ui.draft}
          placeholder=${hasPlan ? "What next? Type @ to attach a file." : "What should be done? Type @ to attach a file."}
          aria-label="Describe a task"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded=${open}
          aria-controls="suggestions"
          aria-activedescendant=${open ? `suggestion-${ui.suggestion}` : nothing}
          @input=${(event: InputEvent) => ask.typed(event.target as HTMLTextAreaElement)}
          @click=${(event: MouseEvent) => ask.typed(event.target as HTMLTextAreaElement)}
          @keydown=${(event: KeyboardEvent) => onKey(panel, event, ask)}
        ></textarea>
        ${open ? suggestions(panel, ask) : nothing}
      </div>
      ${compact ? nothing : verdict(panel, ask)}
    </section>
  `;
}

function suggestions(panel: Panel, ask: { typed(area: HTMLTextAreaElement): void }): View {
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

function verdict(panel: Panel, ask: { send(mode: Mode): void }): View {
  const { ui } = panel;
  const empty = ui.draft.trim() === "";
  const planned = ui.verdict?.planned ?? true;
  const running = ui.server.kind === "running";
  const ready = !empty && running;
  const send = (mode: Mode) => () => ask.send(mode);
  return html`
    <div class="verdict" aria-live="polite">
      ${empty || ui.verdict === undefined
        ? html`<span class="hint">${icon("lightbulb")} Nothing runs before you have read it.</span>`
        : html`<span class="hint" id="verdict" data-planned=${planned}>
            ${icon(planned ? "checklist" : "zap")}
            <b>${planned ? "Will be planned" : "Runs directly"}</b> · ${reasonOf(ui.verdict)}${ui.verdict.ambiguous ? " (not sure)" : ""}
          </span>`}
    </div>
    <div class="actions">
      <vscode-button id="send" ?disabled=${!ready} title="Enter" @click=${send("auto")}>${planned ? "Plan" : "Run"} <kbd>⏎</kbd></vscode-button>
      <vscode-button id="override" secondary ?disabled=${!ready} title="Alt+Enter: the other way" @click=${send(override(planned))}
        >${planned ? "Run directly" : "Plan first"} <kbd>Alt ⏎</kbd></vscode-button
      >
      <button
        class="icon-button"
        id="perspectives"
        type="button"
        ?disabled=${!ready}
        title="Plan with the three perspectives: strategy, code, operations"
        aria-label="Plan with perspectives"
        @click=${send("perspectives")}
      >
        ${icon("organization")}
      </button>
    </div>
  `;
}

function onKey(panel: Panel, event: KeyboardEvent, ask: { typed(area: HTMLTextAreaElement): void; send(mode: Mode): void }): void {
  const { ui } = panel;
  if (event.isComposing) return;
  const item = ui.suggestions[ui.suggestion];
  if (item !== undefined && !event.altKey) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : ui.suggestions.length - 1;
      panel.update((view) => (view.suggestion = (view.suggestion + step) % view.suggestions.length));
      return event.preventDefault();
    }
    if (event.key === "Enter" || event.key === "Tab") {
      accept(panel, item, ask);
      return event.preventDefault();
    }
    if (event.key === "Escape") {
      panel.update((view) => (view.suggestions = []));
      return event.preventDefault();
    }
  }
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  ask.send(event.altKey ? override(ui.verdict?.planned ?? true) : "auto");
}

function accept(panel: Panel, item: CompletionItem, ask: { typed(area: HTMLTextAreaElement): void }): void {
  const [from, to] = item.replace;
  const area = document.querySelector<HTMLTextAreaElement>("#request");
  if (area === null) return;
  const goesOn = item.kind === "folder";
  const space = goesOn || /^\s/.test(panel.ui.draft.slice(to)) ? "" : " ";
  const inserted = item.insertText + space;
  panel.ui.draft = panel.ui.draft.slice(0, from) + inserted + panel.ui.draft.slice(to);
  panel.update((view) => (view.suggestions = []));
  area.value = panel.ui.draft;
  area.setSelectionRange(from + inserted.length, from + inserted.length);
  area.focus();
  if (goesOn) ask.typed(area);
}

