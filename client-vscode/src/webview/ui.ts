// What all parts of the panel share: access to the state, text, icons, buttons, the caret.

import { html, nothing, type TemplateResult } from "lit";

import type { DecisionMethod, FromPanel } from "../panel/messages";
import type { Requests } from "../protocol";
import { parts, t } from "../words";
import { type Form, formsOf, type PlanForms, withForms } from "./planForms";
import { pieces, plain } from "./text/hiddenCharacters";
import { type Create, created, type Decision, decided, type Ui } from "./uiState";

export type View = TemplateResult | typeof nothing;

/** What a part of the panel may do: read and change the state, send messages to the extension. */
export interface Panel {
  readonly ui: Ui;
  /** Send a message that has no outcome. */
  post(message: FromPanel): void;
  /** Send a decision about a plan; `form` closes once the server has accepted it. */
  decide<M extends DecisionMethod>(planId: string, method: M, params: Requests[M]["params"], form?: Form): void;
  /** Send a request for a plan. */
  create(message: Create): void;
  update(change: (ui: Ui) => Ui): void;
  forms(planId: string): PlanForms;
  change(planId: string, change: (forms: PlanForms) => void): void;
}

/** A panel over the pure state. `changed` is called at every change of it, `post` sends messages to the extension. */
export function createPanel(
  first: Ui,
  host: { post(message: FromPanel): void; changed(before: Ui, now: Ui): void },
): Panel {
  let ui = first;
  const become = (next: Ui): void => {
    const before = ui;
    ui = next;
    if (next !== before) host.changed(before, next);
  };
  const send = (next: { ui: Ui; message?: FromPanel }): void => {
    become(next.ui);
    if (next.message !== undefined) host.post(next.message);
  };
  return {
    get ui() {
      return ui;
    },
    post: (message) => host.post(message),
    decide: (planId, method, params, form) =>
      send(decided(ui, planId, { kind: "decide", method, params } as Decision, form)),
    create: (message) => send(created(ui, message)),
    update: (change) => become(change(ui)),
    forms: (planId) => formsOf(ui, planId),
    change: (planId, change) => become(withForms(ui, planId, change)),
  };
}

/** The attribute `data-asks` of an element for which something must be asked while it is drawn. */
export function asking(message: FromPanel): string {
  return JSON.stringify(message);
}

/** Text as text nodes, with visible marks for its hidden characters. */
export function shown(text: string | null | undefined): View {
  if (text == null || text === "") return nothing;
  const parts = pieces(text);
  return html`${parts.map((piece) =>
    piece.kind === "text"
      ? piece.text
      : html`<span
        class="mark"
        title=${piece.name}
        role="img"
        aria-label=${t("hidden: {0}", piece.name)}
      >${piece.label}</span>`,
  )}`;
}

/** A translated sentence with views at its places `{0}`, `{1}`… */
export function phrase(message: string, ...values: readonly View[]): View {
  return html`${parts(message).map((part) => (typeof part === "string" ? part : (values[part] ?? nothing)))}`;
}

/** A codicon. Screen readers pass over it unless it has a label. */
export function icon(name: string, label?: string, classes = ""): View {
  const spin = name === "loading" ? "codicon-modifier-spin" : "";
  return label === undefined
    ? html`<span class="codicon codicon-${name} ${spin} ${classes}" aria-hidden="true"></span>`
    : html`<span
      class="codicon codicon-${name} ${spin} ${classes}"
      role="img"
      aria-label=${label}
      title=${label}
    ></span>`;
}

/** A small button with an icon. */
export function iconButton(name: string, label: string, click: () => void, disabled = false): View {
  const onClick = (event: Event) => {
    event.stopPropagation();
    click();
  };
  return html`<button
    class="icon-button"
    type="button"
    title=${plain(label)}
    aria-label=${plain(label)}
    ?disabled=${disabled}
    @click=${onClick}
  >${icon(name)}</button>`;
}

export interface ButtonOptions {
  icon?: string;
  classes?: string;
  id?: string;
  title?: string;
  ariaLabel?: string;
  disabled?: boolean;
  /** Whether a button stands beside the main one of its place. */
  secondary?: boolean;
}

/** A button that looks like a link. */
export function linkButton(label: View | string, click: () => void, options: ButtonOptions = {}): View {
  return html`<button
    class="link ${options.classes ?? ""}"
    id=${options.id ?? nothing}
    type="button"
    title=${options.title ?? nothing}
    aria-label=${options.ariaLabel ?? nothing}
    ?disabled=${options.disabled ?? false}
    @click=${click}
  >${options.icon === undefined ? nothing : html`${icon(options.icon)} `}${label}</button>`;
}

/** A button of the editor's look. */
export function button(label: View | string, click: () => void, options: ButtonOptions = {}): View {
  return html`<vscode-button
    class=${options.classes ?? nothing}
    id=${options.id ?? nothing}
    title=${options.title ?? nothing}
    ?secondary=${options.secondary ?? false}
    ?disabled=${options.disabled ?? false}
    aria-disabled=${options.disabled ?? nothing}
    @click=${click}
  >${options.icon === undefined ? nothing : html`${icon(options.icon)} `}${label}</vscode-button>`;
}

export interface MenuItem {
  label: View | string;
  act(): void;
  id?: string;
  /** Stands below the label. */
  hint?: string;
  /** Set for one of several choices: whether it is chosen. */
  checked?: boolean;
  disabled?: boolean;
}

/** A button that opens a menu above everything else; Escape, a choice and a click elsewhere close it. */
export function menu(
  name: string,
  label: View | string,
  items: readonly (MenuItem | undefined)[],
  { classes = "", title, ariaLabel }: ButtonOptions = {},
): View {
  const all = items.filter((each) => each !== undefined);
  if (all.length === 0) return nothing;
  return html`<button
      class="menu-button ${classes}"
      id=${name}
      type="button"
      popovertarget="menu-${name}"
      aria-haspopup="menu"
      title=${title ?? nothing}
      aria-label=${ariaLabel ?? nothing}
    >${label}</button><div
      class="menu"
      id="menu-${name}"
      popover
      role="menu"
      @beforetoggle=${placeMenu}
      @toggle=${focusMenu}
      @keydown=${walkMenu}
    >${all.map(
      ({ label, act, id, hint, checked, disabled = false }) => html`<button
        type="button"
        role=${checked === undefined ? "menuitem" : "menuitemradio"}
        aria-checked=${checked ?? nothing}
        id=${id ?? nothing}
        ?disabled=${disabled}
        @click=${(event: Event) => {
          (event.currentTarget as HTMLElement).closest<HTMLElement>("[popover]")?.hidePopover?.();
          act();
        }}
      >${checked === undefined ? nothing : icon(checked ? "check" : "blank")}<span
        >${label}${hint === undefined ? nothing : html`<span class="quiet">${hint}</span>`}</span
      ></button>`,
    )}</div>`;
}

/** Puts a menu that is about to open at its button, on the side where there is more room. */
function placeMenu({ target }: Event): void {
  const menu = target as HTMLElement;
  const { top, bottom, left, right } = (menu.previousElementSibling as HTMLElement).getBoundingClientRect();
  const [height, width] = [window.innerHeight, window.innerWidth];
  const vertical = bottom < height / 2 ? { top: `${bottom + 2}px` } : { bottom: `${height - top + 2}px` };
  const horizontal = left < width / 2 ? { left: `${left}px` } : { right: `${width - right}px` };
  Object.assign(menu.style, { top: "auto", bottom: "auto", left: "auto", right: "auto", ...vertical, ...horizontal });
}

function focusMenu(event: Event): void {
  const menu = event.target as HTMLElement;
  if ((event as ToggleEvent).newState === "open")
    menu.querySelector<HTMLElement>('[aria-checked="true"], [role^="menuitem"]')?.focus();
}

function walkMenu(event: KeyboardEvent): void {
  const items = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role^="menuitem"]')];
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  const at = items.indexOf(document.activeElement as HTMLElement);
  items[(at + by + items.length) % items.length]?.focus();
}

/** Focus an element that the next frame draws. */
export function focusSoon(selector: string): void {
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus()));
}

/** The text of the field that sent an event. */
export function fieldValue(event: Event): string {
  const { target } = event;
  return target !== null && "value" in target && typeof target.value === "string" ? target.value : "";
}
