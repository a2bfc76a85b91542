// Templates in the composer: those that a `/` finds, and what is typed into the form of one.

import type { ReferenceItem, Template, TemplatePreviewResult } from "../../protocol";

/** An entry of the list behind the caret: a reference, or a template. */
export type Suggestion = ReferenceItem | { kind: "template"; label: string; detail: string; template: Template };

/** The template whose form is open, what is typed into it, and what the server says of that. */
export interface TemplateForm {
  readonly template: Template;
  readonly values: Readonly<Record<string, string>>;
  /** Counts changes of the values: a preview of older ones is ignored. */
  readonly typing: number;
  readonly preview?: TemplatePreviewResult | undefined;
}

/** What is typed behind a slash that begins the draft; undefined if the draft is no search for a template. */
export function templateSearch(draft: string): string | undefined {
  return /^\/([\p{L}\p{N} _-]{0,60})$/u.exec(draft)?.[1];
}

/** The templates whose name or description has every typed word. */
export function templatesFor(search: string, templates: readonly Template[]): readonly Suggestion[] {
  const words = search.toLowerCase().split(/\s+/);
  return templates
    .filter(({ name, description = "" }) =>
      words.every((word) => `${name} ${description}`.toLowerCase().includes(word)),
    )
    .map((template) => ({ kind: "template", label: template.name, detail: template.description ?? "", template }));
}

/** The values that are sent: a field that is left empty stands for the parameter's default. */
export function filledValues({ values }: TemplateForm): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ""));
}

/** The text of the request that a template stands for. */
export function requestOf(form: TemplateForm): string {
  const lines = Object.entries(filledValues(form)).map(([name, value]) => `${name}: ${value}`);
  return [form.template.name, ...lines].join("\n");
}
