// The changed lines of a file in its approval's card, each hunk with a box that leaves it out.

import { html } from "lit";
import { when } from "lit/directives/when.js";

import type { ShownProposal } from "../../panel/messages";
import type { Approval, ApprovalFile } from "../../protocol";
import { hunksOf, withoutHunks } from "../../text/lineDiff";
import { t } from "../../words";
import type { PlanForms } from "../planForms";
import { inlineDiff } from "../text/inlineDiff";
import { asking, icon, type Panel, type View } from "../ui";
import { diffKey, isLong } from "./unseen";

/** The most lines that the card draws; what has more is read in the editor. */
const MOST_LINES = 400;

/** Whether the lines of a file can be shown in the card. */
export function hasLines({ change }: ApprovalFile): boolean {
  return change === "edit" || change === "create";
}

/** Whether the lines of a file are shown: those of a single file are, unless there are many, until the user decides. */
export function isShown({ diffs }: PlanForms, { approvalId, files }: Approval, file: ApprovalFile): boolean {
  return hasLines(file) && (diffs[diffKey(approvalId, file.uri)] ?? (files.length === 1 && !isLong(file)));
}

/** How many hunks of the files are taken, of how many; undefined if none is left out. */
export function takenHunks(
  panel: Panel,
  { approvalId, files }: Approval,
  leftOut: readonly string[],
): { taken: number; all: number } | undefined {
  const known = files
    .filter((file) => !leftOut.includes(file.uri))
    .map((file) => panel.ui.proposals[diffKey(approvalId, file.uri)]);
  const left = known.reduce(
    (sum, each) => sum + (each === undefined || each.left.length === 0 || isRewritten(each) ? 0 : each.left.length),
    0,
  );
  if (left === 0) return undefined;
  // A file whose lines were not looked at counts as one change.
  const all = known.reduce((sum, each) => sum + (each?.proposed == null ? 1 : hunksOfProposal(each).length), 0);
  return { taken: all - left, all };
}

export function fileChanges(panel: Panel, { approvalId }: Approval, { uri }: ApprovalFile): View {
  const proposal = panel.ui.proposals[diffKey(approvalId, uri)];
  return html`<div class="file-changes" data-asks=${asking({ kind: "preview", approvalId, uri })} data-uri=${uri}>
    ${proposal === undefined ? html`<p class="quiet">${icon("loading")} ${t("Reading the changes…")}</p>` : lines(panel, proposal)}
  </div>`;
}

function lines(panel: Panel, proposal: ShownProposal): View {
  const { approvalId, uri, now, proposed, text, left } = proposal;
  if (proposed === null)
    return html`<p class="warn">${icon("git-merge")} ${t("Your typing overlaps with this change. Apply asks which text stays.")}</p>`;
  const ending = html`<span class="end" data-end=${diffKey(approvalId, uri)}></span>`;
  const options = { limit: MOST_LINES, ending };
  if (isRewritten(proposal))
    return html`<p class="quiet">${icon("edit")} ${t("With what you changed in the editor:")}</p>
      ${inlineDiff(now, text, options)}`;
  const hunks = hunksOfProposal(proposal);
  if (hunks.length < 2 && left.length === 0) return inlineDiff(now, proposed, options);
  const toggle = (place: number) => () =>
    panel.post({
      kind: "leaveOut",
      approvalId,
      uri,
      hunks: left.includes(place) ? left.filter((each) => each !== place) : [...left, place],
    });
  return inlineDiff(now, proposed, {
    ...options,
    isLeft: (place) => left.includes(place),
    heading: (_, place) => html`<label class="hunk-choice"
      ><input type="checkbox" .checked=${!left.includes(place)} @change=${toggle(place)} />
      ${t("Change {0} of {1}", place + 1, hunks.length)}${when(left.includes(place), () => html`<span class="quiet"> · ${t("left out")}</span>`)}</label
    >`,
  });
}

function hunksOfProposal({ now, proposed }: ShownProposal): ReturnType<typeof hunksOf> {
  return hunksOf(now ?? "", proposed ?? "");
}

/** Whether the text differs from the one that the boxes produce. */
function isRewritten({ now, proposed, text, left }: ShownProposal): boolean {
  return proposed !== null && text !== withoutHunks(now ?? "", proposed, left);
}

/** Whether the user would allow another text than the proposed one. */
export function isEdited(panel: Panel, { approvalId, files }: Approval): boolean {
  return files.some(({ uri }) => {
    const proposal = panel.ui.proposals[diffKey(approvalId, uri)];
    return proposal !== undefined && proposal.proposed !== null && proposal.text !== proposal.proposed;
  });
}

/** Whether nothing of a file is taken. */
export function isAllLeft(panel: Panel, { approvalId }: Approval, { uri }: ApprovalFile): boolean {
  const proposal = panel.ui.proposals[diffKey(approvalId, uri)];
  return proposal !== undefined && proposal.left.length > 0 && proposal.text === (proposal.now ?? "");
}
