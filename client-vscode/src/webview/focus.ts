// Keeps the focus in the panel when what had it is answered and goes away.

/** The card that holds the focus. */
export function focusedCard(root: ParentNode & Node): Element | undefined {
  const { activeElement } = document;
  return activeElement !== null && root.contains(activeElement)
    ? (activeElement.closest(".card") ?? undefined)
    : undefined;
}

/** If the card that held the focus is gone, move the focus to the next card, else to the plan's request. */
export function keepFocus(root: ParentNode & Node, before: Element | undefined): void {
  if (before === undefined || root.contains(before)) return;
  const next = root.querySelector<HTMLElement>(".cards .card h3") ?? root.querySelector<HTMLElement>("h1");
  if (next === null) return;
  // A heading is no tab stop, and no key that was meant for the card before answers this one.
  next.tabIndex = -1;
  next.focus();
}
