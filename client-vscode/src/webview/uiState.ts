// The state of the panel besides the plans and their forms: the draft of a request, what was sent, what has been seen.

import * as v from "valibot";
import {
  type Decided,
  type FromPanel,
  type Mode,
  refusal,
  type ServerState,
  type ShownProposal,
  type ToPanel,
} from "../panel/messages";
import type { PanelState } from "../plan/views";
import type { CommandOutput, Mend, Template, ToolInfo } from "../protocol";
import { withReferences } from "../references";
import { t } from "../words";
import { diffKey } from "./cards/unseen";
import { type AttachedImage, addresses, withKept } from "./composer/attached";
import { type History, recalled, remembered } from "./composer/history";
import type { Verdict } from "./composer/mode";
import { type Suggestion, type TemplateForm, templateSearch, templatesFor } from "./composer/templates";
import { close, conflictKey, type Form, formsOf, type PlanForms, savedForms, withForms } from "./planForms";

export interface Notice {
  level: "info" | "warning" | "error";
  message: string;
  mends?: readonly Mend[] | undefined;
  help?: string | undefined;
}

/** A request that has no outcome yet; `notices` are those that were shown when it was sent. */
type Sent = { notices: readonly Notice[] } & (
  | { kind: "create"; text: string; images: readonly number[]; form?: TemplateForm | undefined }
  | { kind: "decision"; planId: string; form?: Form | undefined }
);

export interface Ui {
  readonly server: ServerState;
  /** The text of the composer. The page shows it and reports what is typed. */
  readonly draft: string;
  /** When the draft last changed, in milliseconds since 1970. */
  readonly draftAt: number;
  /** Whether the draft was restored from the page before, and nothing was typed since. */
  readonly restored: boolean;
  /** Whether the composer writes a new request although a plan is displayed, to which it otherwise speaks. */
  readonly asNew: boolean;
  /** Where the next drawing puts the caret. */
  readonly caret?: number | undefined;
  /** Counts changes of the draft: answers about an older draft are ignored. */
  readonly typing: number;
  /** What the rules say of a draft; of this one if it has the same `typing`. */
  readonly verdict?: Verdict | undefined;
  /** How a new request is sent; the extension keeps it for the workspace. */
  readonly mode: Mode;
  /** Whether the draft is sent the other way once the verdict on it is known. */
  readonly sendsOtherWay: boolean;
  readonly history: History;
  readonly suggestions: readonly Suggestion[];
  readonly suggestion: number;
  readonly images: readonly AttachedImage[];
  /** The id of the image that was attached last. None is used twice: the server may still answer about one that was left out. */
  readonly lastImage: number;
  /** The template that is being filled in. */
  readonly form?: TemplateForm | undefined;
  /** The templates that there are, once somebody has asked for them. */
  readonly templates?: readonly Template[] | undefined;
  /** The tools that a step can call, once a form has asked for them. */
  readonly tools?: readonly ToolInfo[] | undefined;
  readonly plans: Readonly<Record<string, PlanForms>>;
  /** How far each plan was scrolled, in pixels. */
  readonly scrolls: Readonly<Record<string, number>>;
  /** Whether the next drawing goes to the cards of the displayed plan. */
  readonly toCards: boolean;
  readonly requests: Readonly<Record<number, Sent>>;
  readonly lastRequest: number;
  /** Approvals whose card has been in view long enough for its Apply to work. */
  readonly armed: readonly string[];
  /** What was seen to its end, by the keys of unseen.ts. */
  readonly seen: readonly string[];
  /** What is proposed for the files of approvals, by the names of diffs in unseen.ts. */
  readonly proposals: Readonly<Record<string, ShownProposal>>;
  readonly notices: readonly Notice[];
  /** The files with unsaved text in the editor. */
  readonly unsaved: readonly string[];
  /** What the commands of the displayed plan have printed, as it is stored, by the keys of commandOutput.ts. */
  readonly outputs: Readonly<Record<string, readonly CommandOutput[]>>;
}

/** How many plans keep their forms, those changed last. */
const PLANS_KEPT = 20;
const NOTICES_SHOWN = 3;

const text = v.string();
const keptTemplate = v.custom<Template>(
  (value) => typeof value === "object" && value !== null && "templateId" in value && "steps" in value,
);
const keptUi = v.object({
  draft: v.fallback(text, ""),
  draftAt: v.fallback(v.number(), 0),
  sent: v.fallback(v.array(text), []),
  images: v.fallback(v.array(v.object({ id: v.number(), name: text, uri: text })), []),
  lastImage: v.fallback(v.number(), 0),
  form: v.fallback(v.optional(v.object({ template: keptTemplate, values: v.record(text, text) })), undefined),
  plans: v.fallback(v.record(text, savedForms), {}),
  scrolls: v.fallback(v.record(text, v.number()), {}),
});
export type Kept = v.InferOutput<typeof keptUi>;

/** The state of a new page; `kept` is what the page before it saved, which is checked. */
export function freshUi(kept: unknown = undefined): Ui {
  const read = v.safeParse(keptUi, kept);
  const { draft, draftAt, sent, images, lastImage, form, plans, scrolls } = read.success
    ? read.output
    : v.parse(keptUi, {});
  return {
    server: { kind: "starting", detail: t("Starting the server…") },
    draft,
    draftAt,
    restored: draft !== "",
    asNew: false,
    typing: 0,
    mode: "auto",
    sendsOtherWay: false,
    history: { sent },
    suggestions: [],
    suggestion: 0,
    images,
    lastImage,
    ...(form === undefined ? {} : { form: { ...form, typing: 0 }, asNew: true }),
    plans,
    scrolls,
    toCards: false,
    requests: {},
    lastRequest: 0,
    armed: [],
    seen: [],
    proposals: {},
    notices: [],
    unsaved: [],
    outputs: {},
  };
}

/** What the next page needs. */
export function kept({ draft, draftAt, history, images, lastImage, form, plans, scrolls }: Ui): Kept {
  const last = <V>(of: Readonly<Record<string, V>>) => Object.fromEntries(Object.entries(of).slice(-PLANS_KEPT));
  return {
    draft,
    draftAt,
    sent: [...history.sent],
    images: images.flatMap(({ id, name, uri }) => (uri === undefined ? [] : [{ id, name, uri }])),
    lastImage,
    form: form && { template: form.template, values: form.values },
    plans: last(plans),
    scrolls: last(scrolls),
  };
}

/** The state after the user has typed. */
export function written(ui: Ui, draft: string, now: number): Ui {
  return {
    ...ui,
    draft,
    draftAt: now,
    restored: false,
    typing: ui.typing + 1,
    suggestions: [],
    sendsOtherWay: false,
  };
}

/** The state with another mode; what waited for a verdict is not sent by it. */
export function withMode(ui: Ui, mode: Mode): Ui {
  return { ...ui, mode, sendsOtherWay: false };
}

/** The state with the text that was sent before or after the one that is shown; undefined if an arrow only moves. */
export function withRecalled(ui: Ui, by: -1 | 1, now: number): Ui | undefined {
  const found = recalled(ui.history, ui.draft, by);
  if (found === undefined) return undefined;
  return { ...written(ui, found.draft, now), history: found.history, caret: found.draft.length };
}

/** Add a text to the draft, unless the draft ends with it already, and put the caret at its end. */
export function composed(ui: Ui, added: string | undefined, now: number): Ui {
  const before = ui.draft.trimEnd();
  const isThere = added === undefined || `\n${before}`.endsWith(`\n${added.trim()}`);
  const draft = isThere ? ui.draft : before === "" ? added : `${before}\n${added}`;
  return { ...(draft === ui.draft ? ui : written(ui, draft, now)), caret: draft.length };
}

/** Add references after the draft, and put the caret behind them. */
function withAdded(ui: Ui, references: readonly string[], now: number): Ui {
  const draft = withReferences(ui.draft, references);
  return draft === ui.draft ? ui : { ...written(ui, draft, now), caret: draft.length };
}

/** The state with the form of a template open. The slash that searched for it goes from the draft. */
export function withTemplate(ui: Ui, template: Template): Ui {
  const searched = templateSearch(ui.draft) !== undefined;
  return {
    ...ui,
    asNew: true,
    suggestions: [],
    draft: searched ? "" : ui.draft,
    typing: searched ? ui.typing + 1 : ui.typing,
    form: { template, values: {}, typing: 0 },
  };
}

export function withoutTemplate(ui: Ui): Ui {
  return { ...ui, form: undefined };
}

/** The state with another value for a parameter of the open form. */
export function withValue(ui: Ui, name: string, value: string): Ui {
  const { form } = ui;
  if (form === undefined) return ui;
  return { ...ui, form: { ...form, values: { ...form.values, [name]: value }, typing: form.typing + 1 } };
}

/** The state with one more image, which has no place until the server has kept it. */
export function withNewImage(ui: Ui, name: string): Ui {
  const id = ui.lastImage + 1;
  return { ...ui, lastImage: id, images: [...ui.images, { id, name }] };
}

/** Whether what the composer has sent has no outcome yet: a second request would make a second plan. */
export function isSending(ui: Ui): boolean {
  return Object.values(ui.requests).some((sent) => sent.kind === "create");
}

function imagesOnTheirWay(ui: Ui): readonly number[] {
  return Object.values(ui.requests).flatMap((sent) => (sent.kind === "create" ? sent.images : []));
}

/** Whether the composer can send: the server runs, and has answered what was sent and kept what was pasted. */
export function canSend(ui: Ui): boolean {
  return ui.server.kind === "running" && !isSending(ui) && addresses(ui.images) !== undefined;
}

/** Whether the request of this form has no outcome yet. */
export function isBusy(ui: Ui, planId: string, form: Form): boolean {
  return Object.values(ui.requests).some(
    (sent) => sent.kind === "decision" && sent.planId === planId && sent.form === form,
  );
}

/** What the composer sends: a request for a plan, or a message to one. */
export type Create = Without<Extract<FromPanel, { kind: "create" | "message" }>>;
type Without<M> = M extends { requestId?: number | undefined } ? Omit<M, "requestId"> : never;
/** A decision about a plan, without the number of its request. */
export type Decision = Without<Decided>;

/** The message with what is written in the composer, or none while another one has no outcome. */
export function created(ui: Ui, message: Create): { ui: Ui; message?: FromPanel } {
  const images = addresses(ui.images);
  if (message.text.trim() === "" || images === undefined || !canSend(ui)) return { ui };
  const form = message.kind === "create" && message.templateId !== undefined ? ui.form : undefined;
  const whole = images.length === 0 || form !== undefined ? message : { ...message, images };
  const sent = ui.images.map(({ id }) => id);
  return asked(ui, whole, { kind: "create", text: message.text, images: sent, form, notices: ui.notices });
}

/** The message of a decision, or none while the form has sent another. `form` closes once the decision is accepted. */
export function decided(ui: Ui, planId: string, message: Decision, form?: Form): { ui: Ui; message?: FromPanel } {
  if (form !== undefined && isBusy(ui, planId, form)) return { ui };
  return asked(ui, message, { kind: "decision", planId, form, notices: ui.notices });
}

/** The message with its number; or a notice that says why the extension would refuse it. */
function asked(ui: Ui, unnumbered: Create | Decision, sent: Sent): { ui: Ui; message?: FromPanel } {
  const requestId = ui.lastRequest + 1;
  const message = { ...unnumbered, requestId } as FromPanel;
  const problem = refusal(message);
  if (problem !== undefined) return { ui: withNotice(ui, { level: "error", message: problem }) };
  return { ui: { ...ui, lastRequest: requestId, requests: { ...ui.requests, [requestId]: sent } }, message };
}

/** The state after a message of the extension; `state` is that of the plans after the same message. */
export function taken(ui: Ui, message: ToPanel, state: PanelState): Ui {
  switch (message.kind) {
    case "state":
      return withoutSentDraft(ui, state);
    case "updates":
      return withoutSentDraft(withoutAnswered(ui, state), state);
    case "server":
      return { ...ui, server: message.server };
    case "completions":
      return message.requestId === ui.typing
        ? { ...ui, suggestions: message.items, suggestion: ui.suggestions.length > 0 ? ui.suggestion : 0 }
        : ui;
    case "detection":
      return message.requestId === ui.typing
        ? { ...ui, verdict: { typing: ui.typing, detection: message.detection, planned: message.planned } }
        : ui;
    case "mode":
      return withMode(ui, message.mode);
    case "compose": {
      const added = withAdded(composed(ui, message.text, Date.now()), message.references ?? [], Date.now());
      return message.template === undefined ? { ...added, asNew: true } : withTemplate(added, message.template);
    }
    case "image":
      return { ...ui, images: withKept(ui.images, message.requestId, message.uri, imagesOnTheirWay(ui)) };
    case "templates": {
      const search = templateSearch(ui.draft);
      const known = { ...ui, templates: message.templates };
      if (search === undefined) return known;
      return { ...known, suggestions: templatesFor(search, message.templates), suggestion: 0 };
    }
    case "tools":
      return { ...ui, tools: message.tools };
    case "templatePreview":
      return ui.form?.template.templateId === message.templateId && ui.form.typing === message.requestId
        ? { ...ui, form: { ...ui.form, preview: message.preview } }
        : ui;
    case "display":
      return { ...ui, toCards: true };
    case "output":
      return { ...ui, outputs: { ...ui.outputs, [message.key]: message.commands } };
    case "graph":
      return state.current === undefined
        ? ui
        : withForms(ui, state.current, (forms) => (forms.drawn = forms.drawn !== true));
    case "notice":
      return withNotice(ui, message);
    case "seen":
      return withSeen(ui, diffKey(message.approvalId, message.uri));
    case "unsaved":
      return { ...ui, unsaved: message.uris };
    case "proposal": {
      const { kind: _, ...proposal } = message;
      return { ...ui, proposals: { ...ui.proposals, [diffKey(proposal.approvalId, proposal.uri)]: proposal } };
    }
    case "merged":
      return withForms(ui, message.planId, (forms) => {
        const key = conflictKey(message.editId, message.uri);
        forms.merged[key] = { mine: message.mine, text: message.text };
        forms.choices[key] = "text";
      });
    case "sent":
      return ui.draft.startsWith(message.text)
        ? written({ ...ui, images: [] }, ui.draft.slice(message.text.length), 0)
        : ui;
    case "settled":
      return settled(ui, message.requestId, message.ok);
  }
}

/** The state when another plan is displayed: its cards come into view only then, and what it printed is asked for. */
export function withOtherPlan(ui: Ui): Ui {
  return { ...ui, armed: [], outputs: {} };
}

/** Show a notice; the oldest goes if there are many. */
export function withNotice(ui: Ui, notice: Notice): Ui {
  return { ...ui, notices: [...ui.notices, notice].slice(-NOTICES_SHOWN) };
}

/** Note that something was seen to its end. */
export function withSeen(ui: Ui, key: string): Ui {
  return ui.seen.includes(key) ? ui : { ...ui, seen: [...ui.seen, key] };
}

/** Note that a card has been in view long enough. */
export function withArmed(ui: Ui, id: string): Ui {
  return ui.armed.includes(id) ? ui : { ...ui, armed: [...ui.armed, id] };
}

/** Forget the texts of approvals that were answered. */
function withoutAnswered(ui: Ui, { plans }: PanelState): Ui {
  const shown = Object.entries(ui.proposals);
  if (shown.length === 0) return ui;
  const open = new Set(
    Object.values(plans).flatMap(({ plan }) => plan.pending.approvals.map((each) => each.approvalId)),
  );
  const proposals = shown.filter(([, { approvalId }]) => open.has(approvalId));
  return proposals.length === shown.length ? ui : { ...ui, proposals: Object.fromEntries(proposals) };
}

/** A page may close before it hears that its request was accepted; then the plan itself shows that it was. */
function withoutSentDraft(ui: Ui, state: PanelState): Ui {
  if (!ui.restored) return ui;
  const sent = Object.values(state.plans).find(
    ({ plan }) => plan.request.trim() === ui.draft.trim() && Date.parse(plan.createdAt) >= ui.draftAt,
  );
  if (sent === undefined) return ui;
  const attached = sent.plan.attachments.map((each) => each.uri);
  const images = ui.images.filter(({ uri }) => !attached.includes(uri));
  return { ...ui, draft: "", images, restored: false, typing: ui.typing + 1 };
}

/** A request was accepted or refused. Refused text stays, so that the user can correct it. */
function settled(ui: Ui, requestId: number, ok: boolean): Ui {
  const { [requestId]: sent, ...requests } = ui.requests;
  if (sent === undefined) return ui;
  const rest = { ...ui, requests };
  if (!ok) return sent.kind === "decision" && sent.form === "step" ? refusedStep(rest, sent.planId) : rest;
  const accepted = {
    ...rest,
    asNew: sent.kind === "create" ? false : ui.asNew,
    notices: ui.notices.filter((notice) => !sent.notices.includes(notice)),
  };
  if (sent.kind === "create" && sent.form !== undefined)
    return ui.form?.template === sent.form.template ? { ...accepted, form: undefined } : accepted;
  if (sent.kind === "create") {
    const images = ui.images.filter(({ id }) => !sent.images.includes(id));
    const after = { ...accepted, images, history: remembered(ui.history, sent.text) };
    return ui.draft.startsWith(sent.text)
      ? { ...written(after, ui.draft.slice(sent.text.length).trimStart(), ui.draftAt), caret: ui.caret }
      : after;
  }
  const { form } = sent;
  return form === undefined ? accepted : withForms(accepted, sent.planId, (forms) => close(forms, form));
}

/** Moves the problem of a step into its form, which may be far from the notices. */
function refusedStep(ui: Ui, planId: string): Ui {
  const notice = ui.notices.at(-1);
  if (notice === undefined || formsOf(ui, planId).step === undefined) return ui;
  const shown = withForms(ui, planId, (forms) => {
    if (forms.step !== undefined) forms.step.problem = notice.message;
  });
  return { ...shown, notices: ui.notices.slice(0, -1) };
}
