// The messages between panel and extension. Each side checks what it receives.

import * as v from "valibot";

import type { PanelState } from "../plan/views";
import {
  type CommandOutput,
  type DetectResult,
  type Event,
  MENDS,
  REVIEWS,
  type ReferenceItem,
  type Requests,
  type ReviewChoice,
  type StreamParams,
  type Template,
  type TemplatePreviewResult,
  type ToolInfo,
  type ViewParams,
} from "../protocol";
import { number, t } from "../words";

const id = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const text = v.pipe(v.string(), v.maxLength(1_000_000));
/** The text of a file, which may be large. */
const fileText = v.pipe(v.string(), v.maxLength(20_000_000));
const version = v.pipe(v.number(), v.integer());
const offset = v.pipe(v.number(), v.integer(), v.minValue(0));
const json: v.GenericSchema<unknown> = v.lazy((value) =>
  Array.isArray(value)
    ? v.array(json)
    : typeof value === "object" && value !== null
      ? v.record(v.string(), json)
      : v.union([v.undefined(), v.null(), v.boolean(), v.number(), fileText]),
);
const review = v.picklist(REVIEWS);
const mode = v.picklist(["auto", "plan", "direct", "perspectives"]);
export type Mode = v.InferOutput<typeof mode>;
/** Set if the panel waits for the outcome, which the extension sends as `settled` with the same number. */
const numbered = { requestId: v.optional(v.number()) };

/** The ways to a model that the panel offers. */
const WAYS = ["ollama", "key", "address", "editor", "without"] as const;
export type Way = (typeof WAYS)[number];

/** The requests of the server by which a person decides about a plan. The panel sends their params, and the server checks them. */
const DECISIONS = [
  "planloom/plan/approve",
  "planloom/plan/reject",
  "planloom/plan/regenerate",
  "planloom/plan/restore",
  "planloom/plan/edit",
  "planloom/plan/direct",
  "planloom/plan/pause",
  "planloom/plan/resume",
  "planloom/plan/review",
  "planloom/plan/cancel",
  "planloom/plan/undo",
  "planloom/approval/respond",
  "planloom/step/answer",
  "planloom/step/recover",
  "planloom/conflict/resolve",
] as const satisfies readonly (keyof Requests)[];
export type DecisionMethod = (typeof DECISIONS)[number];
/** A decision with the params of its method. */
export type Decided<M extends DecisionMethod = DecisionMethod> = M extends DecisionMethod
  ? { kind: "decide"; requestId?: number | undefined; method: M; params: Requests[M]["params"] }
  : never;

const kind = <K extends string>(name: K): { kind: v.LiteralSchema<K, undefined> } => ({ kind: v.literal(name) });

/** Messages of the panel. A decision that depends on what was displayed names that version of the plan. */
const fromPanel = v.variant("kind", [
  v.strictObject({ ...kind("ready") }),
  v.strictObject({
    ...kind("create"),
    ...numbered,
    text,
    mode,
    sessionId: v.optional(id),
    templateId: v.optional(id),
    parameters: v.optional(v.record(id, text)),
    images: v.optional(v.array(text)),
  }),
  v.strictObject({ ...kind("message"), ...numbered, planId: id, text, images: v.optional(v.array(text)) }),
  v.strictObject({ ...kind("image"), requestId: v.number(), data: v.pipe(v.string(), v.maxLength(6_700_000)) }),
  v.strictObject({ ...kind("dropped"), uris: v.array(text) }),
  v.strictObject({ ...kind("complete"), requestId: v.number(), text, offset }),
  v.strictObject({ ...kind("detect"), requestId: v.number(), text }),
  v.strictObject({ ...kind("templates") }),
  v.strictObject({ ...kind("tools") }),
  v.strictObject({
    ...kind("previewTemplate"),
    requestId: v.number(),
    templateId: id,
    parameters: v.record(id, text),
  }),
  v.strictObject({ ...kind("mode"), mode }),
  v.strictObject({ ...kind("decide"), ...numbered, method: v.picklist(DECISIONS), params: v.record(v.string(), json) }),
  v.strictObject({ ...kind("diff"), approvalId: id, uri: v.optional(text), line: v.optional(offset) }),
  v.strictObject({ ...kind("changes"), planId: id, uri: v.optional(text) }),
  v.strictObject({ ...kind("preview"), approvalId: id, uri: text }),
  v.strictObject({ ...kind("leaveOut"), approvalId: id, uri: text, hunks: v.array(offset) }),
  v.strictObject({ ...kind("merge"), planId: id, editId: id, uri: text }),
  v.strictObject({ ...kind("save"), uris: v.array(text) }),
  v.strictObject({ ...kind("review"), planId: id, review }),
  v.strictObject({ ...kind("saveAndGoOn"), planId: id }),
  v.strictObject({ ...kind("select"), planId: id }),
  v.strictObject({ ...kind("output"), planId: id, stepId: id, key: text }),
  v.strictObject({ ...kind("openOutput"), planId: id, stepId: id, callId: id }),
  v.strictObject({ ...kind("runInTerminal"), planId: id, stepId: id, callId: id }),
  v.strictObject({ ...kind("export"), planId: id }),
  v.strictObject({ ...kind("open"), uri: text, line: v.optional(offset) }),
  v.strictObject({ ...kind("setUp"), way: v.picklist(WAYS) }),
  /** `draft` is what is written in the composer, where a folder is opened for it. */
  v.strictObject({ ...kind("mend"), mend: v.picklist(MENDS), planId: v.optional(id), draft: v.optional(v.string()) }),
  v.strictObject({
    ...kind("show"),
    what: v.picklist(["log", "plans", "models", "settings", "python", "restart", "document"]),
  }),
]);

/** An object of the protocol, recognised by these fields. */
const having = <T>(...names: readonly string[]) =>
  v.custom<T>((value) => typeof value === "object" && value !== null && names.every((name) => name in value));
const known = having<PanelState>("plans");
const view = having<ViewParams>("planId", "number");
const delta = having<StreamParams>("delta");
const commandOutput = having<CommandOutput>("callId");
const detection = having<DetectResult>("planned");
const completion = having<ReferenceItem>("insertText");
const template = having<Template>("templateId", "parameters");
const tool = having<ToolInfo>("name", "parameters");
const reviewChoice = having<ReviewChoice>("review", "asks");
const templatePreview = having<TemplatePreviewResult>("problems");

/** The state of the server, as the panel shows it. */
export const serverState = v.variant("kind", [
  /** Nothing has needed it yet. */
  v.strictObject({ ...kind("idle") }),
  v.strictObject({ ...kind("starting"), detail: v.string() }),
  v.strictObject({
    ...kind("running"),
    model: v.string(),
    problems: v.array(v.string()),
    trusted: v.boolean(),
    /** Set if no folder is open. */
    noFolder: v.optional(v.boolean()),
    review,
    reviews: v.array(reviewChoice),
    /** Set if no model is set up: whether the editor has one of its own, and whether a request is held for that. */
    needsModel: v.optional(v.strictObject({ editor: v.boolean(), held: v.boolean() })),
  }),
  v.strictObject({ ...kind("stopped"), detail: v.string() }),
  v.strictObject({ ...kind("noPython"), detail: v.string() }),
]);
export type ServerState = v.InferOutput<typeof serverState>;

/** What is proposed for a file. `text` is what an Apply would make of it, with the hunks at the places `left` left out. */
const shownProposal = v.strictObject({
  approvalId: v.string(),
  uri: v.string(),
  now: v.nullable(v.string()),
  proposed: v.nullable(v.string()),
  text: v.string(),
  left: v.array(v.number()),
});
export type ShownProposal = v.InferOutput<typeof shownProposal>;

/** Messages of the extension. */
const toPanel = v.variant("kind", [
  v.strictObject({ ...kind("state"), state: known }),
  v.strictObject({ ...kind("updates"), updates: v.array(v.union([view, delta])) }),
  v.strictObject({ ...kind("server"), server: serverState }),
  v.strictObject({ ...kind("completions"), requestId: v.number(), items: v.array(completion) }),
  v.strictObject({ ...kind("detection"), requestId: v.number(), detection, planned: v.boolean() }),
  v.strictObject({ ...kind("mode"), mode }),
  v.strictObject({
    ...kind("compose"),
    text: v.optional(v.string()),
    references: v.optional(v.array(v.string())),
    template: v.optional(template),
  }),
  v.strictObject({ ...kind("image"), requestId: v.number(), uri: v.optional(v.string()) }),
  v.strictObject({ ...kind("templates"), templates: v.array(template) }),
  v.strictObject({ ...kind("tools"), tools: v.array(tool) }),
  v.strictObject({
    ...kind("templatePreview"),
    requestId: v.number(),
    templateId: v.string(),
    preview: templatePreview,
  }),
  v.strictObject({ ...kind("display") }),
  v.strictObject({ ...kind("output"), key: v.string(), commands: v.array(commandOutput) }),
  v.strictObject({ ...kind("graph") }),
  v.strictObject({
    ...kind("notice"),
    level: v.picklist(["info", "warning", "error"]),
    message: v.string(),
    mends: v.optional(v.array(v.picklist(MENDS))),
    help: v.optional(v.string()),
  }),
  v.strictObject({ ...kind("seen"), approvalId: v.string(), uri: v.string() }),
  v.strictObject({ ...kind("unsaved"), uris: v.array(v.string()) }),
  v.strictObject({ ...kind("proposal"), ...shownProposal.entries }),
  v.strictObject({
    ...kind("merged"),
    planId: v.string(),
    editId: v.string(),
    uri: v.string(),
    mine: v.string(),
    text: v.string(),
  }),
  /** A request that was held has gone: its text goes from the composer. */
  v.strictObject({ ...kind("sent"), text: v.string() }),
  v.strictObject({ ...kind("settled"), requestId: v.number(), ok: v.boolean() }),
]);

export type FromPanel = Exclude<v.InferOutput<typeof fromPanel>, { kind: "decide" }> | Decided;
export type ToPanel = v.InferOutput<typeof toPanel>;

/** The message, or undefined if the value is none. */
export function readFromPanel(value: unknown): FromPanel | undefined {
  const read = v.safeParse(fromPanel, value);
  return read.success ? (read.output as FromPanel) : undefined;
}

/** Why the extension would refuse a message of the panel; undefined if it would accept it. */
export function refusal(message: FromPanel): string | undefined {
  const read = v.safeParse(fromPanel, message);
  if (read.success) return undefined;
  const long = read.issues.find(({ type, input }) => type === "max_length" && typeof input === "string");
  if (long === undefined) return t("This was not sent: {0}", read.issues[0].message);
  const [length, most] = [String(long.input).length, Number(long.requirement)];
  return t("This was not sent: a text in it has {0} characters, and {1} are allowed.", number(length), number(most));
}

/** The message, or undefined if the value is none. */
export function readToPanel(value: unknown): ToPanel | undefined {
  const read = v.safeParse(toPanel, value);
  return read.success ? read.output : undefined;
}

/** Whether a value has the fields of every event; unknown types pass, since a newer server may send them. */
export function isEvent(value: unknown): value is Event {
  return v.is(v.looseObject({ seq: version, planId: v.string(), type: v.string(), at: v.string() }), value);
}
