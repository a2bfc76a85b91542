// The cards of what waits for the user. Those of questions and failures are here, the others in modules of their own.

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { when } from "lit/directives/when.js";

import { type PlanView, stepView } from "../../plan/views";
import type { Approval, Plan, Question, Recovery, Step } from "../../protocol";
import { t } from "../../words";
import { textField, textForm } from "../fields";
import { printed } from "../steps/commandOutput";
import { readArgs } from "../steps/stepDraft";
import { questionsBefore } from "../steps/stepParts";
import { firstLine, stepNumber, stepPlace } from "../text/format";
import { type ButtonOptions, button, icon, menu, type Panel, shown, type View } from "../ui";
import { approvalCard, approvalList } from "./approvalCard";
import { conflictCard } from "./conflictCard";

export function cards(panel: Panel, view: PlanView): View {
  const { plan } = view;
  if (view.decisions === 0) return nothing;
  const { approvals, questions, recoveries, conflicts } = plan.pending;
  const all = [
    ...conflicts.map((each) => ({ key: each.editId, stepId: each.stepId, card: conflictCard(panel, view, each) })),
    ...lists(approvals).map(([first, ...others]) => ({
      key: first.listed?.listId ?? first.approvalId,
      stepId: first.stepId,
      card: others.length > 0 ? approvalList(panel, view, [first, ...others]) : approvalCard(panel, view, first),
    })),
    ...questions.map((each) => ({ key: each.stepId, stepId: each.stepId, card: questionCard(panel, view, each) })),
    ...recoveries.map((each) => ({ key: each.stepId, stepId: each.stepId, card: recoveryCard(panel, view, each) })),
  ];
  const place = ({ stepId }: { stepId?: string | null | undefined }): number => stepPlace(plan, stepId) ?? 0;
  return html`<section class="cards" aria-label=${t("Waiting for you")}>${repeat(
    all.sort((one, other) => place(one) - place(other)),
    ({ key }) => key,
    ({ card }) => card,
  )}</section>`;
}

/** The approvals, those that are asked together in one list. */
function lists(approvals: readonly Approval[]): readonly (readonly [Approval, ...Approval[]])[] {
  const found = new Map<string, [Approval, ...Approval[]]>();
  for (const each of approvals) {
    const key = each.listed?.listId ?? each.approvalId;
    const list = found.get(key);
    if (list === undefined) found.set(key, [each]);
    else list.push(each);
  }
  return [...found.values()];
}

function questionCard(panel: Panel, view: PlanView, question: Question): View {
  const { plan } = view;
  const { stepId } = question;
  const { planId } = plan;
  const form = `answer ${stepId}` as const;
  const typed = () => panel.forms(planId).texts[form] ?? "";
  const write = (text: string) => panel.change(planId, (forms) => (forms.texts[form] = text));
  const send = (answer: string) => {
    if (answer.trim() !== "") panel.decide(planId, "planloom/step/answer", { planId, stepId, answer }, form);
  };
  return html`<article class="card question" data-step=${stepId}>
    <h3>${icon("question")}<span class="grow">${t("{0} asks", stepNumber(plan, stepId))}</span></h3>
    ${questionsBefore(view, stepId)}
    <p class="asked">${shown(question.question)}</p>
    ${
      question.options == null || question.options.length === 0
        ? nothing
        : html`<div class="actions options">${question.options.map((option) =>
            button(shown(option), () => send(option), { secondary: true }),
          )}</div>`
    }
    <div class="answer-row">
      ${textField(t("Your answer"), typed(), write, {
        classes: "answer",
        placeholder: t("Your answer"),
        keydown: ({ key }) => key === "Enter" && send(typed()),
      })}
      ${button(t("Answer"), () => send(typed()), { classes: "send-answer" })}
    </div>
  </article>`;
}

function recoveryCard(panel: Panel, view: PlanView, recovery: Recovery): View {
  const { plan } = view;
  const { stepId, options, proposal } = recovery;
  const { planId } = plan;
  const step = plan.steps.find((each) => each.stepId === stepId);
  const form = `retry ${stepId}` as const;
  const act = (action: Recovery["options"][number]) => () =>
    panel.decide(planId, "planloom/step/recover", { planId, stepId, action }, form);
  const own = stepView(view, stepId);
  // What the server offers names the step and the action.
  const titles = new Map(own?.actions?.map(({ title, arguments: [, , action] }) => [action, title]));
  const known = (action: Recovery["options"][number]): boolean => options.includes(action) && titles.has(action);
  const offered = (action: Recovery["options"][number] | undefined, look: ButtonOptions = {}): View =>
    action === undefined
      ? nothing
      : button(titles.get(action) ?? "", act(action), { classes: action.replace("_", "-"), ...look });
  // Where rights were lacking, to run it again with them is what helps.
  const helps =
    recovery.code?.startsWith("lacked") === true ? (["retry", "model"] as const) : (["model", "retry"] as const);
  const main = helps.find(known);
  const rest = options.filter((each) => known(each) && each !== main && each !== "skip" && each !== "accept");
  const changing = panel.forms(planId).texts[form];
  const changeArgs = ({ args = {} }: Step) =>
    panel.change(planId, (forms) => (forms.texts[form] = JSON.stringify(args, null, 2)));
  const lost = options.includes("skip") ? own?.lost : undefined;
  return html`<article class="card failure" data-step=${stepId}>
    <h3>${icon("error")}<span class="grow">${t("{0} failed", stepNumber(plan, stepId))}</span></h3>
    ${step === undefined ? nothing : html`<p class="quiet">${shown(step.description)}</p>`}
    ${failureText(recovery.error)}
    ${when(
      proposal,
      (proposal) => html`<div class="proposal">
        <p>
          ${own?.proposal == null ? nothing : html`<b>${own.proposal}</b>`}
          ${shown(proposal.why)}
        </p>
        ${proposal.args == null ? nothing : html`<pre>${shown(JSON.stringify(proposal.args, null, 2))}</pre>`}
        ${
          proposal.steps == null || proposal.steps.length === 0
            ? nothing
            : html`<ol>${proposal.steps.map((each) => html`<li>${shown(each.description)}</li>`)}</ol>`
        }
        ${known("accept") ? offered("accept") : nothing}
      </div>`,
    )}
    ${changing === undefined ? nothing : retryForm(panel, plan, recovery, changing)}
    ${lost == null ? nothing : html`<p class="quiet lost">${t("If you skip it: {0}", lost)}</p>`}
    <div class="actions">
      ${offered(main, { secondary: known("accept") })} ${known("skip") ? offered("skip", { secondary: true }) : nothing}
      ${menu(
        `more-${stepId}`,
        icon("ellipsis"),
        [
          ...rest.map((action) => ({ label: titles.get(action) ?? "", act: act(action), id: `${action}-${stepId}` })),
          options.includes("retry") && changing === undefined && step?.tool != null
            ? { label: t("Change and retry…"), act: () => changeArgs(step), id: `change-${stepId}` }
            : undefined,
        ],
        { classes: "icon-button", ariaLabel: t("More actions"), title: t("More actions") },
      )}
    </div>
  </article>`;
}

function retryForm(panel: Panel, { planId }: Plan, { stepId }: Recovery, text: string): View {
  const { problem } = readArgs(text);
  return textForm(panel, planId, `retry ${stepId}`, {
    label: t("Arguments of the retry"),
    area: { classes: "retry-args", rows: 4, monospace: true },
    note: when(
      problem,
      (words) => html`<p class="bad" role="alert">${shown(words)}</p>`,
      () => nothing,
    ),
    button: t("Retry with these"),
    look: { classes: "retry-changed", disabled: problem !== undefined },
    send: (typed) => {
      const { value, problem } = readArgs(typed);
      const params = { planId, stepId, action: "retry", args: value ?? {} } as const;
      if (problem === undefined) panel.decide(planId, "planloom/step/recover", params, `retry ${stepId}`);
    },
  });
}

/** Why a step failed, and below it what its command printed at its end, in the type of a terminal. */
function failureText(error: string): View {
  const first = firstLine(error);
  const rest = error.slice(first.length + 1);
  return html`<p class="error-text">${shown(first)}</p>
    ${rest.trim() === "" ? nothing : printed(rest, t("Details of the failure"))}`;
}
