// What was sent before, for the arrow keys in the composer.

/** How many texts are kept. */
const KEPT = 50;

/** The texts that were sent, the latest last, and which of them the composer shows. */
export interface History {
  readonly sent: readonly string[];
  readonly shown?: number | undefined;
}

/** The history after a text was sent; one that was sent before moves to the end. */
export function remembered({ sent }: History, text: string): History {
  const trimmed = text.trim();
  return trimmed === "" ? { sent } : { sent: [...sent.filter((each) => each !== trimmed), trimmed].slice(-KEPT) };
}

/**
 * The text before (`by` -1) or after (1) the one that is shown, and the history that shows it; undefined if the key is
 * an ordinary one: the draft is the user's own, or there is nothing further back.
 */
export function recalled(history: History, draft: string, by: -1 | 1): { history: History; draft: string } | undefined {
  const { sent, shown } = history;
  const isShown = shown !== undefined && sent[shown] === draft;
  if (!isShown && (draft !== "" || by === 1)) return undefined;
  const next = (isShown ? shown : sent.length) + by;
  if (next < 0 || sent.length === 0) return undefined;
  const text = sent[next];
  return text === undefined ? { history: { sent }, draft: "" } : { history: { sent, shown: next }, draft: text };
}
