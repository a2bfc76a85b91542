// The card of an approval: what it would do, what a command gets, what has not been seen of it, and the answers.

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { when } from "lit/directives/when.js";
import type { PlanView } from "../../plan/views";
import type {
  Approval,
  ApprovalFile,
  ApprovalView,
  Confinement,
  ConfinementOffer,
  Plan,
  PlanChange,
  RespondParams,
} from "../../protocol";
import { plural, t } from "../../words";
import { textForm } from "../fields";
import type { Form } from "../planForms";
import { CHANGE_LETTER, pathOf, stepNumber, stepPlace } from "../text/format";
import { plain } from "../text/hiddenCharacters";
import { button, focusSoon, icon, linkButton, type Panel, phrase, shown, type View } from "../ui";
import { fileChanges, hasLines, isAllLeft, isEdited, isShown, takenHunks } from "./fileChanges";
import { judgement } from "./judgement";
import { diffKey, endKey, isLong, unseenOf } from "./unseen";

const EFFECT_ICON = { read: "edit", write: "edit", destroy: "trash", execute: "terminal", fetch: "globe" } as const;

/** The cards of commands that are asked together, below what answers all of them. */
export function approvalList(panel: Panel, view: PlanView, listed: readonly Approval[]): View {
  const { plan } = view;
  const [first] = listed;
  const listId = first?.listed?.listId ?? "";
  const seenAll = listed.every((each) => unseenOf(each, [], panel.ui.seen) === undefined);
  const all = (decision: "allow" | "deny") => () => {
    for (const each of listed) respond(panel, plan, each, decision);
  };
  return html`<section class="approval-list" data-list=${listId} aria-label=${t("Commands asked together")}>
    <div class="actions" data-arm=${`${listId} list`}>
      <b class="grow">${commandsOf(plan, listed.length, first?.stepId)}</b>
      ${button(t("Run all"), all("allow"), {
        classes: "allow-all",
        disabled: !seenAll || !panel.ui.armed.includes(`${listId} list`),
        ...(seenAll ? {} : { title: t("Not all of them were seen to their end yet") }),
      })}
      ${button(t("Run none"), all("deny"), { classes: "deny-all", secondary: true })}
    </div>
    ${repeat(
      listed,
      (each) => each.approvalId,
      (each) => approvalCard(panel, view, each),
    )}
  </section>`;
}

type Decision = "allow" | "allowForPlan" | "allowInFolder" | "deny";

/** Answer an approval with what was chosen in its card: the files that are not left out, the rights of a command. */
function respond(panel: Panel, plan: Plan, approval: Approval, decision: Decision): void {
  const { approvalId, files } = approval;
  const out = panel.forms(plan.planId).leftOut[approvalId] ?? [];
  const offer = decision === "deny" ? undefined : chosenOffer(panel, plan, approval);
  panel.decide(plan.planId, "planloom/approval/respond", {
    approvalId,
    decision,
    ...(out.length > 0 ? { files: files.filter((file) => !out.includes(file.uri)).map((file) => file.uri) } : {}),
    ...(offer === undefined ? {} : { confinement: withoutWords(offer) }),
  });
}

export function approvalCard(panel: Panel, view: PlanView, approval: Approval): View {
  const { plan } = view;
  const { approvalId, effect } = approval;
  const forms = panel.forms(plan.planId);
  const skipping = forms.texts[`skip ${approvalId}`] !== undefined;
  const planChanges = approval.planChanges ?? [];
  const words = view.approvals?.find((each) => each.approvalId === approvalId);
  if (words === undefined) return nothing;
  const out = forms.leftOut[approvalId] ?? [];
  const armed = panel.ui.armed.includes(approvalId);
  const unseen = unseenOf(approval, out, panel.ui.seen);
  const offer = chosenOffer(panel, plan, approval);
  const allow = (decision: Decision) => () => respond(panel, plan, approval, decision);
  const made = approval.files.filter((file) => !out.includes(file.uri) && !isAllLeft(panel, approval, file));
  const isPossible = armed && (approval.files.length === 0 || made.length > 0);
  const hunks = takenHunks(panel, approval, out);
  const label = hunks === undefined ? words.allow : t("Allow {0} of {1}", hunks.taken, hunks.all);
  return html`<article class="card approval" data-effect=${effect} data-approval=${approvalId}>
    <h3>${icon(approval.goesOn === true ? "pass" : planChanges.length > 0 ? "checklist" : EFFECT_ICON[effect])}<span class="grow">${shown(approval.title)}</span></h3>
    <p class="card-meta">
      <span>${stepNumber(plan, approval.stepId)}</span>
      ${words.danger == null ? nothing : html`<span class="chip risk-${words.danger.tone}">${words.danger.words}</span>`}
      ${approval.protected ? html`<span class="chip risk-high">${icon("lock")}${t("protected file")}</span>` : nothing}
    </p>
    ${when(
      approval.warning != null,
      () => html`<p class="banner warning">${icon("warning")}<span>${shown(approval.warning)}</span></p>`,
    )}
    ${when(
      approval.command != null,
      () => html`<pre class="command" tabindex="0" aria-label=${t("Command")}>${shown(approval.command)}${end(
        endKey(approvalId, "command"),
      )}</pre>
      <p class="quiet">${phrase("in {0}", shown(words.folder))}</p>`,
    )}
    ${confinementOf(panel, plan, approval)}
    ${when(
      approval.url != null,
      () => html`<p>${phrase("from {0}", html`<b class="host">${shown(approval.host ?? "")}</b>`)}</p>
      <pre class="address" aria-label=${t("Address")}>${shown(approval.url)}</pre>`,
    )}
    ${when(
      planChanges.length > 0,
      () => html`<ul class="plan-changes" aria-label=${t("Changes of the plan")}>
        ${planChanges.map(planChangeRow)}
      </ul>${end(endKey(approvalId, "planChanges"))}`,
    )}
    ${when(
      approval.files.length > 0,
      () => html`<ul class="files">
        ${approval.files.map((file, place) => fileRow(panel, plan, approval, file, out, words.kinds[place]))}
      </ul>${end(endKey(approvalId, "files"))}`,
    )}
    ${out.length > 0 || isEdited(panel, approval) ? nothing : judgedOf(panel, approval, words)}
    ${when(approval.files.length > 1, () =>
      linkButton(t("Show all changes"), () => panel.post({ kind: "diff", approvalId }), {
        icon: "diff-multiple",
        classes: "all-changes",
      }),
    )}
    ${
      !skipping
        ? html`<div class="actions" data-arm=${approvalId}>
          ${button(offer === undefined ? label : `${words.allow} ${offer.label}`, allow("allow"), {
            classes: "allow",
            disabled: !isPossible || unseen !== undefined,
            ...(unseen === undefined ? {} : { title: t("Not seen yet: {0}", unseen) }),
          })}
          ${button(words.refuse, () => startSkip(panel, plan, approvalId), { classes: "skip", secondary: true })}
          <span class="grow"></span>
          ${
            words.ahead == null ||
            out.length > 0 ||
            hunks !== undefined ||
            unseen !== undefined ||
            offer?.confined === false
              ? nothing
              : linkButton(t("Allow for this plan"), allow("allowForPlan"), {
                  title: words.ahead,
                  disabled: !armed,
                })
          }
          ${
            words.inFolder == null || unseen !== undefined || offer?.confined === false
              ? nothing
              : linkButton(t("Allow in this folder"), allow("allowInFolder"), {
                  title: words.inFolder,
                  disabled: !armed,
                })
          }
          ${when(unseen, (missed) =>
            linkButton(t("{0} without having seen {1}", words.allow, missed), allow("allow"), {
              classes: "unseen",
              disabled: !isPossible,
            }),
          )}
        </div>`
        : skipForm(panel, plan, words)
    }
  </article>`;
}

/** What language servers say of the changes as they are proposed, which forbids nothing. */
function judgedOf(panel: Panel, { approvalId, files }: Approval, { judged }: ApprovalView): View {
  return judgement(judged, ({ uri, line }) =>
    panel.post(
      files.some((file) => file.uri === uri)
        ? { kind: "diff", approvalId, uri, line: line - 1 }
        : { kind: "open", uri, line: line - 1 },
    ),
  );
}

/** Stands at the end of what may be too long for its place: once it has been in view, all was seen. */
function end(key: string): View {
  return html`<span class="end" data-end=${key}></span>`;
}

/** What the user has chosen for a command instead of what is shown. */
function chosenOffer(panel: Panel, plan: Plan, { approvalId, confinement }: Approval): ConfinementOffer | undefined {
  const place = panel.forms(plan.planId).confinements[approvalId];
  return place === undefined ? undefined : confinement?.offers[place];
}

function withoutWords({ label: _, line: __, ...confinement }: ConfinementOffer): Confinement {
  return confinement;
}

/** What a command gets, and what it may get instead. */
function confinementOf(panel: Panel, plan: Plan, { approvalId, confinement }: Approval): View {
  if (confinement == null) return nothing;
  const { planId } = plan;
  const chosen = panel.forms(planId).confinements[approvalId];
  const choose = (place: number | undefined) => () =>
    panel.change(planId, (forms) => {
      if (place === undefined) delete forms.confinements[approvalId];
      else forms.confinements[approvalId] = place;
    });
  const row = (place: number | undefined, label: string, line: string): View => html`<label class="radio"
    ><input
      type="radio"
      name=${`confinement ${approvalId}`}
      .checked=${chosen === place}
      @change=${choose(place)}
    /><span>${shown(label)}<span class="quiet"> · ${shown(line)}</span></span></label
  >`;
  const now = chosen === undefined ? confinement : (confinement.offers[chosen] ?? confinement);
  return html`<div class="confinement" data-confined=${now.confined} data-asks=${now === confinement && confinement.asksNetwork}>
    <p>${icon(confinement.offers.length === 0 ? "warning" : confinementIcon(now))}<span>${shown(now.line)}</span></p>
    ${when(
      confinement.offers.length > 0,
      () => html`<details ?open=${confinement.asksNetwork || chosen !== undefined}>
        <summary>${t("Run it with other rights")}</summary>
        <div role="radiogroup" aria-label=${t("Rights of the command")}>
          ${row(undefined, t("As asked"), confinement.line)}
          ${confinement.offers.map((offer, place) => row(place, offer.label, offer.line))}
        </div>
      </details>`,
    )}
  </div>`;
}

function confinementIcon({ confined, network }: Confinement): string {
  if (!confined) return "warning";
  return network === "none" ? "shield" : "globe";
}

/** How many commands are asked together, and for which step. */
function commandsOf(plan: Plan, count: number, stepId: string | null | undefined): string {
  const number = stepPlace(plan, stepId);
  return number === undefined
    ? plural(count, "1 command of the plan", "{0} commands of the plan")
    : plural(count, "1 command of step {1}", "{0} commands of step {1}", number);
}

/** A step still to come as it is and as it would be, with a word on what happens to it. */
function planChangeRow({ kind, stepId, before, after }: PlanChange): View {
  const text = (lines: string | undefined, name: string): View =>
    lines === undefined ? nothing : html`<pre class=${name}>${shown(lines)}</pre>`;
  const words = { added: t("new"), changed: t("changed"), dropped: t("dropped"), moved: t("moved") } as const;
  return html`<li class="plan-change" data-kind=${kind} data-step=${stepId}>
    <span class="chip">${words[kind]}</span>
    <div class="grow">${text(before, "before")}${text(after, "after")}</div>
  </li>`;
}

function startSkip(panel: Panel, { planId }: Plan, approvalId: string): void {
  panel.change(planId, (forms) => (forms.texts[`skip ${approvalId}`] = ""));
  focusSoon(`[data-approval="${CSS.escape(approvalId)}"] .skip-reason`);
}

function skipForm(panel: Panel, { planId }: Plan, { approvalId, lost, deny }: ApprovalView): View {
  const answer = (params: Omit<RespondParams, "approvalId">, form?: Form) =>
    panel.decide(planId, "planloom/approval/respond", { approvalId, ...params }, form);
  const form = `skip ${approvalId}` as const;
  return textForm(panel, planId, form, {
    label: t("Reason for skipping"),
    area: { classes: "skip-reason", rows: 2, placeholder: t("Why? The model reads it (optional).") },
    note: lost == null ? nothing : html`<p class="warn lost">${icon("warning")} ${lost}</p>`,
    button: deny,
    look: { classes: "deny" },
    more: html`<span class="grow"></span>
      ${linkButton(t("Cancel the plan"), () => answer({ decision: "cancel" }), { classes: "bad" })}`,
    send: (text) => answer({ decision: "deny", reason: text.trim() || undefined }, form),
  });
}

function fileRow(
  panel: Panel,
  plan: Plan,
  approval: Approval,
  file: ApprovalFile,
  out: readonly string[],
  kind: string | undefined,
): View {
  const { approvalId } = approval;
  const path = pathOf(file.uri, plan.workspaceFolders);
  const target = file.newUri == null ? "" : ` → ${pathOf(file.newUri, plan.workspaceFolders)}`;
  const ends: readonly [string | null | undefined, string | null | undefined][] = [
    [file.uri, file.resolvedPath],
    [file.newUri, file.newResolvedPath],
  ];
  const elsewhere = ends.flatMap(([uri, real]) => (uri && real && !sameFile(uri, real) ? [real] : []));
  const include = () =>
    panel.change(plan.planId, (forms) => {
      forms.leftOut[approvalId] = out.includes(file.uri) ? out.filter((uri) => uri !== file.uri) : [...out, file.uri];
    });
  return html`<li class="file" data-uri=${file.uri}>
    <span class="file-name">
      ${when(
        approval.files.length > 1,
        () => html`<input
          type="checkbox"
          .checked=${!out.includes(file.uri)}
          aria-label=${plain(t("Include {0}", path))}
          @change=${include}
        />`,
      )}
      ${hasLines(file) ? linesButton(panel, plan, approval, file) : nothing}
      <span class="letter change-${file.change}" title=${kind ?? nothing}>${CHANGE_LETTER[file.change]}</span>
      <button
        class="path"
        type="button"
        title=${plain(file.resolvedPath)}
        @click=${() => panel.post({ kind: "diff", approvalId, uri: file.uri })}
      >${shown(path + target)}</button>
    </span>
    <span class="file-figures">
      ${
        file.change === "createFolder"
          ? html`<span class="quiet">${t("folder")}</span>`
          : html`<span class="added">+${file.added}</span><span class="removed">−${file.removed}</span>`
      }
      ${
        file.change === "createFolder" || file.change === "rename"
          ? nothing
          : linkButton(t("Diff"), () => panel.post({ kind: "diff", approvalId, uri: file.uri }), {
              icon: "diff",
              classes: "diff",
              ariaLabel: plain(t("Diff of {0}", path)),
            })
      }
      ${
        !isLong(file)
          ? nothing
          : panel.ui.seen.includes(diffKey(approvalId, file.uri))
            ? icon("eye", t("seen to its last change"), "good")
            : icon("eye-closed", t("long, and not seen to its last change"), "quiet")
      }
    </span>
    ${elsewhere.map((real) => html`<span class="resolved warn">${icon("warning")} ${phrase("really {0}", shown(real))}</span>`)}
    ${isShown(panel.forms(plan.planId), approval, file) ? fileChanges(panel, approval, file) : nothing}
  </li>`;
}

/** Shows or hides the changed lines of a file. */
function linesButton(panel: Panel, { planId, workspaceFolders }: Plan, approval: Approval, file: ApprovalFile): View {
  const isOpen = isShown(panel.forms(planId), approval, file);
  const path = pathOf(file.uri, workspaceFolders);
  return html`<button
    class="icon-button lines"
    type="button"
    aria-expanded=${isOpen}
    aria-label=${plain(t("Changed lines of {0}", path))}
    @click=${() => panel.change(planId, (forms) => (forms.diffs[diffKey(approval.approvalId, file.uri)] = !isOpen))}
  >${icon(isOpen ? "chevron-down" : "chevron-right")}</button>`;
}

/** Whether a URI and a resolved path are the same place. If not, the card shows both, since a link can mislead. */
export function sameFile(uri: string, resolved: string): boolean {
  return (
    pathOf(uri, [])
      .replaceAll("\\", "/")
      .replace(/^\/(?=[A-Za-z]:)/, "")
      .replace(/\/$/, "") === resolved.replaceAll("\\", "/").replace(/\/$/, "")
  );
}
