// What waits for a person: approvals, questions, failures and conflicts, each as a card that can be answered.

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";

import { attention, type PlanView } from "../planState";
import type { Approval, ApprovalFile, Conflict, Plan, Question, Recovery } from "../protocol";
import { CHANGE_LETTER, pathOf } from "./format";
import { plain } from "./marks";
import { readArgs } from "./stepForm";
import { focusSoon, icon, shown, valueOf, type Panel, type View } from "./ui";

export function cards(panel: Panel, view: PlanView): View {
  const { plan } = view;
  if (attention(plan) === 0) return nothing;
  const { approvals, questions, recoveries, conflicts } = plan.pending;
  return html`<section class="cards" aria-label="Waiting for you" aria-live="polite">
    ${repeat(conflicts, (each) => each.editId, (each) => conflictCard(panel, plan, each))}
    ${repeat(approvals, (each) => each.approvalId, (each) => approvalCard(panel, plan, each))}
    ${repeat(questions, (each) => each.stepId, (each) => questionCard(panel, plan, each))}
    ${repeat(recoveries, (each) => each.stepId, (each) => recoveryCard(panel, plan, each))}
  </section>`;
}

function stepNumber(plan: Plan, stepId: string | null | undefined): string {
  const place = plan.steps.findIndex((step) => step.stepId === stepId);
  return place < 0 ? "The plan" : `Step ${place + 1}`;
}

function approvalCard(panel: Panel, plan: Plan, approval: Approval): View {
  const { approvalId, effect } = approval;
  const skipping = panel.ui.skips.get(approvalId);
  const verb = effect === "execute" ? "Run" : effect === "destroy" ? "Apply, losing data" : "Apply";
  const out = panel.ui.leftOut.get(approvalId) ?? new Set<string>();
  const files = approval.files.filter((file) => !out.has(file.uri)).map((file) => file.uri);
  const narrowed = out.size > 0 ? { files } : {};
  const armed = panel.ui.armed.has(approvalId);
  const allow = (decision: "allow" | "allowForPlan") => () => panel.post({ kind: "respond", approvalId, decision, ...narrowed });
  return html`<article class="card approval" data-effect=${effect} data-approval=${approvalId}>
    <h3>${icon(effect === "execute" ? "terminal" : effect === "destroy" ? "trash" : "edit")}<span class="grow">${shown(approval.title)}</span></h3>
    <p class="card-meta">
      <span>${stepNumber(plan, approval.stepId)}</span>
      ${effect === "write" ? nothing : html`<span class="chip ${effect === "destroy" ? "risk-high" : "risk-medium"}">${effect === "destroy" ? "cannot be rebuilt from the plan" : "runs a command"}</span>`}
      ${approval.protected ? html`<span class="chip risk-high">${icon("lock")}protected file</span>` : nothing}
    </p>
    ${approval.warning == null ? nothing : html`<p class="banner warning">${icon("warning")}<span>${shown(approval.warning)}</span></p>`}
    ${approval.command == null
      ? nothing
      : html`<pre class="command" aria-label="Command">${shown(approval.command)}</pre>
          ${approval.cwd == null ? nothing : html`<p class="quiet">in ${shown(approval.cwd)}</p>`}`}
    ${approval.files.length === 0 ? nothing : html`<ul class="files">${approval.files.map((file) => fileRow(panel, plan, approval, file, out))}</ul>`}
    ${skipping === undefined
      ? html`<div class="actions" data-arm=${approvalId}>
          <vscode-button class="allow" ?disabled=${!armed || (approval.files.length > 0 && files.length === 0)} @click=${allow("allow")}>${verb}</vscode-button>
          <vscode-button class="skip" secondary @click=${() => startSkip(panel, approvalId)}>Skip…</vscode-button>
          <span class="grow"></span>
          ${effect === "destroy" || approval.protected || out.size > 0
            ? nothing
            : html`<button class="link" type="button" ?disabled=${!armed} title=${effect === "execute" ? "This very command, for the rest of this version" : "Every further change of this version"} @click=${allow("allowForPlan")}>Allow for this plan</button>`}
        </div>`
      : skipForm(panel, approval, skipping)}
  </article>`;
}

function startSkip(panel: Panel, approvalId: string): void {
  panel.update((ui) => ui.skips.set(approvalId, ""));
  focusSoon(`[data-approval="${CSS.escape(approvalId)}"] .skip-reason`);
}

function skipForm(panel: Panel, { approvalId, effect }: Approval, text: string): View {
  const deny = () => panel.post({ kind: "respond", approvalId, decision: "deny", reason: panel.ui.skips.get(approvalId) ?? "" });
  const back = () => panel.update((ui) => ui.skips.delete(approvalId));
  return html`<div class="prompt">
    <vscode-textarea
      class="skip-reason"
      rows="2"
      resize="vertical"
      label="Reason for skipping"
      placeholder="Why? The model reads it (optional)."
      .value=${text}
      @input=${(event: Event) => panel.ui.skips.set(approvalId, valueOf(event))}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key === "Escape") back();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) deny();
      }}
    ></vscode-textarea>
    <div class="actions">
      <vscode-button class="deny" @click=${deny}>${effect === "execute" ? "Do not run it" : "Skip these changes"}</vscode-button>
      <vscode-button secondary @click=${back}>Back</vscode-button>
      <span class="grow"></span>
      <button class="link bad" type="button" @click=${() => panel.post({ kind: "respond", approvalId, decision: "cancel" })}>Cancel the plan</button>
    </div>
  </div>`;
}

function fileRow(panel: Panel, plan: Plan, approval: Approval, file: ApprovalFile, out: ReadonlySet<string>): View {
  const { approvalId } = approval;
  const path = pathOf(file.uri, plan.workspaceFolders);
  const target = file.newUri == null ? "" : ` → ${pathOf(file.newUri, plan.workspaceFolders)}`;
  const elsewhere = file.resolvedPath !== "" && !sameFile(file.uri, file.resolvedPath);
  const include = () =>
    panel.update((ui) => {
      const left = new Set(out);
      if (!left.delete(file.uri)) left.add(file.uri);
      ui.leftOut.set(approvalId, left);
    });
  return html`<li class="file" data-uri=${file.uri}>
    ${approval.files.length > 1
      ? html`<input type="checkbox" .checked=${!out.has(file.uri)} aria-label=${plain(`Include ${path}`)} @change=${include} />`
      : nothing}
    <span class="letter change-${file.change}" title=${file.change}>${CHANGE_LETTER[file.change]}</span>
    <button class="path" type="button" title=${plain(file.resolvedPath)} @click=${() => panel.post({ kind: "diff", approvalId, uri: file.uri })}>${shown(path + target)}</button>
    ${file.change === "createFolder" ? html`<span class="quiet">folder</span>` : html`<span class="added">+${file.added}</span><span class="removed">−${file.removed}</span>`}
    ${file.change === "createFolder" || file.change === "rename"
      ? nothing
      : html`<button class="link diff" type="button" aria-label=${plain(`Show the changes to ${path}`)} @click=${() => panel.post({ kind: "diff", approvalId, uri: file.uri })}>${icon("diff")} Diff</button>`}
    ${elsewhere ? html`<span class="resolved warn">${icon("warning")} really ${shown(file.resolvedPath)}</span>` : nothing}
  </li>`;
}

/** Whether an address and a resolved path name one place; what differs is shown, since links can mislead. */
export function sameFile(uri: string, resolved: string): boolean {
  return pathOf(uri, []).replaceAll("\\", "/").replace(/^\/(?=[A-Za-z]:)/, "").replace(/\/$/, "") === resolved.replaceAll("\\", "/").replace(/\/$/, "");
}

function questionCard(panel: Panel, plan: Plan, question: Question): View {
  const { stepId } = question;
  const { planId } = plan;
  const send = (answer: string) => {
    if (answer.trim() !== "") panel.post({ kind: "answer", planId, stepId, answer });
  };
  return html`<article class="card question" data-step=${stepId}>
    <h3>${icon("question")}<span class="grow">${stepNumber(plan, stepId)} asks</span></h3>
    <p class="asked">${shown(question.question)}</p>
    ${question.options == null || question.options.length === 0
      ? nothing
      : html`<div class="actions options">${question.options.map((option) => html`<vscode-button secondary @click=${() => send(option)}>${shown(option)}</vscode-button>`)}</div>`}
    <div class="answer-row">
      <vscode-textfield
        class="answer"
        label="Your answer"
        placeholder="Your answer"
        .value=${panel.ui.answers.get(stepId) ?? ""}
        @input=${(event: Event) => panel.ui.answers.set(stepId, valueOf(event))}
        @keydown=${(event: KeyboardEvent) => event.key === "Enter" && send(panel.ui.answers.get(stepId) ?? "")}
      ></vscode-textfield>
      <vscode-button class="send-answer" @click=${() => send(panel.ui.answers.get(stepId) ?? "")}>Answer</vscode-button>
    </div>
  </article>`;
}

function recoveryCard(panel: Panel, plan: Plan, recovery: Recovery): View {
  const { stepId, options, proposal } = recovery;
  const { planId } = plan;
  const step = plan.steps.find((each) => each.stepId === stepId);
  const act = (action: Recovery["options"][number]) => () => panel.post({ kind: "recover", planId, stepId, action });
  const changing = panel.ui.retryArgs.get(stepId);
  return html`<article class="card failure" data-step=${stepId}>
    <h3>${icon("error")}<span class="grow">${stepNumber(plan, stepId)} failed</span></h3>
    ${step === undefined ? nothing : html`<p class="quiet">${shown(step.description)}</p>`}
    <p class="error-text">${shown(recovery.error)}</p>
    ${proposal == null
      ? nothing
      : html`<div class="proposal">
          <p><b>The model proposes to ${proposal.action === "insert" ? "insert steps" : proposal.action}.</b> ${shown(proposal.why)}</p>
          ${proposal.args == null ? nothing : html`<pre>${shown(JSON.stringify(proposal.args, null, 2))}</pre>`}
          ${proposal.steps == null || proposal.steps.length === 0 ? nothing : html`<ol>${proposal.steps.map((each) => html`<li>${shown(each.description)}</li>`)}</ol>`}
          ${options.includes("accept") ? html`<vscode-button class="accept" @click=${act("accept")}>Accept</vscode-button>` : nothing}
        </div>`}
    ${changing === undefined ? nothing : retryForm(panel, plan, recovery, changing)}
    <div class="actions">
      ${options.includes("retry") ? html`<vscode-button class="retry" @click=${act("retry")}>${icon("refresh")} Retry</vscode-button>` : nothing}
      ${options.includes("retry") && step?.tool != null && changing === undefined
        ? html`<vscode-button class="change" secondary @click=${() => panel.update((ui) => ui.retryArgs.set(stepId, JSON.stringify(step.args ?? {}, null, 2)))}>Change and retry…</vscode-button>`
        : nothing}
      ${options.includes("skip") ? html`<vscode-button class="skip" secondary @click=${act("skip")}>Skip</vscode-button>` : nothing}
      ${options.includes("model") ? html`<vscode-button class="model" secondary @click=${act("model")}>Ask the model</vscode-button>` : nothing}
      <span class="grow"></span>
      ${options.includes("abort") ? html`<button class="link bad abort" type="button" @click=${act("abort")}>End the plan</button>` : nothing}
    </div>
  </article>`;
}

function retryForm(panel: Panel, plan: Plan, recovery: Recovery, text: string): View {
  const { stepId } = recovery;
  const args = readArgs(text);
  const send = () => {
    const now = readArgs(panel.ui.retryArgs.get(stepId) ?? "");
    if ("problem" in now) return panel.update();
    panel.post({ kind: "recover", planId: plan.planId, stepId, action: "retry", args: now.value ?? {} });
  };
  return html`<div class="prompt">
    <vscode-textarea class="retry-args" label="Arguments of the retry" rows="4" monospace resize="vertical" .value=${text} @input=${(event: Event) => panel.update((ui) => ui.retryArgs.set(stepId, valueOf(event)))}></vscode-textarea>
    ${"problem" in args ? html`<p class="bad" role="alert">${shown(args.problem)}</p>` : nothing}
    <div class="actions"><vscode-button class="retry-changed" ?disabled=${"problem" in args} @click=${send}>Retry with these</vscode-button></div>
  </div>`;
}

function conflictCard(panel: Panel, plan: Plan, conflict: Conflict): View {
  const { editId } = conflict;
  const key = (uri: string): string => `${editId} ${uri}`;
  const chosen = conflict.files.map((file) => ({ uri: file.uri, choice: panel.ui.choices.get(key(file.uri)) }));
  const files = chosen.flatMap(({ uri, choice }) => (choice === undefined ? [] : [{ uri, choice }]));
  return html`<article class="card conflict" data-edit=${editId}>
    <h3>${icon("git-merge")}<span class="grow">Your typing and ${stepNumber(plan, conflict.stepId).toLowerCase()} overlap</span></h3>
    <p class="quiet">Nothing was written. Choose which text stays.</p>
    ${conflict.files.map(
      (file) => html`<section class="conflict-file">
        <button class="path" type="button" @click=${() => panel.post({ kind: "open", uri: file.uri, line: file.hunks[0]?.range.start.line ?? 0 })}>${shown(pathOf(file.uri, plan.workspaceFolders))}</button>
        ${file.hunks.map(
          (hunk) => html`<div class="hunk">
            <figure class="mine"><figcaption>Yours · line ${hunk.range.start.line + 1}</figcaption><pre>${shown(hunk.mine)}</pre></figure>
            <figure class="theirs"><figcaption>The plan's</figcaption><pre>${shown(hunk.theirs)}</pre></figure>
          </div>`,
        )}
        <div class="actions" role="radiogroup" aria-label=${plain(`Which text stays in ${pathOf(file.uri, plan.workspaceFolders)}`)}>
          ${(["mine", "theirs"] as const).map(
            (choice) => html`<label class="radio"
              ><input type="radio" name=${key(file.uri)} .checked=${panel.ui.choices.get(key(file.uri)) === choice} @change=${() => panel.update((ui) => ui.choices.set(key(file.uri), choice))} />
              ${choice === "mine" ? "Keep mine" : "Take the plan's"}</label
            >`,
          )}
        </div>
      </section>`,
    )}
    <div class="actions">
      <vscode-button class="resolve" ?disabled=${files.length < conflict.files.length} @click=${() => panel.post({ kind: "resolve", planId: plan.planId, editId, files })}>Resolve</vscode-button>
    </div>
  </article>`;
}

