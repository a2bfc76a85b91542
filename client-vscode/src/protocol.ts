// The wire protocol as the editor sees it: the twin of the server's catalogue, kept equal to it by a test.

import type { Diagnostic, Range } from "vscode-languageserver-protocol";

export const PROTOCOL_VERSION = 1;

/** Every request and notification that the editor may send. */
export const METHODS = [
  "planloom/plan/create",
  "planloom/plan/get",
  "planloom/plan/list",
  "planloom/plan/tasks",
  "planloom/plan/events",
  "planloom/plan/edit",
  "planloom/plan/regenerate",
  "planloom/plan/approve",
  "planloom/plan/reject",
  "planloom/plan/direct",
  "planloom/plan/pause",
  "planloom/plan/resume",
  "planloom/plan/cancel",
  "planloom/plan/wait",
  "planloom/plan/undo",
  "planloom/plan/delete",
  "planloom/plan/export",
  "planloom/conflict/resolve",
  "planloom/step/answer",
  "planloom/step/recover",
  "planloom/approval/respond",
  "planloom/approval/diff",
  "planloom/reference/complete",
  "planloom/reference/resolve",
  "planloom/detect",
  "planloom/template/list",
  "planloom/template/save",
  "planloom/template/delete",
  "planloom/model/list",
  "planloom/secret/set",
  "planloom/settings/user",
  "planloom/status",
  "planloom/workspace/trust",
] as const;

/** What the server sends or asks beyond plain LSP. */
export const SERVER_METHODS = [
  "planloom/event",
  "planloom/stream",
  "planloom/health",
  "planloom/editor/diagnostics",
  "planloom/editor/save",
  "planloom/editor/complete",
] as const;

export const EVENTS = [
  "plan_start",
  "plan_routed",
  "plan_drafting",
  "plan_direct",
  "perspective_start",
  "perspective_complete",
  "task_created",
  "plan_ready",
  "plan_approval_request",
  "plan_edited",
  "plan_approved",
  "plan_rejected",
  "plan_executing",
  "task_started",
  "task_update",
  "task_completed",
  "task_failed",
  "task_skipped",
  "tool_started",
  "tool_completed",
  "approval_request",
  "approval_resolved",
  "edit_started",
  "edit_applied",
  "edit_rejected",
  "edit_reverted",
  "edit_conflict",
  "conflict_resolved",
  "check_completed",
  "clarification_request",
  "clarification_provided",
  "recovery_request",
  "recovery_chosen",
  "context_compacted",
  "tasks_list",
  "plan_paused",
  "plan_resumed",
  "answer",
  "plan_completed",
  "plan_failed",
  "plan_cancelled",
  "log",
] as const;

export type Method = (typeof METHODS)[number];
export type EventType = (typeof EVENTS)[number];

export type PlanStatus =
  | "draft"
  | "pending_approval"
  | "approved"
  | "rejected"
  | "executing"
  | "paused"
  | "completed"
  | "failed"
  | "cancelled";
export type StepStatus =
  | "pending"
  | "blocked"
  | "ready"
  | "running"
  | "needs_clarification"
  | "completed"
  | "failed"
  | "skipped";
export type Route = "plan" | "perspectives" | "direct" | "undecided";
export type Mode = "auto" | "plan" | "direct" | "perspectives";
export type Review = "each" | "end" | "auto";
export type Agent = "chapo" | "koda" | "devo";
export type Level = "low" | "medium" | "high";
export type StepKind = "tool_call" | "processing" | "clarification";
export type Priority = "critical" | "high" | "normal" | "low";
export type RecoveryAction = "retry" | "skip" | "abort" | "model" | "accept";
export type Decision = "allow" | "allowForPlan" | "deny" | "cancel";
export type Choice = "mine" | "theirs" | "both" | "text";

/** A value as JSON carries it: the arguments and results of tools. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type Args = { readonly [name: string]: Json };

export interface Detection {
  planned: boolean;
  rule: string;
  score: number;
  ambiguous: boolean;
}

export interface Qualification {
  taskType: string;
  complexity: string;
  riskLevel: Level;
  reasons: readonly string[];
  by: "rules" | "model";
}

export interface Attachment {
  id: string;
  kind: "file" | "folder" | "link" | "image" | "selection" | "diagnostics";
  reference: string;
  uri?: string | null;
  label?: string | null;
  bytes: number;
  truncated: boolean;
  note?: string | null;
  secret?: boolean | null;
}

export interface Unresolved {
  reference: string;
  code: "not_found" | "ambiguous" | "outside" | "secret" | "too_large" | "binary" | "undecodable" | "no_context";
  message: string;
  candidates?: readonly string[] | null;
}

export interface Check {
  kind: "file_exists" | "file_contains" | "no_new_errors" | "command";
  path?: string | null;
  text?: string | null;
  command?: string | null;
  outcome?: "passed" | "failed" | "unknown" | null;
  detail?: string | null;
}

export interface StepResult {
  ok: boolean;
  value?: Json;
  summary?: string | null;
  error?: string | null;
  durationMs: number;
  timestamp: string;
}

export interface ExecutedTool {
  tool: string;
  args: Args;
  ok: boolean;
  deduplicated: boolean;
  summary: string;
  durationMs: number;
}

export interface Step {
  stepId: string;
  order: number;
  description: string;
  instruction: string;
  activeForm: string;
  kind: StepKind;
  agent: Agent;
  tool?: string | null;
  args?: Args | null;
  dependsOn: readonly string[];
  blocks: readonly string[];
  priority: Priority;
  critical: boolean;
  requiresApproval: boolean;
  status: StepStatus;
  progress?: number | null;
  attempts: number;
  result?: StepResult | null;
  question?: string | null;
  checks: readonly Check[];
  expectedFiles: readonly string[];
  attachments: readonly string[];
  toolsExecuted: readonly ExecutedTool[];
  reverted?: "whole" | "part" | null;
  when?: string | null;
  forEach?: string | null;
  startedAt?: string | null;
  completedAt?: string | null;
}

export interface ApprovalFile {
  uri: string;
  change: "create" | "edit" | "delete" | "rename" | "createFolder";
  newUri?: string | null;
  added: number;
  removed: number;
  resolvedPath: string;
  newResolvedPath?: string | null;
}

export interface Approval {
  approvalId: string;
  planId: string;
  stepId?: string | null;
  tool?: string | null;
  proposal: string;
  effect: "read" | "write" | "destroy" | "execute";
  title: string;
  warning?: string | null;
  protected: boolean;
  files: readonly ApprovalFile[];
  command?: string | null;
  cwd?: string | null;
}

export interface Hunk {
  range: Range;
  base: string;
  mine: string;
  theirs: string;
}

export interface Conflict {
  editId: string;
  stepId: string;
  files: readonly { uri: string; hunks: readonly Hunk[]; sha256?: string | null }[];
}

export interface Question {
  stepId: string;
  question: string;
  options?: readonly string[] | null;
}

export interface Proposal {
  action: "retry" | "skip" | "insert" | "abort";
  args?: Args | null;
  steps?: readonly Partial<Step>[] | null;
  why: string;
}

export interface Recovery {
  stepId: string;
  error: string;
  options: readonly RecoveryAction[];
  proposal?: Proposal | null;
}

export interface PlanError {
  code: string;
  message: string;
  hint?: string | null;
  rawText?: string | null;
}

export interface Usage {
  requests: number;
  promptTokens: number;
  completionTokens: number;
}

export interface Progress {
  total: number;
  pending: number;
  inProgress: number;
  completed: number;
  failed: number;
  skipped: number;
  percentComplete: number;
}

export interface Perspective {
  agent: Agent;
  analysis: string;
  concerns: readonly string[];
  recommendations: readonly string[];
  estimatedEffort: string;
  dependencies?: readonly string[] | null;
  strategicAnalysis?: string;
  riskAssessment?: string;
  impactAreas?: readonly string[];
  coordinationNeeds?: readonly string[];
  affectedFiles?: readonly string[];
  codePatterns?: readonly string[];
  potentialBreakingChanges?: readonly string[];
  testingRequirements?: readonly string[];
  deploymentImpact?: readonly string[];
  rollbackStrategy?: string;
  servicesAffected?: readonly string[];
  infrastructureChanges?: readonly string[];
}

export interface Pending {
  approvals: readonly Approval[];
  questions: readonly Question[];
  recoveries: readonly Recovery[];
  conflicts: readonly Conflict[];
}

export interface Plan {
  planId: string;
  sessionId: string;
  version: number;
  seq: number;
  status: PlanStatus;
  workspaceFolders: readonly string[];
  request: string;
  attachments: readonly Attachment[];
  detection?: Detection | null;
  qualification?: Qualification | null;
  perspectives: Partial<Record<Agent, Perspective | null>>;
  summary: string;
  steps: readonly Step[];
  sequential: boolean;
  estimatedDuration?: number | null;
  overallRisk: Level;
  route: Route;
  review?: Review | null;
  author: "rules" | "model" | "template" | "user";
  executionSummary?: string | null;
  usage: Usage;
  error?: PlanError | null;
  pending: Pending;
  pauseReason?: string | null;
  pauseDetail?: string | null;
  createdAt: string;
  approvedAt?: string | null;
  rejectionReason?: string | null;
  completedAt?: string | null;
}

export interface PlanSummary {
  planId: string;
  sessionId: string;
  version: number;
  seq: number;
  request: string;
  status: PlanStatus;
  createdAt: string;
  updatedAt: string;
  progress: Progress;
}

export interface StepFields {
  description?: string;
  instruction?: string;
  activeForm?: string;
  tool?: string | null;
  args?: Args | null;
  dependsOn?: readonly string[];
  agent?: Agent;
  priority?: Priority;
  critical?: boolean;
  kind?: StepKind;
  question?: string | null;
}

export type StepEdit =
  | { op: "update"; stepId: string; set: StepFields }
  | { op: "add"; after?: string | null; step: StepFields & { description: string; stepId?: string } }
  | { op: "remove"; stepId: string }
  | { op: "move"; stepId: string; after: string | null }
  | { op: "skip"; stepId: string }
  | { op: "unskip"; stepId: string };

interface EventBase {
  seq: number;
  planId: string;
  sessionId: string;
  at: string;
}

interface EditFile {
  uri: string;
  change: string;
}

/** Everything that can happen to a plan; a client ignores types that it does not know. */
export type PlanEvent = EventBase &
  (
    | {
        type: "plan_start";
        request: string;
        route: Route;
        detection?: Detection;
        qualification?: Qualification | null;
        attachments: readonly Attachment[];
        unresolved: readonly Unresolved[];
        workspaceFolders: readonly string[];
      }
    | { type: "plan_routed"; detection: Detection; qualification: Qualification; route: Route }
    | { type: "plan_drafting"; version: number; feedback?: string | null }
    | { type: "plan_direct" | "plan_ready" | "plan_approval_request"; plan: Plan }
    | { type: "perspective_start"; agent: Agent }
    | { type: "perspective_complete"; agent: Agent; perspective?: Perspective | null; error?: string | null }
    | { type: "task_created"; task: Step }
    | { type: "plan_edited"; version: number; plan: Plan; by: string }
    | { type: "plan_approved"; version: number; review: Review }
    | { type: "plan_rejected"; reason?: string | null }
    | { type: "plan_executing" | "plan_resumed" }
    | { type: "task_started"; taskId: string; agent: Agent }
    | {
        type: "task_update";
        taskId: string;
        status: StepStatus;
        progress?: number | null;
        activeForm?: string | null;
        attempt?: number | null;
      }
    | { type: "task_completed"; taskId: string; result: StepResult; usage?: Usage | null }
    | { type: "task_failed"; taskId: string; error: string; willRetry: boolean }
    | { type: "task_skipped"; taskId: string; reason: string }
    | { type: "tool_started"; taskId: string; callId: string; tool: string; args: Args }
    | {
        type: "tool_completed";
        taskId: string;
        callId: string;
        ok: boolean;
        deduplicated: boolean;
        summary: string;
        durationMs: number;
      }
    | { type: "approval_request"; approval: Approval }
    | { type: "approval_resolved"; approvalId: string; decision: Decision | "superseded"; by: string; reason?: string | null }
    | { type: "edit_started"; taskId?: string | null; editId: string; files: readonly EditFile[] }
    | { type: "edit_applied"; taskId?: string | null; editId: string; files: readonly EditFile[]; merged: boolean; outcome: string }
    | { type: "edit_rejected"; taskId?: string | null; editId: string; files: readonly EditFile[]; reason: string }
    | { type: "edit_reverted"; taskId?: string | null; editId: string; files: readonly EditFile[] }
    | { type: "edit_conflict"; taskId: string; conflict: Conflict }
    | { type: "conflict_resolved"; taskId: string; editId: string }
    | { type: "check_completed"; taskId: string; check: Check }
    | { type: "clarification_request"; taskId: string; question: string; options?: readonly string[] | null }
    | { type: "clarification_provided"; taskId: string; answer: string }
    | {
        type: "recovery_request";
        taskId: string;
        error: string;
        code?: string | null;
        options: readonly RecoveryAction[];
        proposal?: Proposal | null;
      }
    | { type: "recovery_chosen"; taskId: string; action: RecoveryAction; by: string }
    | { type: "context_compacted"; beforeTokens: number; afterTokens: number; by: string }
    | { type: "tasks_list"; tasks: readonly Step[] }
    | { type: "plan_paused"; reason: string; detail?: string | null }
    | { type: "answer"; taskId: string; text: string; confidence?: Level | null }
    | {
        type: "plan_completed" | "plan_failed" | "plan_cancelled";
        summary: string;
        progress?: Progress;
        usage?: Usage | null;
        error?: PlanError | null;
      }
    | { type: "log"; level: string; message: string; taskId?: string | null }
  );

export interface StreamDelta {
  planId?: string | null;
  stepId?: string | null;
  callId?: string | null;
  kind: "text" | "reasoning" | "stdout" | "stderr";
  delta: string;
}

export interface CompletionItem {
  label: string;
  insertText: string;
  detail?: string | null;
  kind: "file" | "folder" | "symbol" | "special";
  replace: readonly [number, number];
}

export interface ModelInfo {
  provider: string;
  name: string;
  contextTokens?: number | null;
  reachable: boolean;
  reason?: string | null;
}

export interface ServerStatus {
  version: string;
  protocolVersion: number;
  sessionId: string;
  model: { provider: string; name: string; reason: string };
  trusted: boolean;
  plans: { active: readonly string[]; resumable: readonly string[] };
  health: "ok" | "degraded";
  problems: readonly string[];
  logPath?: string | null;
  storagePath?: string | null;
}

export interface CreateParams {
  text: string;
  mode?: Mode;
  context?: { uri?: string; selections?: readonly Range[] };
  confirmed?: readonly string[];
  sessionId?: string;
}

interface Of<P, R> {
  params: P;
  result: R;
}
type PlanResult = { plan: Plan };
type ById = { planId: string };

/** Parameters and result of each request that this extension makes. */
export interface Requests {
  "planloom/plan/create": Of<CreateParams, PlanResult & { detection: Detection; unresolved: readonly Unresolved[] }>;
  "planloom/plan/get": Of<{ planId?: string }, { plan: Plan | null; progress: Progress | null }>;
  "planloom/plan/list": Of<{ limit?: number; status?: readonly PlanStatus[] }, { plans: readonly PlanSummary[] }>;
  "planloom/plan/events": Of<{ planId: string; after?: number; limit?: number }, { events: readonly PlanEvent[] }>;
  "planloom/plan/edit": Of<{ planId: string; version: number; edits: readonly StepEdit[] }, PlanResult>;
  "planloom/plan/regenerate": Of<{ planId: string; version: number; feedback?: string }, PlanResult>;
  "planloom/plan/approve": Of<{ planId: string; version: number; review?: Review }, PlanResult>;
  "planloom/plan/reject": Of<{ planId: string; reason?: string }, PlanResult>;
  "planloom/plan/direct": Of<ById, PlanResult>;
  "planloom/plan/pause": Of<ById, PlanResult>;
  "planloom/plan/resume": Of<ById, PlanResult>;
  "planloom/plan/cancel": Of<ById, PlanResult>;
  "planloom/plan/undo": Of<
    { planId: string; stepId?: string; redo?: boolean },
    PlanResult & { reverted: readonly string[]; conflicts: readonly string[] }
  >;
  "planloom/conflict/resolve": Of<
    { planId: string; editId: string; files: readonly { uri: string; choice: Choice; text?: string; sha256?: string }[] },
    PlanResult
  >;
  "planloom/step/answer": Of<{ planId: string; stepId: string; answer: string }, PlanResult>;
  "planloom/step/recover": Of<{ planId: string; stepId: string; action: RecoveryAction; args?: Args }, PlanResult>;
  "planloom/approval/respond": Of<
    { approvalId: string; decision: Decision; reason?: string; files?: readonly string[] },
    object
  >;
  "planloom/approval/diff": Of<
    { approvalId: string; uri: string },
    { uri: string; before: string | null; after: string | null; languageId?: string | null }
  >;
  "planloom/reference/complete": Of<
    { text: string; offset: number; limit?: number; context?: { uri?: string } },
    { items: readonly CompletionItem[]; isIncomplete: boolean }
  >;
  "planloom/reference/resolve": Of<
    { text: string; context?: { uri?: string; selections?: readonly Range[] } },
    { attachments: readonly Attachment[]; unresolved: readonly Unresolved[] }
  >;
  "planloom/detect": Of<{ text: string }, Detection>;
  "planloom/model/list": Of<object, { models: readonly ModelInfo[]; active: { provider: string; name: string; reason: string } | null }>;
  "planloom/settings/user": Of<{ values: Record<string, unknown> }, object>;
  "planloom/status": Of<object, ServerStatus>;
}

/** What `planloom/editor/*` requests carry, and what the editor answers. */
export interface EditorRequests {
  "planloom/editor/diagnostics": Of<
    { uris: readonly string[] },
    /** `version`: the text that these findings are about, where the editor can tell. */
    { diagnostics: readonly { uri: string; items: readonly Diagnostic[]; version?: number }[] }
  >;
  "planloom/editor/save": Of<
    { uris: readonly string[] },
    { saved: readonly string[]; failed: readonly { uri: string; reason: string }[] }
  >;
  "planloom/editor/complete": Of<EditorCompletion, { text: string; toolCalls?: readonly ToolCall[]; usage?: Usage }>;
}

export interface ToolCall {
  callId: string;
  name: string;
  arguments: object;
}

export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  toolCalls?: readonly ToolCall[] | null;
  toolCallId?: string | null;
}

export interface EditorCompletion {
  requestId: string;
  model?: string | null;
  messages: readonly ChatMessage[];
  tools?: readonly { name: string; description: string; parameters: object }[] | null;
  responseSchema?: object | null;
  maxTokens?: number | null;
}

export type Params<M extends keyof Requests> = Requests[M]["params"];
export type Result<M extends keyof Requests> = Requests[M]["result"];

/** What an error of the server carries besides its JSON-RPC code. */
export interface ErrorData {
  code: string;
  message: string;
  hint?: string | null;
  details?: unknown;
}
