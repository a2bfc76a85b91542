// The cards of what waits for the user: approvals, questions, failures and conflicts.

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";

import { attention } from "../plan/planState";
import type { PlanView } from "../plan/planView";
import type {
  Approval,
  ApprovalFile,
  Conflict,
  FileChoice,
  Plan,
  PlanChange,
  Question,
  Recovery,
  Step,
} from "../protocol";
import { CHANGE_LETTER, pathOf, skippedWith } from "./format";
import { plain } from "./hiddenCharacters";
import { readArgs } from "./stepForm";
import { fieldValue, focusSoon, icon, linkButton, type Panel, shown, type View } from "./ui";
import { isBusy } from "./uiState";

/** The button that allows an effect, a chip about it, the button that denies it, and what can be allowed ahead. */
const CHANGE_WORDS = { allow: "Apply", chip: undefined, deny: "Skip these changes" } as const;
const WORDS = {
  read: CHANGE_WORDS,
  write: CHANGE_WORDS,
  destroy: {
    allow: "Apply, losing data",
    chip: ["high", "cannot be rebuilt from the plan"],
    deny: "Skip these changes",
  },
  execute: { allow: "Run", chip: ["medium", "runs a command"], deny: "Do not run it" },
  fetch: { allow: "Fetch", chip: ["medium", "sends a request to the web"], deny: "Do not fetch it" },
} as const;

const PLAN_WORDS = {
  allow: "Change the plan",
  chip: ["medium", "goes beyond what you approved"],
  deny: "Keep the plan",
} as const;

const AHEAD = {
  read: "All changes",
  write: "All changes",
  execute: "This command",
  fetch: "All pages of this host",
} as const;

const EFFECT_ICON = { read: "edit", write: "edit", destroy: "trash", execute: "terminal", fetch: "globe" } as const;

export function cards(panel: Panel, view: PlanView): View {
  const { plan } = view;
  if (attention(plan) === 0) return nothing;
  const { approvals, questions, recoveries, conflicts } = plan.pending;
  return html`<section class="cards" aria-label="Waiting for you" aria-live="polite">
    ${repeat(
      conflicts,
      (each) => each.editId,
      (each) => conflictCard(panel, plan, each),
    )}
    ${repeat(
      approvals,
      (each) => each.approvalId,
      (each) => approvalCard(panel, plan, each),
    )}
    ${repeat(
      questions,
      (each) => each.stepId,
      (each) => questionCard(panel, plan, each),
    )}
    ${repeat(
      recoveries,
      (each) => each.stepId,
      (each) => recoveryCard(panel, plan, each),
    )}
  </section>`;
}

function stepNumber(plan: Plan, stepId: string | null | undefined): string {
  const place = plan.steps.findIndex((step) => step.stepId === stepId);
  return place < 0 ? "The plan" : `Step ${place + 1}`;
}

function approvalCard(panel: Panel, plan: Plan, approval: Approval): View {
  const { approvalId, effect } = approval;
  const forms = panel.forms(plan.planId);
  const skipping = forms.skips[approvalId];
  const planChanges = approval.planChanges ?? [];
  const words = wordsOf(approval);
  const out = forms.leftOut[approvalId] ?? [];
  const files = approval.files.filter((file) => !out.includes(file.uri)).map((file) => file.uri);
  const narrowed = out.length > 0 ? { files } : {};
  const armed = panel.ui.armed.includes(approvalId);
  const allow = (decision: "allow" | "allowForPlan") => () =>
    panel.decide(plan.planId, { kind: "respond", approvalId, decision, ...narrowed });
  return html`<article class="card approval" data-effect=${effect} data-approval=${approvalId}>
    <h3>${icon(planChanges.length > 0 ? "checklist" : EFFECT_ICON[effect])}<span class="grow">${shown(approval.title)}</span></h3>
    <p class="card-meta">
      <span>${stepNumber(plan, approval.stepId)}</span>
      ${words.chip === undefined ? nothing : html`<span class="chip risk-${words.chip[0]}">${words.chip[1]}</span>`}
      ${approval.protected ? html`<span class="chip risk-high">${icon("lock")}protected file</span>` : nothing}
    </p>
    ${
      approval.warning == null
        ? nothing
        : html`<p class="banner warning">${icon("warning")}<span>${shown(approval.warning)}</span></p>`
    }
    ${
      approval.command == null
        ? nothing
        : html`<pre class="command" aria-label="Command">${shown(approval.command)}</pre>
          ${approval.cwd == null ? nothing : html`<p class="quiet">in ${shown(approval.cwd)}</p>`}`
    }
    ${
      approval.url == null
        ? nothing
        : html`<p>from <b class="host">${shown(approval.host ?? "")}</b></p>
          <pre class="address" aria-label="Address">${shown(approval.url)}</pre>`
    }
    ${
      planChanges.length === 0
        ? nothing
        : html`<ul class="plan-changes" aria-label="Changes of the plan">${planChanges.map(planChangeRow)}</ul>`
    }
    ${
      approval.files.length === 0
        ? nothing
        : html`<ul class="files">${approval.files.map((file) => fileRow(panel, plan, approval, file, out))}</ul>`
    }
    ${
      skipping === undefined
        ? html`<div class="actions" data-arm=${approvalId}>
          <vscode-button
            class="allow"
            ?disabled=${!armed || (approval.files.length > 0 && files.length === 0)}
            @click=${allow("allow")}
          >${words.allow}</vscode-button>
          <vscode-button
            class="skip"
            secondary
            @click=${() => startSkip(panel, plan, approvalId)}
          >${planChanges.length > 0 ? "Keep the plan…" : "Skip…"}</vscode-button>
          <span class="grow"></span>
          ${
            effect === "destroy" || approval.protected || out.length > 0 || planChanges.length > 0
              ? nothing
              : linkButton(
                  effect === "fetch" ? "Allow this host for this plan" : "Allow for this plan",
                  allow("allowForPlan"),
                  {
                    title: `${AHEAD[effect]}, for this version of the plan`,
                    disabled: !armed,
                  },
                )
          }
        </div>`
        : skipForm(panel, plan, approval, skipping)
    }
  </article>`;
}

function wordsOf({ effect, planChanges }: Approval): (typeof WORDS)[keyof typeof WORDS] | typeof PLAN_WORDS {
  return (planChanges ?? []).length > 0 ? PLAN_WORDS : WORDS[effect];
}

/** A step still to come as it is and as it would be, with a word on what happens to it. */
function planChangeRow({ kind, stepId, before, after }: PlanChange): View {
  const text = (lines: string | undefined, name: string): View =>
    lines === undefined ? nothing : html`<pre class=${name}>${shown(lines)}</pre>`;
  const words = { added: "new", changed: "changed", dropped: "dropped", moved: "moved" } as const;
  return html`<li class="plan-change" data-kind=${kind} data-step=${stepId}>
    <span class="chip">${words[kind]}</span>
    <div class="grow">${text(before, "before")}${text(after, "after")}</div>
  </li>`;
}

function startSkip(panel: Panel, { planId }: Plan, approvalId: string): void {
  panel.change(planId, (forms) => (forms.skips[approvalId] = ""));
  focusSoon(`[data-approval="${CSS.escape(approvalId)}"] .skip-reason`);
}

function skipForm(panel: Panel, plan: Plan, approval: Approval, text: string): View {
  const { approvalId, stepId, planChanges = [] } = approval;
  const { planId } = plan;
  const form = { form: "skip", id: approvalId } as const;
  const deny = () =>
    panel.decide(
      planId,
      { kind: "respond", approvalId, decision: "deny", reason: panel.forms(planId).skips[approvalId] ?? "" },
      form,
    );
  const back = () => panel.change(planId, (forms) => delete forms.skips[approvalId]);
  const cancel = () => panel.decide(planId, { kind: "respond", approvalId, decision: "cancel" });
  const lost = stepId == null || planChanges.length > 0 ? undefined : skippedWith(plan, stepId);
  return html`<div class="prompt">
    <vscode-textarea
      class="skip-reason"
      rows="2"
      resize="vertical"
      label="Reason for skipping"
      placeholder="Why? The model reads it (optional)."
      .value=${text}
      @input=${(event: Event) => panel.change(planId, (forms) => (forms.skips[approvalId] = fieldValue(event)))}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key === "Escape") back();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) deny();
      }}
    ></vscode-textarea>
    ${lost === undefined ? nothing : html`<p class="warn lost">${icon("warning")} ${lost}</p>`}
    <div class="actions">
      <vscode-button
        class="deny"
        ?disabled=${isBusy(panel.ui, planId, form)}
        @click=${deny}
      >${wordsOf(approval).deny}</vscode-button>
      <vscode-button secondary @click=${back}>Back</vscode-button>
      <span class="grow"></span>
      ${linkButton("Cancel the plan", cancel, { classes: "bad" })}
    </div>
  </div>`;
}

function fileRow(panel: Panel, plan: Plan, approval: Approval, file: ApprovalFile, out: readonly string[]): View {
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
    ${
      approval.files.length > 1
        ? html`<input
          type="checkbox"
          .checked=${!out.includes(file.uri)}
          aria-label=${plain(`Include ${path}`)}
          @change=${include}
        />`
        : nothing
    }
    <span class="letter change-${file.change}" title=${file.change}>${CHANGE_LETTER[file.change]}</span>
    <button
      class="path"
      type="button"
      title=${plain(file.resolvedPath)}
      @click=${() => panel.post({ kind: "diff", approvalId, uri: file.uri })}
    >${shown(path + target)}</button>
    ${
      file.change === "createFolder"
        ? html`<span class="quiet">folder</span>`
        : html`<span class="added">+${file.added}</span><span class="removed">−${file.removed}</span>`
    }
    ${
      file.change === "createFolder" || file.change === "rename"
        ? nothing
        : linkButton("Diff", () => panel.post({ kind: "diff", approvalId, uri: file.uri }), {
            icon: "diff",
            classes: "diff",
            ariaLabel: plain(`Show the changes to ${path}`),
          })
    }
    ${elsewhere.map((real) => html`<span class="resolved warn">${icon("warning")} really ${shown(real)}</span>`)}
  </li>`;
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

function questionCard(panel: Panel, plan: Plan, question: Question): View {
  const { stepId } = question;
  const { planId } = plan;
  const typed = () => panel.forms(planId).answers[stepId] ?? "";
  const send = (answer: string) => {
    if (answer.trim() !== "")
      panel.decide(planId, { kind: "answer", planId, stepId, answer }, { form: "answer", id: stepId });
  };
  return html`<article class="card question" data-step=${stepId}>
    <h3>${icon("question")}<span class="grow">${stepNumber(plan, stepId)} asks</span></h3>
    <p class="asked">${shown(question.question)}</p>
    ${
      question.options == null || question.options.length === 0
        ? nothing
        : html`<div class="actions options">${question.options.map(
            (option) => html`<vscode-button secondary @click=${() => send(option)}>${shown(option)}</vscode-button>`,
          )}</div>`
    }
    <div class="answer-row">
      <vscode-textfield
        class="answer"
        label="Your answer"
        placeholder="Your answer"
        .value=${typed()}
        @input=${(event: Event) => panel.change(planId, (forms) => (forms.answers[stepId] = fieldValue(event)))}
        @keydown=${(event: KeyboardEvent) => event.key === "Enter" && send(typed())}
      ></vscode-textfield>
      <vscode-button class="send-answer" @click=${() => send(typed())}>Answer</vscode-button>
    </div>
  </article>`;
}

function recoveryCard(panel: Panel, plan: Plan, recovery: Recovery): View {
  const { stepId, options, proposal } = recovery;
  const { planId } = plan;
  const step = plan.steps.find((each) => each.stepId === stepId);
  const act = (action: Recovery["options"][number]) => () =>
    panel.decide(planId, { kind: "recover", planId, stepId, action }, { form: "retry", id: stepId });
  const changing = panel.forms(planId).retryArgs[stepId];
  const changeArgs = ({ args = {} }: Step) =>
    panel.change(planId, (forms) => (forms.retryArgs[stepId] = JSON.stringify(args, null, 2)));
  const lost = options.includes("skip") ? skippedWith(plan, stepId) : undefined;
  return html`<article class="card failure" data-step=${stepId}>
    <h3>${icon("error")}<span class="grow">${stepNumber(plan, stepId)} failed</span></h3>
    ${step === undefined ? nothing : html`<p class="quiet">${shown(step.description)}</p>`}
    <p class="error-text">${shown(recovery.error)}</p>
    ${
      proposal == null
        ? nothing
        : html`<div class="proposal">
          <p>
            <b>The model proposes to ${proposal.action === "insert" ? "insert steps" : proposal.action}.</b>
            ${shown(proposal.why)}
          </p>
          ${proposal.args == null ? nothing : html`<pre>${shown(JSON.stringify(proposal.args, null, 2))}</pre>`}
          ${
            proposal.steps == null || proposal.steps.length === 0
              ? nothing
              : html`<ol>${proposal.steps.map((each) => html`<li>${shown(each.description)}</li>`)}</ol>`
          }
          ${
            options.includes("accept")
              ? html`<vscode-button class="accept" @click=${act("accept")}>Accept</vscode-button>`
              : nothing
          }
        </div>`
    }
    ${changing === undefined ? nothing : retryForm(panel, plan, recovery, changing)}
    ${
      lost === undefined
        ? nothing
        : html`<p class="quiet lost">If you skip it: ${lost.charAt(0).toLowerCase() + lost.slice(1)}</p>`
    }
    <div class="actions">
      ${
        options.includes("retry")
          ? html`<vscode-button class="retry" @click=${act("retry")}>${icon("refresh")} Retry</vscode-button>`
          : nothing
      }
      ${
        options.includes("retry") && step?.tool != null && changing === undefined
          ? html`<vscode-button
            class="change"
            secondary
            @click=${() => changeArgs(step)}
          >Change and retry…</vscode-button>`
          : nothing
      }
      ${
        options.includes("skip")
          ? html`<vscode-button class="skip" secondary @click=${act("skip")}>Skip</vscode-button>`
          : nothing
      }
      ${
        options.includes("go_on")
          ? html`<vscode-button class="go-on" secondary @click=${act("go_on")}>Skip and go on</vscode-button>`
          : nothing
      }
      ${
        options.includes("model")
          ? html`<vscode-button class="model" secondary @click=${act("model")}>Ask the model</vscode-button>`
          : nothing
      }
      <span class="grow"></span>
      ${options.includes("abort") ? linkButton("End the plan", act("abort"), { classes: "bad abort" }) : nothing}
    </div>
  </article>`;
}

function retryForm(panel: Panel, plan: Plan, recovery: Recovery, text: string): View {
  const { stepId } = recovery;
  const args = readArgs(text);
  const send = () => {
    const now = readArgs(panel.forms(plan.planId).retryArgs[stepId] ?? "");
    if (!("problem" in now))
      panel.decide(
        plan.planId,
        { kind: "recover", planId: plan.planId, stepId, action: "retry", args: now.value ?? {} },
        { form: "retry", id: stepId },
      );
  };
  return html`<div class="prompt">
    <vscode-textarea
      class="retry-args"
      label="Arguments of the retry"
      rows="4"
      monospace
      resize="vertical"
      .value=${text}
      @input=${(event: Event) => panel.change(plan.planId, (forms) => (forms.retryArgs[stepId] = fieldValue(event)))}
    ></vscode-textarea>
    ${"problem" in args ? html`<p class="bad" role="alert">${shown(args.problem)}</p>` : nothing}
    <div class="actions"><vscode-button
      class="retry-changed"
      ?disabled=${"problem" in args}
      @click=${send}
    >Retry with these</vscode-button></div>
  </div>`;
}

const CHOICES: readonly (readonly [FileChoice["choice"], string])[] = [
  ["mine", "Keep mine"],
  ["theirs", "Take the plan's"],
  ["both", "Keep both"],
];

function conflictCard(panel: Panel, plan: Plan, conflict: Conflict): View {
  const { planId } = plan;
  const { editId, stepId } = conflict;
  const form = { form: "conflict", id: editId } as const;
  const key = (uri: string): string => `${editId} ${uri}`;
  const { choices } = panel.forms(planId);
  const chosen = conflict.files.map((file) => ({ ...file, choice: choices[key(file.uri)] }));
  // The hash names the text in which these overlaps were found, so that what is typed later is merged.
  const files = chosen.flatMap(({ uri, choice, sha256 }) =>
    choice === undefined ? [] : [{ uri, choice, ...(sha256 ? { sha256 } : {}) }],
  );
  const lost = skippedWith(plan, stepId);
  return html`<article class="card conflict" data-edit=${editId}>
    <h3>
      ${icon("git-merge")}<span class="grow">Your typing and ${stepNumber(plan, stepId).toLowerCase()} overlap</span>
    </h3>
    <p class="quiet">Nothing was written. Choose which text stays.</p>
    ${conflict.files.map(
      (file) => html`<section class="conflict-file">
        <button
          class="path"
          type="button"
          @click=${() => panel.post({ kind: "open", uri: file.uri, line: file.hunks[0]?.range.start.line ?? 0 })}
        >${shown(pathOf(file.uri, plan.workspaceFolders))}</button>
        ${file.hunks.map(
          (hunk) => html`<div class="hunk">
            <figure class="mine">
              <figcaption>Yours · line ${hunk.range.start.line + 1}</figcaption><pre>${shown(hunk.mine)}</pre>
            </figure>
            <figure class="theirs"><figcaption>The plan's</figcaption><pre>${shown(hunk.theirs)}</pre></figure>
          </div>`,
        )}
        <div
          class="actions"
          role="radiogroup"
          aria-label=${plain(`Which text stays in ${pathOf(file.uri, plan.workspaceFolders)}`)}
        >
          ${CHOICES.map(
            ([choice, label]) => html`<label class="radio"
              ><input
                type="radio"
                name=${key(file.uri)}
                .checked=${choices[key(file.uri)] === choice}
                @change=${() => panel.change(planId, (forms) => (forms.choices[key(file.uri)] = choice))}
              />
              ${label}</label
            >`,
          )}
        </div>
      </section>`,
    )}
    ${
      lost === undefined
        ? nothing
        : html`<p class="warn lost">
            ${icon("warning")} If you keep only yours, ${stepNumber(plan, stepId).toLowerCase()} loses its change.
            ${lost}
          </p>`
    }
    <div class="actions">
      <vscode-button
        class="resolve"
        ?disabled=${files.length < conflict.files.length || isBusy(panel.ui, planId, form)}
        @click=${() => panel.decide(planId, { kind: "resolve", planId, editId, files }, form)}
      >Resolve</vscode-button>
    </div>
  </article>`;
}
