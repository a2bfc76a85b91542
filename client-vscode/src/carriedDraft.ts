// Carries what is written in a window without a folder to the window in which a folder is opened for it.

import type { Memento } from "vscode";

const KEY = "planloom.carriedDraft";
/** An older draft is dropped: by then a folder is opened for something else. */
const FRESH_MS = 10 * 60_000;

interface Carried {
  readonly text: string;
  /** When it was left, in milliseconds since 1970. */
  readonly at: number;
}

/** Leave a draft for the window that opens a folder. */
export async function leaveDraft(state: Memento, text: string, now: number): Promise<void> {
  if (text.trim() !== "") await state.update(KEY, { text, at: now } satisfies Carried);
}

/** Take the draft that another window has left, once; undefined if there is none, or an old one. */
export async function takeDraft(state: Memento, now: number): Promise<string | undefined> {
  const carried = state.get<Carried>(KEY);
  if (carried === undefined) return undefined;
  await state.update(KEY, undefined);
  return now - carried.at > FRESH_MS ? undefined : carried.text;
}
