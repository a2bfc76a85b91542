// The field in which the user writes: to the displayed plan, or a new request. It completes @references, and shows
// what becomes of the text.

import { html, nothing } from "lit";
import { classMap } from "lit/directives/class-map.js";
import { live } from "lit/directives/live.js";

import type { Mode } from "../../panel/messages";
import type { PlanView } from "../../plan/views";
import { t } from "../../words";
import { button, focusSoon, icon, iconButton, linkButton, menu, type Panel, shown, type View } from "../ui";
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
      ${current === undefined ? nothing : recipient(panel)} ${templateForm(panel, ui.form)}
    </section>`;
  return html`
    <section class="composer ${compact ? "compact" : ""}" aria-label=${to === undefined ? t("New request") : t("To this plan")}>
      ${current === undefined || to !== undefined ? nothing : recipient(panel)} ${images(panel)}
      <div
        class="composer-box"
        id=${to === undefined ? "to-new" : "to-plan"}
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
        ${compact ? iconButton("add", t("New request"), () => asNew(panel, true)) : nothing}
      </div>
      ${compact ? nothing : html`<div class="composer-row">${to === undefined ? verdict(panel) : saying(panel, to)}</div>`}
    </section>
  `;
}

/** Whether a new request is written although a plan is displayed. */
function asNew(panel: Panel, asNew: boolean): void {
  panel.update((ui) => ({ ...ui, asNew }));
  focusSoon("#request");
}

/** That a new request is written, and the way back to the plan. */
function recipient(panel: Panel): View {
  return html`<div class="recipient" id="recipient">
    <b class="grow">${t("New request")}</b>
    ${linkButton(t("To the displayed plan"), () => asNew(panel, false), { id: "recipient-other" })}
  </div>`;
}

/** What becomes of a message to the plan, and its button; the other way is in the menu. */
function saying(panel: Panel, to: PlanView): View {
  const { ui } = panel;
  const ready = ui.draft.trim() !== "" && canSend(ui);
  const other = {
    label: t("As a new request"),
    hint: t("Alt+Enter"),
    id: "as-new",
    act: () => send(panel, ui.mode),
    disabled: !ready,
  };
  return html`
    ${menu("ways", icon("chevron-down"), [other], { classes: "icon-button", ariaLabel: t("Other ways to send") })}
    <span class="hint" id="verdict" aria-live="polite" title=${to.messageField.hint}>${
      isSending(ui) ? html`${icon("loading")} ${t("Sending…")}` : to.messageField.hint
    }</span>
    ${sendButton(to.messageField.button, () => say(panel, to), ready)}
  `;
}

function sendButton(label: string, click: () => void, ready: boolean): View {
  return button(label, click, { id: "send", disabled: !ready, title: t("Enter") });
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

/** What becomes of a new request, its button, and in a menu the mode and the other way. */
function verdict(panel: Panel): View {
  const { ui } = panel;
  const choice = choiceOf(ui.mode);
  const ready = ui.draft.trim() !== "" && canSend(ui);
  const known = ui.verdict?.typing === ui.typing ? ui.verdict : undefined;
  const planned = ui.mode === "auto" ? known?.planned : ui.mode !== "direct";
  const other = otherWay(ui.mode, ui.verdict, ui.typing);
  const items = [
    ...CHOICES.map(({ mode, label, hint }) => ({
      label: label(),
      hint: hint(),
      checked: mode === ui.mode,
      act: () => chooseMode(panel, mode),
    })),
    {
      label: other === undefined ? t("The other way") : other === "direct" ? t("Run directly") : t("Plan first"),
      hint: t("Alt+Enter"),
      id: "override",
      act: () => sendOtherWay(panel),
      disabled: !ready,
    },
  ];
  return html`
    ${menu("mode", html`${choice.label()}${icon("chevron-down")}`, items, {
      title: `${choice.hint()} ${t("Shift+Tab in the text chooses the next mode.")}`,
    })}
    <span class="hint" aria-live="polite">${whatHappens(panel)}</span>
    ${sendButton(planned === undefined ? t("Send") : planned ? t("Plan") : t("Run"), () => send(panel, ui.mode), ready)}
  `;
}

function whatHappens(panel: Panel): View {
  const { ui } = panel;
  if (isSending(ui)) return html`${icon("loading")} ${t("Sending…")}`;
  if (ui.draft.trim() === "") return nothing;
  if (ui.mode !== "auto")
    return html`<span id="verdict" data-planned=${ui.mode !== "direct"}>${choiceOf(ui.mode).hint()}</span>`;
  if (ui.verdict?.typing !== ui.typing)
    return ui.sendsOtherWay ? html`${t("Sending once it is known what would happen…")}` : nothing;
  const { planned, detection } = ui.verdict;
  return html`<span id="verdict" data-planned=${planned} title=${detection.words}
    >${planned ? t("Will be planned") : t("Runs directly")}${detection.ambiguous ? ` (${t("not sure")})` : ""} · ${shown(detection.words)}</span
  >`;
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
  if (event.key !== "Enter" || event.shiftKey || (ui.draft === "" && (event.ctrlKey || event.metaKey))) return;
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
