// What the panel holds besides the plan: what is open, being typed, or waiting for an answer of the extension.

import { html, nothing, type TemplateResult } from "lit";

import type { FromPanel, ServerState } from "../messages";
import type { CompletionItem, Detection, Review } from "../protocol";
import { pieces, plain } from "./marks";

export type View = TemplateResult | typeof nothing;

/** A step being written: an existing one, or a new one after another. */
export type StepDraft = {
  target: { kind: "existing"; stepId: string } | { kind: "new"; after: string | null };
  description: string;
  instruction: string;
  tool: string;
  args: string;
  dependsOn: readonly string[];
  agent: string;
  critical: boolean;
  problem?: string | undefined;
};

export interface Notice {
  level: "info" | "warning" | "error";
  message: string;
  hint?: string;
}

export interface Ui {
  server: ServerState;
  draft: string;
  verdict?: Detection;
  suggestions: readonly CompletionItem[];
  suggestion: number;
  open: Set<string>;
  step?: StepDraft;
  prompt?: { kind: "reject" | "regenerate"; text: string };
  review: Review;
  skips: Map<string, string>;
  leftOut: Map<string, ReadonlySet<string>>;
  answers: Map<string, string>;
  retryArgs: Map<string, string>;
  choices: Map<string, "mine" | "theirs">;
  armed: Set<string>;
  notices: readonly Notice[];
  wholeRequest: boolean;
  now: number;
}

/** What a part of the panel may do: change the view state, ask the extension, draw again. */
export interface Panel {
  readonly ui: Ui;
  post(message: FromPanel): void;
  update(change?: (ui: Ui) => void): void;
}

export function freshUi(draft: string): Ui {
  return {
    server: { kind: "starting", detail: "Starting the server…" },
    draft,
    suggestions: [],
    suggestion: 0,
    open: new Set(),
    review: "each",
    skips: new Map(),
    leftOut: new Map(),
    answers: new Map(),
    retryArgs: new Map(),
    choices: new Map(),
    armed: new Set(),
    notices: [],
    wholeRequest: false,
    now: Date.now(),
  };
}

/** Text as text nodes, its hidden characters as visible marks. */
export function shown(text: string | null | undefined): View {
  if (text == null || text === "") return nothing;
  const parts = pieces(text);
  return html`${parts.map((piece) =>
    piece.kind === "text" ? piece.text : html`<span class="mark" title=${piece.name} role="img" aria-label=${`hidden: ${piece.name}`}>${piece.label}</span>`,
  )}`;
}

/** A codicon; it says nothing to a screen reader unless it is given a label. */
export function icon(name: string, label?: string, classes = ""): View {
  const spin = name === "loading" ? "codicon-modifier-spin" : "";
  return label === undefined
    ? html`<span class="codicon codicon-${name} ${spin} ${classes}" aria-hidden="true"></span>`
    : html`<span class="codicon codicon-${name} ${spin} ${classes}" role="img" aria-label=${label} title=${label}></span>`;
}

/** A small button that is only an icon. */
export function iconButton(name: string, label: string, click: () => void, disabled = false): View {
  return html`<button class="icon-button" type="button" title=${plain(label)} aria-label=${plain(label)} ?disabled=${disabled} @click=${(event: Event) => {
    event.stopPropagation();
    click();
  }}>${icon(name)}</button>`;
}

/** Put the caret into what the next frame draws. */
export function focusSoon(selector: string): void {
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus()));
}

/** The text that a field of the elements holds now. */
export function valueOf(event: Event): string {
  const { target } = event;
  return target !== null && "value" in target && typeof target.value === "string" ? target.value : "";
}
