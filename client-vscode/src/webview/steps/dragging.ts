// Steps are moved by dragging their rows: the row under the pointer shows on which side the step would come to stand.

const STEP = "application/x-planloom-step";
type Side = "above" | "below";

/** The step after which a dragged one is put: null for the first place, undefined if it would not move. */
export function placeOf(
  ids: readonly string[],
  dragged: string,
  target: string,
  side: Side,
): string | null | undefined {
  const others = ids.filter((each) => each !== dragged);
  const at = others.indexOf(target);
  if (at < 0 || !ids.includes(dragged)) return undefined;
  const place = side === "below" ? at + 1 : at;
  return place === ids.indexOf(dragged) ? undefined : (others[place - 1] ?? null);
}

/** Begin to drag the row of a step. */
export function dragged(event: DragEvent, stepId: string): void {
  event.dataTransfer?.setData(STEP, stepId);
  if (event.dataTransfer !== null) event.dataTransfer.effectAllowed = "move";
}

/** A step is dragged over a row. */
export function draggedOver(event: DragEvent): void {
  if (event.dataTransfer?.types.includes(STEP) !== true) return;
  event.preventDefault();
  rowOf(event)?.setAttribute("data-drop", sideOf(event));
}

/** A step is dragged away from a row. */
export function draggedAway(event: DragEvent): void {
  rowOf(event)?.removeAttribute("data-drop");
}

/** A step is dropped on the row of another. Calls `move` with the step and the one after which it is put. */
export function dropped(
  event: DragEvent,
  ids: readonly string[],
  target: string,
  move: (stepId: string, after: string | null) => void,
): void {
  draggedAway(event);
  const stepId = event.dataTransfer?.getData(STEP) ?? "";
  const after = placeOf(ids, stepId, target, sideOf(event));
  if (stepId !== "") event.preventDefault();
  if (after !== undefined) move(stepId, after);
}

function rowOf(event: DragEvent): HTMLElement | null {
  return event.currentTarget instanceof HTMLElement ? event.currentTarget : null;
}

function sideOf(event: DragEvent): Side {
  const box = rowOf(event)?.getBoundingClientRect();
  return box !== undefined && event.clientY > box.top + box.height / 2 ? "below" : "above";
}
