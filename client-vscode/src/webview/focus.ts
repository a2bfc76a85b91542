// Keeps the focus in the panel when what had it goes away: a card that is answered, a form that closes, a step that is removed.

interface Focused {
  readonly element: Element;
  /** Where it was: in a card, or in the row of a step, by its place. */
  readonly inCard: boolean;
  readonly row: number;
}

/** What has the focus in the panel, before it is drawn anew. */
export function focused(root: ParentNode & Node): Focused | undefined {
  const { activeElement: element } = document;
  if (element === null || element === document.body || !root.contains(element)) return undefined;
  const step = element.closest(".steps > li");
  const row = step === null ? -1 : [...(step.parentElement?.children ?? [])].indexOf(step);
  return { element, inCard: element.closest(".card") !== null, row };
}

/** If what had the focus is gone, give it to what stands in its place: the next card, the row, else the plan's head. */
export function keepFocus(root: ParentNode & Node, before: Focused | undefined): void {
  if (before === undefined || root.contains(before.element)) return;
  const rows = root.querySelectorAll<HTMLElement>(".steps > li .step-row");
  const next =
    (before.inCard ? root.querySelector<HTMLElement>(".cards .card h3") : null) ??
    (before.row < 0 ? null : (rows[Math.min(before.row, rows.length - 1)] ?? null)) ??
    root.querySelector<HTMLElement>("h1");
  if (next === null) return;
  // A heading is no tab stop, and no key that was meant for what was there before answers it.
  if (/^h\d$/i.test(next.tagName)) next.tabIndex = -1;
  next.focus();
}
