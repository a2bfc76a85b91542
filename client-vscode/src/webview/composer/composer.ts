// The field in which the user writes: to the displayed plan, or a new request. It completes @references, and shows
// what becomes of the text.

import { html, nothing } from "lit";
import { classMap } from "lit/directives/class-map.js";
import { live } from "lit/directives/live.js";

import type { Mode } from "../../panel/messages";
import type { PlanView } from "../../plan/views";
import { t } from "../../words";
import { select } from "../fields";
import { button, focusSoon, icon, linkButton, type Panel, phrase, shown, type View } from "../ui";
import { canSend, isSending, withMode, withRecalled, withTemplate } from "../uiState";
import { dropped, images, isForComposer, pasteImages } from "./images";
import { CHOICES, choiceOf, nextMode, otherWay } from "./mode";
import { templateForm } from "./templateForm";
import type { Suggestion } from "./templates";

const KIND_ICON: Readonly<Record<Suggestion["kind"], string>> = {
  template: "notebook-template",
  file: "file",
  folder: "folder",
  symbol: "symbol-method",
  special: "sparkle",
};

/** The plan that gets what is written; undefined for a new request. */
function addressee(panel: Panel, current: PlanView | undefined): PlanView | undefined {
  return panel.ui.asNew ? undefined : current;
}

/** The `@reference` that ends at the caret, if there is one. */
export function referenceBefore(text: string, caret: number): string | undefined {
  const before = text.slice(Math.max(0, caret - 300), caret);
  return /(?:^|[\s([{"'`])(@(?:"[^"\n]*|[^\s"@]*))$/.exec(before)?.[1];
}

/** What the page does for the composer: keep a changed text, and look for completions at the caret. */
interface Asks {
  write(text: string, caret: number): void;
  complete(text: string, caret: number): void;
}

export function composer(panel: Panel, current: PlanView | undefined, ask: Asks): View {
  const { ui } = panel;
  const open = ui.suggestions.length > 0;
  const compact = current !== undefined && ui.draft === "" && ui.images.length === 0;
  const to = addressee(panel, current);
  if (ui.form !== undefined && to === undefined)
    return html`<section class="composer" aria-label=${t("New request")}>
      ${current === undefined ? nothing : recipient(panel, current)} ${templateForm(panel, ui.form)}
    </section>`;
  return html`
    <section class="composer ${compact ? "compact" : ""}" aria-label=${to === undefined ? t("New request") : t("To this plan")}>
      ${current === undefined ? nothing : recipient(panel, current)}
      <div
        class="composer-box"
        @dragover=${(event: DragEvent) => {
          if (isForComposer(event.dataTransfer)) event.preventDefault();
        }}
        @drop=${(event: DragEvent) => {
          if (!isForComposer(event.dataTransfer)) return;
          event.preventDefault();
          dropped(panel, event.dataTransfer);
        }}
      >
        <textarea
          id="request"
          rows=${compact ? 1 : 3}
          .value=${live(ui.draft)}
          ?readonly=${isSending(ui)}
          placeholder=${to === undefined ? t("What should be done? Type @ to attach a file, / for a template.") : to.messageField.placeholder}
          aria-label=${to === undefined ? t("Describe a task") : to.messageField.placeholder}
          role="combobox"
          aria-autocomplete="list"
          aria-expanded=${open}
          aria-controls="suggestions"
          aria-activedescendant=${open ? `suggestion-${ui.suggestion}` : nothing}
          @input=${(event: InputEvent) => withCaret(event, ask.write)}
          @blur=${() => panel.update((now) => (now.suggestions.length === 0 ? now : { ...now, suggestions: [] }))}
          @paste=${(event: ClipboardEvent) => {
            if (pasteImages(panel, event.clipboardData)) event.preventDefault();
          }}
          @click=${(event: MouseEvent) => withCaret(event, ask.complete)}
          @keydown=${(event: KeyboardEvent) => onKey(panel, to, event, ask)}
        ></textarea>
        ${open ? suggestions(panel, ask) : nothing}
      </div>
      ${images(panel)}
      ${compact ? nothing : to === undefined ? verdict(panel) : saying(panel, to)}
    </section>
  `;
}

/** Who gets what is written, and the way to the other one. */
function recipient(panel: Panel, { plan: current }: PlanView): View {
  const { asNew } = panel.ui;
  const other = () => panel.update((ui) => ({ ...ui, asNew: !asNew }));
  return html`<div class="recipient" id="recipient" data-to=${asNew ? "new" : "plan"}>
    ${icon(asNew ? "add" : "reply")}
    <span class="to">${asNew ? html`<b>${t("New request")}</b>` : phrase("To {0}", html`<b>${shown(current.request)}</b>`)}</span>
    ${linkButton(asNew ? t("To the displayed plan") : t("New request instead"), other, { id: "recipient-other" })}
  </div>`;
}

/** What becomes of a message to the plan, and its button. */
function saying(panel: Panel, to: PlanView): View {
  const { ui } = panel;
  const ready = ui.draft.trim() !== "" && canSend(ui);
  return html`
    <div class="verdict" aria-live="polite">
      <span class="hint" id="verdict">${
        isSending(ui) ? html`${icon("loading")} ${t("Sending…")}` : html`${icon("comment")} ${to.messageField.hint}`
      }</span>
    </div>
    <div class="actions">
      ${sendButton(to.messageField.button, () => say(panel, to), ready)}
      ${button(html`${t("As a new request")} <kbd>Alt ⏎</kbd>`, () => send(panel, ui.mode), {
        id: "as-new",
        secondary: true,
        disabled: !ready,
        title: t("Alt+Enter: a plan of its own"),
      })}
    </div>
  `;
}

function sendButton(label: string, click: () => void, ready: boolean): View {
  return button(html`${label} <kbd>⏎</kbd>`, click, { id: "send", disabled: !ready, title: t("Enter") });
}

function say(panel: Panel, { plan }: PlanView): void {
  panel.create({ kind: "message", planId: plan.planId, text: panel.ui.draft });
}

function withCaret(event: Event, then: (text: string, caret: number) => void): void {
  if (event.target instanceof HTMLTextAreaElement) then(event.target.value, event.target.selectionStart);
}

function send(panel: Panel, mode: Mode): void {
  panel.create({ kind: "create", text: panel.ui.draft, mode });
}

function suggestions(panel: Panel, ask: Asks): View {
  const { ui } = panel;
  return html`<ul id="suggestions" role="listbox" aria-label=${t("Files and references")}>
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

/** What becomes of a new request, its buttons, and the mode. */
function verdict(panel: Panel): View {
  const { ui } = panel;
  const choice = choiceOf(ui.mode);
  const ready = ui.draft.trim() !== "" && canSend(ui);
  const known = ui.verdict?.typing === ui.typing ? ui.verdict : undefined;
  const planned = ui.mode === "auto" ? known?.planned : ui.mode !== "direct";
  const other = otherWay(ui.mode, ui.verdict, ui.typing);
  const otherWords =
    other === undefined ? t("The other way") : other === "direct" ? t("Run directly") : t("Plan first");
  const modes = CHOICES.map(({ mode, label }) => [mode, label()] as const);
  return html`
    <div class="verdict" aria-live="polite">${whatHappens(panel)}</div>
    <div class="actions">
      ${sendButton(planned === undefined ? t("Send") : planned ? t("Plan") : t("Run"), () => send(panel, ui.mode), ready)}
      ${button(html`${otherWords} <kbd>Alt ⏎</kbd>`, () => sendOtherWay(panel), {
        id: "override",
        secondary: true,
        disabled: !ready,
        title: t("Alt+Enter: the other way"),
      })}
      ${select(t("Mode"), modes, ui.mode, (mode) => chooseMode(panel, choiceOf(mode as Mode).mode), {
        id: "mode",
        title: `${choice.hint()} ${t("Shift+Tab in the text chooses the next mode.")}`,
      })}
    </div>
  `;
}

function whatHappens(panel: Panel): View {
  const { ui } = panel;
  const choice = choiceOf(ui.mode);
  if (isSending(ui)) return html`<span class="hint">${icon("loading")} ${t("Sending…")}</span>`;
  if (ui.draft.trim() === "") return html`<span class="hint">${icon("lightbulb")} ${choice.hint()}</span>`;
  if (ui.mode !== "auto")
    return html`<span class="hint" id="verdict" data-planned=${ui.mode !== "direct"}
      >${icon(choice.icon)} ${choice.hint()}</span
    >`;
  if (ui.verdict?.typing !== ui.typing)
    return html`<span class="hint">${icon("ellipsis")} ${ui.sendsOtherWay ? t("Sending once it is known what would happen…") : ""}</span>`;
  const { planned, detection } = ui.verdict;
  return html`<span class="hint" id="verdict" data-planned=${planned}>
    ${icon(planned ? "checklist" : "zap")}
    <b>${planned ? t("Will be planned") : t("Runs directly")}</b>${detection.ambiguous ? ` (${t("not sure")})` : ""} ·
    ${shown(detection.words)}
  </span>`;
}

function chooseMode(panel: Panel, mode: Mode): void {
  panel.update((ui) => withMode(ui, mode));
  panel.post({ kind: "mode", mode });
}

/** Send the request the other way; if the verdict on this very text is not known yet, once it is. */
function sendOtherWay(panel: Panel): void {
  const { ui } = panel;
  const mode = otherWay(ui.mode, ui.verdict, ui.typing);
  if (mode !== undefined) send(panel, mode);
  else if (ui.draft.trim() !== "" && !isSending(ui)) panel.update((view) => ({ ...view, sendsOtherWay: true }));
}

/** Send what was waiting for its verdict. The page calls it after each message of the extension. */
export function sendWhatWaited(panel: Panel): void {
  const { ui } = panel;
  if (!ui.sendsOtherWay || !canSend(ui)) return;
  const mode = otherWay(ui.mode, ui.verdict, ui.typing);
  if (mode === undefined) return;
  panel.update((view) => ({ ...view, sendsOtherWay: false }));
  send(panel, mode);
}

function onKey(panel: Panel, to: PlanView | undefined, event: KeyboardEvent, ask: Asks): void {
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
  if (event.key === "Tab" && event.shiftKey && to === undefined) {
    event.preventDefault();
    chooseMode(panel, nextMode(ui.mode));
    return;
  }
  if ((event.key === "ArrowUp" || event.key === "ArrowDown") && !event.altKey && !event.shiftKey) {
    if (!atEdge(event)) return;
    const next = withRecalled(ui, event.key === "ArrowUp" ? -1 : 1, Date.now());
    if (next === undefined) return;
    event.preventDefault();
    panel.update(() => next);
    return;
  }
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  if (to !== undefined) {
    if (event.altKey) send(panel, ui.mode);
    else say(panel, to);
    return;
  }
  if (event.altKey) sendOtherWay(panel);
  else send(panel, ui.mode);
}

/** Whether an arrow key would leave the text: the caret is in its first line, or its last one. */
function atEdge({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLTextAreaElement)) return false;
  const { value, selectionStart, selectionEnd } = target;
  return !(key === "ArrowUp" ? value.slice(0, selectionStart) : value.slice(selectionEnd)).includes("\n");
}

function accept(panel: Panel, item: Suggestion, ask: Asks): void {
  if (item.kind === "template") {
    panel.update((ui) => withTemplate(ui, item.template));
    const [first] = item.template.parameters;
    focusSoon(first === undefined ? "#template-send" : `#template-${first.name}`);
    return;
  }
  const [from, to] = item.replace;
  const { draft } = panel.ui;
  const goesOn = item.kind === "folder";
  const inserted = item.insertText + (goesOn || /^\s/.test(draft.slice(to)) ? "" : " ");
  const caret = from + inserted.length;
  ask.write(draft.slice(0, from) + inserted + draft.slice(to), caret);
  panel.update((ui) => ({ ...ui, caret }));
}
