// The controls of the panel's forms. Each has its label for screen readers, and reports what is typed or chosen in it.

import { html, nothing } from "lit";

import { fieldValue, type View } from "./ui";

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

/** What the keys of a form do: Escape leaves it, Enter with Ctrl sends it. */
export function formKeys(leave: () => void, send: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key === "Escape") leave();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
  };
}
