// One plan as the panel shows it: the plan, and the files, calls, texts and reasons that only its events carry.

import type {
  Agent,
  Answer,
  BackgroundEnded,
  ChangeKind,
  ClarificationProvided,
  CommandChanged,
  Detection,
  EditApplied,
  EditConflict,
  EditedFile,
  EditRejected,
  EditReverted,
  EditStarted,
  Event,
  FilesRenamed,
  JsonObject,
  Log,
  Plan,
  PlanPaused,
  PlanStart,
  PlanStatus,
  Spent,
  StepWait,
  StreamParams,
  Unresolved,
} from "../protocol";
import { number, t } from "../words";
import { type Clocks, foldClocks } from "./clocks";
import { change, foldPlan, NO_PENDING, NO_USAGE, unchanged } from "./planFold";

/** How many characters of a running answer and how many log lines are kept. */
const STREAM_KEPT = 4000;
const LOG_KEPT = 200;

export interface OpenCall {
  callId: string;
  stepId: string;
  tool: string;
  args: JsonObject;
}

/** A command that runs on after the call that has started it. */
export interface BackgroundCommand {
  commandId: string;
  stepId: string;
  command: string;
}

export interface ChangedFile {
  editId: string;
  stepId: string;
  uri: string;
  /** The name after a rename. */
  newUri?: string | undefined;
  change: ChangeKind;
  state: "writing" | "applied" | "refused" | "reverted" | "conflict";
  merged: boolean;
  outcome?: EditApplied["outcome"];
  reason?: string;
  /** Whether a command has changed it; `lasting` if it cannot be taken back. */
  byCommand?: boolean;
  lasting?: boolean;
}

/** An undo by the user, which is an edit too: reverting it applies the edits that it reverted again. */
export interface Undo {
  editId: string;
  reverted: readonly string[];
}

export interface LogLine {
  level: Log["level"];
  message: string;
  at: string;
}

export interface DraftOutcome {
  version: number;
  feedback?: string | undefined;
  failed: boolean;
  warnings: readonly string[];
}

export interface AskedQuestion {
  stepId: string;
  question: string;
  answer?: string;
}

/** A plan and what only its events carry. `folded` is the number of the last folded event. */
export interface PlanView {
  plan: Plan;
  folded: number;
  detection?: Detection;
  unresolved: readonly Unresolved[];
  calls: readonly OpenCall[];
  background: readonly BackgroundCommand[];
  files: readonly ChangedFile[];
  undos: readonly Undo[];
  streams: Readonly<Record<string, string>>;
  /** The end of what the model has written between its calls in each step's last run. */
  words: Readonly<Record<string, string>>;
  /** The end of what the commands of each step's last run have printed. */
  printed: Readonly<Record<string, string>>;
  asking: readonly Agent[];
  perspectiveErrors: Readonly<Partial<Record<Agent, string>>>;
  retries: Readonly<Record<string, string>>;
  clocks: Clocks;
  /** The draft that the user asked for last, until the plan is approved: with what feedback, whether it came to nothing, and what was warned of. */
  draft?: DraftOutcome;
  /** The questions that steps have asked, with their answers, in order. */
  asked: readonly AskedQuestion[];
  /** The steps that wait for what another step uses, as the server reported them last. */
  waits: readonly StepWait[];
  /** What it has used of models, with its cost, as the server reported it last. */
  spent?: Spent;
  pause?: Pick<PlanPaused, "reason" | "detail" | "modelProblem" | "at">;
  answer?: { text: string; confidence?: Answer["confidence"] };
  feedback?: string;
  log: readonly LogLine[];
}

/** Statuses in which edits can be undone. */
export const UNDOABLE: readonly PlanStatus[] = ["paused", "completed", "failed", "cancelled"];

/** The view of a new plan. */
export function begun(event: PlanStart): PlanView {
  const plan: Plan = {
    planId: event.planId,
    sessionId: event.sessionId,
    version: 0,
    seq: event.seq,
    status: "draft",
    workspaceFolders: event.workspaceFolders,
    request: event.request,
    follows: event.follows,
    attachments: event.attachments,
    qualification: event.qualification,
    perspectives: {},
    summary: "",
    steps: [],
    sequential: false,
    overallRisk: event.qualification?.riskLevel ?? "low",
    route: event.route,
    author: "rules",
    usage: NO_USAGE,
    pending: NO_PENDING,
    createdAt: event.at,
  };
  return {
    plan,
    folded: event.seq,
    detection: event.detection,
    unresolved: event.unresolved,
    calls: [],
    background: [],
    files: [],
    undos: [],
    streams: {},
    words: {},
    printed: {},
    asking: [],
    perspectiveErrors: {},
    retries: {},
    clocks: {},
    asked: [],
    waits: [],
    log: [],
  };
}

/** The view after an event. */
export function foldView(view: PlanView, event: Event): PlanView {
  const around = { ...foldAround(view, event), clocks: foldClocks(view.clocks, event) };
  const plan = event.seq > view.plan.seq ? { ...foldPlan(view.plan, event), seq: event.seq } : view.plan;
  const shown =
    event.seq > view.plan.seq ? withReverted(withSettledCall(view, plan, event), around.files, event) : plan;
  return { ...around, plan: shown, folded: event.seq };
}

/** Adds a completed call to its step. The event has only the call's id; tool and arguments come from its start. */
function withSettledCall(view: PlanView, plan: Plan, event: Event): Plan {
  if (event.type !== "tool_completed") return plan;
  const call = view.calls.find((each) => each.callId === event.callId);
  if (call === undefined) return plan;
  const { ok, deduplicated, summary, durationMs } = event;
  const executed = { tool: call.tool, args: call.args, ok, deduplicated, summary, durationMs };
  return change(plan, call.stepId, (step) => ({ ...step, toolsExecuted: [...step.toolsExecuted, executed] }));
}

/** Marks each step whose edits were undone, as a whole or in part. */
function withReverted(plan: Plan, files: readonly ChangedFile[], event: Event): Plan {
  if (event.type !== "edit_reverted" && event.type !== "edit_applied") return plan;
  const steps = plan.steps.map((step) => {
    const states = files.filter((file) => file.stepId === step.stepId).map((file) => file.state);
    const reverted = !states.includes("reverted") ? undefined : states.includes("applied") ? "part" : "whole";
    return { ...step, reverted } as const;
  });
  return { ...plan, steps };
}

/** Folds what the plan itself does not hold: files, calls, texts, reasons. */
function foldAround(view: PlanView, event: Event): PlanView {
  switch (event.type) {
    case "plan_routed":
      return { ...view, detection: event.detection };
    case "plan_drafting":
      return {
        ...view,
        feedback: event.feedback,
        draft: { version: event.version, feedback: event.feedback, failed: false, warnings: [] },
        streams: {},
        asking: [],
        perspectiveErrors: {},
        pause: undefined,
      };
    case "plan_ready":
    case "plan_direct": {
      // A version before the one that was drafted is the earlier plan, which has come back.
      const failed = view.draft !== undefined && event.plan.version < view.draft.version;
      const draft = view.draft === undefined ? undefined : { ...view.draft, failed };
      return { ...view, feedback: undefined, draft, streams: {}, asking: [], calls: [], pause: undefined };
    }
    case "plan_approved":
      return { ...view, draft: undefined };
    case "clarification_request":
      return { ...view, asked: [...view.asked, { stepId: event.taskId, question: event.question }] };
    case "clarification_provided":
      return { ...view, asked: answered(view.asked, event) };
    case "plan_edited":
    case "plan_resumed":
    case "plan_executing":
      return { ...view, pause: undefined };
    case "plan_paused":
      return {
        ...view,
        pause: { reason: event.reason, detail: event.detail, modelProblem: event.modelProblem, at: event.at },
      };
    case "plan_completed":
    case "plan_failed":
    case "plan_cancelled":
      return { ...view, calls: [], streams: {}, asking: [], pause: undefined };
    case "perspective_start":
      return { ...view, asking: [...view.asking, event.agent] };
    case "perspective_complete":
      return withPerspectiveEnd(view, event.agent, event.error);
    case "tool_started": {
      const { callId, taskId, tool, args } = event;
      const said = view.words[taskId];
      const words = said === undefined ? view.words : { ...view.words, [taskId]: `${said.trimEnd()}\n\n` };
      return { ...view, words, calls: [...view.calls, { callId, stepId: taskId, tool, args }] };
    }
    case "tool_completed":
      return { ...view, calls: view.calls.filter((call) => call.callId !== event.callId) };
    case "background_started": {
      const { commandId, taskId, command } = event;
      return { ...view, background: [...view.background, { commandId, stepId: taskId, command }] };
    }
    case "background_ended":
      return withoutCommand(view, event);
    case "task_started":
      return { ...view, words: omit(view.words, event.taskId), printed: omit(view.printed, event.taskId) };
    case "task_update":
      return event.status === "pending" ? withoutCalls(view, event.taskId) : view;
    case "task_completed":
      return withoutCalls({ ...view, retries: omit(view.retries, event.taskId) }, event.taskId);
    case "task_failed":
      return withoutCalls(
        {
          ...view,
          retries: event.willRetry
            ? { ...view.retries, [event.taskId]: event.error }
            : omit(view.retries, event.taskId),
        },
        event.taskId,
      );
    case "task_skipped":
      return withoutCalls(view, event.taskId);
    case "answer":
      return { ...view, answer: { text: event.text, confidence: event.confidence } };
    case "plan_imported":
      return logged(view, "info", t("The plan was imported from another machine."), event.at);
    case "log":
      return logged(withDraftWarning(view, event), event.level, event.message, event.at);
    case "context_compacted":
      return logged(
        view,
        "info",
        t("Context compacted from {0} to {1} tokens.", number(event.beforeTokens), number(event.afterTokens)),
        event.at,
      );
    case "edit_started":
    case "edit_applied":
    case "edit_rejected":
    case "edit_reverted":
    case "edit_conflict":
    case "command_changed":
    case "files_renamed":
      return foldFiles(view, event);
    // These change only the plan itself.
    case "plan_start":
    case "plan_message":
    case "messages_read":
    case "plan_approval_request":
    case "plan_rejected":
    case "task_created":
    case "tasks_list":
    case "steps_unrolled":
    case "approval_request":
    case "approval_resolved":
    case "conflict_resolved":
    case "check_completed":
    case "condition_evaluated":
    case "recovery_request":
    case "recovery_chosen":
    case "model_used":
      return view;
    default:
      return unchanged(view, event);
  }
}

/** The questions with an answer to the last one of its step. */
function answered(
  asked: readonly AskedQuestion[],
  { taskId, answer }: ClarificationProvided,
): readonly AskedQuestion[] {
  const open = asked.findLastIndex((each) => each.stepId === taskId && each.answer === undefined);
  return asked.map((each, index) => (index === open ? { ...each, answer } : each));
}

/** A warning while a plan is under review is about its draft. */
function withDraftWarning(view: PlanView, { level, message }: Log): PlanView {
  if (view.draft === undefined || level === "info" || level === "debug") return view;
  if (view.plan.status !== "draft" && view.plan.status !== "pending_approval") return view;
  return { ...view, draft: { ...view.draft, warnings: [...view.draft.warnings, message] } };
}

type EditEvent = EditStarted | EditApplied | EditRejected | EditReverted | EditConflict | CommandChanged | FilesRenamed;

function foldFiles(view: PlanView, event: EditEvent): PlanView {
  switch (event.type) {
    case "edit_started": {
      const { editId } = event;
      // A plan that does not run changes files only when the user undoes something.
      if (UNDOABLE.includes(view.plan.status)) return { ...view, undos: [...view.undos, { editId, reverted: [] }] };
      const stepId = event.taskId ?? "";
      const files = event.files.map(
        ({ uri, newUri, change }): ChangedFile => ({
          editId,
          stepId,
          uri,
          newUri,
          change,
          state: "writing",
          merged: false,
        }),
      );
      return { ...view, files: [...view.files.filter((file) => file.editId !== editId), ...files] };
    }
    case "edit_applied": {
      const { editId, merged, outcome } = event;
      if (view.undos.some((undo) => undo.editId === editId)) return view;
      const stepId = event.taskId ?? "";
      const files = event.files.map(
        ({ uri, newUri, change }): ChangedFile => ({
          editId,
          stepId,
          uri,
          newUri,
          change,
          state: "applied",
          merged,
          outcome,
        }),
      );
      return { ...view, files: [...view.files.filter((file) => file.editId !== editId), ...files] };
    }
    case "command_changed": {
      const { editId, taskId, files = [], unknown = [] } = event;
      const made = [...files, ...unknown].map(
        ({ uri, newUri, change }, place): ChangedFile => ({
          editId,
          stepId: taskId ?? "",
          uri,
          newUri,
          change,
          state: "applied",
          merged: false,
          byCommand: true,
          lasting: place >= files.length,
        }),
      );
      return { ...view, files: [...view.files.filter((file) => file.editId !== editId), ...made] };
    }
    case "files_renamed": {
      const files = view.files.map((file) => event.files.reduce(renamed, file));
      return { ...view, files };
    }
    case "edit_rejected":
      return { ...view, files: marked(view.files, event, { state: "refused", reason: event.reason }) };
    case "edit_reverted":
      return takenBack(view, event);
    case "edit_conflict": {
      const { editId, files } = event.conflict;
      return { ...view, files: marked(view.files, { editId, files }, { state: "conflict" }) };
    }
  }
}

/** A file under the name that it has since the user has renamed it, or a folder above it. */
function renamed(file: ChangedFile, { uri, newUri = uri }: EditedFile): ChangedFile {
  const shown = file.newUri ?? file.uri;
  if (shown !== uri && !shown.startsWith(`${uri}/`)) return file;
  return { ...file, newUri: newUri + shown.slice(uri.length) };
}

function takenBack(view: PlanView, event: { editId: string; files: readonly { uri: string }[] }): PlanView {
  const undone = view.undos.find((undo) => undo.editId === event.editId);
  if (undone !== undefined) {
    const files = view.files.map(
      (file): ChangedFile => (undone.reverted.includes(file.editId) ? { ...file, state: "applied" } : file),
    );
    // It stays, since the editor's own redo applies it again.
    return { ...view, files, undos: view.undos.map((undo) => (undo === undone ? { ...undo, reverted: [] } : undo)) };
  }
  const undos = view.undos.map((undo, index) =>
    index === view.undos.length - 1 ? { ...undo, reverted: [...undo.reverted, event.editId] } : undo,
  );
  return { ...view, undos, files: marked(view.files, event, { state: "reverted" }) };
}

function marked(
  files: readonly ChangedFile[],
  event: { editId: string; files: readonly { uri: string }[] },
  as: Partial<ChangedFile>,
): readonly ChangedFile[] {
  const uris = new Set(event.files.map((file) => file.uri));
  return files.map((file) => (file.editId === event.editId && uris.has(file.uri) ? { ...file, ...as } : file));
}

function withPerspectiveEnd(view: PlanView, agent: Agent, error: string | undefined): PlanView {
  const asking = view.asking.filter((each) => each !== agent);
  return {
    ...view,
    asking,
    perspectiveErrors: error === undefined ? view.perspectiveErrors : { ...view.perspectiveErrors, [agent]: error },
  };
}

function withoutCalls(view: PlanView, stepId: string): PlanView {
  return { ...view, calls: view.calls.filter((call) => call.stepId !== stepId), streams: omit(view.streams, stepId) };
}

/** The view without a background command; an end that nobody asked for is told. */
function withoutCommand(view: PlanView, { commandId, reason, line, at }: BackgroundEnded): PlanView {
  const found = view.background.find((each) => each.commandId === commandId);
  const after = { ...view, background: view.background.filter((each) => each !== found) };
  if (found === undefined || reason === "stopped") return after;
  return logged(
    after,
    reason === "exit" ? "info" : "warning",
    `${found.command}: ${line === "" ? t("ended") : line}`,
    at,
  );
}

function logged(view: PlanView, level: Log["level"], message: string, at: string): PlanView {
  return { ...view, log: [...view.log, { level, message, at }].slice(-LOG_KEPT) };
}

function omit<V>(record: Readonly<Record<string, V>>, key: string): Readonly<Record<string, V>> {
  if (!(key in record)) return record;
  const { [key]: _, ...rest } = record;
  return rest;
}

/** Append text of a running answer, or what a command prints; the end of each is kept. */
export function withText(view: PlanView, { stepId = "", kind, delta }: StreamParams): PlanView {
  const added = (texts: Readonly<Record<string, string>>) => ({
    ...texts,
    [stepId]: ((texts[stepId] ?? "") + delta).slice(-STREAM_KEPT),
  });
  if (kind === "stdout" || kind === "stderr") return { ...view, printed: added(view.printed) };
  return { ...view, streams: added(view.streams), words: kind === "text" ? added(view.words) : view.words };
}
