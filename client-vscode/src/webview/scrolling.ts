// Keeps for each plan how far it was scrolled, while another one is displayed and while the page is closed.

/** How long after the last movement the place is saved. */
const SAVE_MS = 150;

/** Keeps the places of what scrolls in the page. `save` stores them; `before` are those that the page before has stored. */
export function scrollKeeper(
  scroller: HTMLElement,
  before: Readonly<Record<string, number>>,
  save: (scrolls: Readonly<Record<string, number>>) => void,
): { show(place: string, waits: Element | null): void } {
  const scrolls: Record<string, number> = { ...before };
  let place = "";
  let moving = false;
  let saving: ReturnType<typeof setTimeout> | undefined;
  const store = (): void => save({ ...scrolls });
  const moveTo = (move: () => void): void => {
    // Until the new content stands, the page moves by itself.
    moving = true;
    requestAnimationFrame(() => {
      move();
      requestAnimationFrame(() => (moving = false));
    });
  };
  scroller.addEventListener(
    "scroll",
    () => {
      if (moving || place === "") return;
      // The last of many is kept longest.
      delete scrolls[place];
      scrolls[place] = Math.round(scroller.scrollTop);
      clearTimeout(saving);
      saving = setTimeout(store, SAVE_MS);
    },
    { passive: true },
  );
  window.addEventListener("pagehide", store);
  return {
    /** After a drawing: go to where this place was left, or to the cards that wait in it. */
    show: (next, waits) => {
      if (waits !== null) moveTo(() => waits.scrollIntoView({ block: "start" }));
      else if (next !== place) moveTo(() => scroller.scrollTo({ top: scrolls[next] ?? 0 }));
      place = next;
    },
  };
}
