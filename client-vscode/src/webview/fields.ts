// The controls of the panel's forms. Each has its label for screen readers, and reports what is typed or chosen in it.

import { html, nothing } from "lit";

import { t } from "../words";
import type { Form } from "./planForms";
import { type ButtonOptions, button, fieldValue, type Panel, type View } from "./ui";
import { isBusy } from "./uiState";

interface Options {
  id?: string;
  classes?: string;
  placeholder?: string;
  title?: string;
  invalid?: boolean;
  inputmode?: "decimal" | "text";
  keydown?: (event: KeyboardEvent) => unknown;
}

/** A field of one line. */
export function textField(label: string, value: string, write: (text: string) => void, options: Options = {}): View {
  return html`<vscode-textfield
    id=${options.id ?? nothing}
    class=${options.classes ?? nothing}
    .label=${label}
    placeholder=${options.placeholder ?? ""}
    inputmode=${options.inputmode ?? nothing}
    .value=${value}
    ?invalid=${options.invalid ?? false}
    @input=${(event: Event) => write(fieldValue(event))}
    @keydown=${options.keydown ?? nothing}
  ></vscode-textfield>`;
}

/** A field of several lines, which `monospace` are in the type of the editor. */
export function textArea(
  label: string,
  value: string,
  write: (text: string) => void,
  options: Options & { rows?: number; monospace?: boolean } = {},
): View {
  return html`<vscode-textarea
    id=${options.id ?? nothing}
    class=${options.classes ?? nothing}
    .label=${label}
    placeholder=${options.placeholder ?? nothing}
    rows=${options.rows ?? 3}
    ?monospace=${options.monospace ?? false}
    resize="vertical"
    .value=${value}
    @input=${(event: Event) => write(fieldValue(event))}
    @keydown=${options.keydown ?? nothing}
  ></vscode-textarea>`;
}

/** A list to choose one of; each option is its value with its words. */
export function select(
  label: string,
  all: readonly (readonly [string, View | string])[],
  chosen: string,
  choose: (value: string) => void,
  { id, title }: Options = {},
): View {
  return html`<vscode-single-select
    id=${id ?? nothing}
    title=${title ?? nothing}
    .label=${label}
    .value=${chosen}
    @change=${(event: Event) => choose(fieldValue(event))}
  >
    ${all.map(([value, words]) => html`<vscode-option value=${value} ?selected=${value === chosen}>${words}</vscode-option>`)}
  </vscode-single-select>`;
}

/** A control below the words for it. */
export function below(id: string, words: View | string, control: View): View {
  return html`<label for=${id}>${words}</label>${control}`;
}

/** The form of one text of a plan: what is written, sent and said in it. `note` stands below the text, `more` behind the buttons. */
interface TextForm {
  label: string;
  area: Options & { rows?: number; monospace?: boolean };
  note?: View;
  button: string;
  look: ButtonOptions;
  more?: View;
  send(text: string): void;
}

/** A text that is written before a decision is sent; Back and Escape leave it. */
export function textForm(panel: Panel, planId: string, form: Form, { label, area, note, more, ...of }: TextForm): View {
  const text = () => panel.forms(planId).texts[form] ?? "";
  const write = (typed: string) => panel.change(planId, (forms) => (forms.texts[form] = typed));
  const leave = () => panel.change(planId, (forms) => delete forms.texts[form]);
  const send = () => of.send(text());
  const look = { ...of.look, disabled: of.look.disabled === true || isBusy(panel.ui, planId, form) };
  return html`<div class="prompt">
    ${textArea(label, text(), write, { ...area, keydown: formKeys(leave, send) })} ${note ?? nothing}
    <div class="actions">${button(of.button, send, look)} ${button(t("Back"), leave, { secondary: true })} ${more ?? nothing}</div>
  </div>`;
}

/** What the keys of a form do: Escape leaves it, Enter with Ctrl sends it. */
export function formKeys(leave: () => void, send: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key === "Escape") leave();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
  };
}
