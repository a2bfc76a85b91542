// The card of a conflict: both texts of each overlap, and which of them stays: yours, the plan's, both, or a merge.

import { html, nothing } from "lit";
import { when } from "lit/directives/when.js";

import { type PlanView, stepView } from "../../plan/views";
import type { Conflict, ConflictFile, FileChoice, Plan } from "../../protocol";
import { t } from "../../words";
import { conflictKey } from "../planForms";
import { pathOf, stepPlace } from "../text/format";
import { plain } from "../text/hiddenCharacters";
import { inlineDiff } from "../text/inlineDiff";
import { button, icon, linkButton, type Panel, shown, type View } from "../ui";
import { isBusy } from "../uiState";

const MERGED_LINES = 200;

export function conflictCard(panel: Panel, view: PlanView, conflict: Conflict): View {
  const { plan } = view;
  const { planId } = plan;
  const { editId, stepId } = conflict;
  const form = `conflict ${editId}` as const;
  const files = conflict.files.flatMap((file) => chosen(panel, plan, conflict, file));
  const lost = stepView(view, stepId)?.lost;
  return html`<article class="card conflict" data-edit=${editId}>
    <h3>
      ${icon("git-merge")}<span class="grow">${
        // Changes that are reviewed at the end are those of all steps.
        plan.review === "end"
          ? t("Your typing and the plan overlap")
          : t("Your typing and step {0} overlap", stepPlace(plan, stepId) ?? "")
      }</span>
    </h3>
    <p class="quiet">${t("Nothing was written. Choose which text stays.")}</p>
    ${conflict.files.map((file) => fileOf(panel, plan, conflict, file))}
    ${when(
      lost != null,
      () => html`<p class="warn lost">
        ${icon("warning")} ${t("If you keep only yours, step {0} loses its change.", stepPlace(plan, stepId) ?? "")} ${shown(lost)}
      </p>`,
    )}
    <div class="actions">
      ${button(t("Resolve"), () => panel.decide(planId, "planloom/conflict/resolve", { planId, editId, files }, form), {
        classes: "resolve",
        disabled: files.length < conflict.files.length || isBusy(panel.ui, planId, form),
      })}
    </div>
  </article>`;
}

/** The answer for one file. The hash names the text in which its overlaps were found: what is typed later is merged. */
function chosen(panel: Panel, plan: Plan, { editId }: Conflict, { uri, sha256 }: ConflictFile): FileChoice[] {
  const { choices, merged } = panel.forms(plan.planId);
  const key = conflictKey(editId, uri);
  const choice = choices[key];
  const text = choice === "text" ? merged[key]?.text : undefined;
  if (choice === undefined || (choice === "text" && text === undefined)) return [];
  return [{ uri, choice, ...(text === undefined ? {} : { text }), ...(sha256 ? { sha256 } : {}) }];
}

function fileOf(panel: Panel, plan: Plan, { editId }: Conflict, file: ConflictFile): View {
  const { planId } = plan;
  const { uri, hunks } = file;
  const key = conflictKey(editId, uri);
  const { choices, merged } = panel.forms(planId);
  const ownMerge = merged[key];
  const path = pathOf(uri, plan.workspaceFolders);
  const options: readonly (readonly [FileChoice["choice"], string])[] = [
    ["mine", t("Keep mine")],
    ["theirs", t("Take the plan's")],
    ["both", t("Keep both")],
    ...(ownMerge === undefined ? [] : [["text", t("Take the merged text")] as const]),
  ];
  return html`<section class="conflict-file">
    <button
      class="path"
      type="button"
      @click=${() => panel.post({ kind: "open", uri, line: hunks[0]?.range.start.line ?? 0 })}
    >${shown(path)}</button>
    ${hunks.map(
      (hunk) => html`<div class="hunk">
        <figure class="mine">
          <figcaption>${t("Yours · line {0}", hunk.range.start.line + 1)}</figcaption><pre>${shown(hunk.mine)}</pre>
        </figure>
        <figure class="theirs"><figcaption>${t("The plan's")}</figcaption><pre>${shown(hunk.theirs)}</pre></figure>
      </div>`,
    )}
    <div class="actions" role="radiogroup" aria-label=${plain(t("Which text stays in {0}", path))}>
      ${options.map(
        ([choice, label]) => html`<label class="radio"
          ><input
            type="radio"
            name=${key}
            .checked=${choices[key] === choice}
            @change=${() => panel.change(planId, (forms) => (forms.choices[key] = choice))}
          />
          ${label}</label
        >`,
      )}
      ${linkButton(t("Merge in the editor…"), () => panel.post({ kind: "merge", planId, editId, uri }), {
        icon: "git-merge",
        classes: "merge",
        title: t("Save the merge there, and it can be chosen here"),
      })}
    </div>
    ${when(
      choices[key] === "mine",
      () => html`<p class="quiet">${t("The plan then changes nothing in this file, also where nothing overlaps.")}</p>`,
    )}
    ${
      ownMerge === undefined || choices[key] !== "text"
        ? nothing
        : html`<div class="merged">${inlineDiff(ownMerge.mine, ownMerge.text, { limit: MERGED_LINES })}</div>`
    }
  </section>`;
}
