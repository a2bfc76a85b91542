// The protocol as the server speaks it. Written by `make generate`; a test compares it with the server's models.

/** Any value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

export const STEP_CAVEATS = ["unchanged", "unchecked", "command_failed"] as const;
export type StepCaveat = (typeof STEP_CAVEATS)[number];

export const SIGNS = [
  "waiting",
  "undone",
  "partly",
  "stalled",
  "draft",
  "pending_approval",
  "approved",
  "executing",
  "paused",
  "completed",
  "failed",
  "cancelled",
  "rejected",
] as const;
export type Sign = (typeof SIGNS)[number];

export const AGENTS = ["chapo", "koda", "devo"] as const;
export type Agent = (typeof AGENTS)[number];

export const PLAN_STATUSES = [
  "draft",
  "pending_approval",
  "approved",
  "rejected",
  "executing",
  "paused",
  "completed",
  "failed",
  "cancelled",
] as const;
export type PlanStatus = (typeof PLAN_STATUSES)[number];

export const STEP_STATUSES = [
  "pending",
  "blocked",
  "ready",
  "running",
  "needs_clarification",
  "completed",
  "failed",
  "skipped",
] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

export const STEP_KINDS = ["tool_call", "processing", "clarification", "check", "approval", "sub_plan"] as const;
export type StepKind = (typeof STEP_KINDS)[number];

export const PRIORITIES = ["critical", "high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

export const ROUTES = ["plan", "perspectives", "direct", "undecided"] as const;
export type Route = (typeof ROUTES)[number];

export const REVIEWS = ["each", "end", "auto"] as const;
export type Review = (typeof REVIEWS)[number];

export const RISKS = ["low", "medium", "high"] as const;
export type Risk = (typeof RISKS)[number];

export const SKIP_REASONS = ["user", "approval_denied", "dependency_failed", "condition", "policy"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

export const MESSAGE_OUTCOMES = ["revising", "delivered", "queued", "continued"] as const;
export type MessageOutcome = (typeof MESSAGE_OUTCOMES)[number];

export const RECOVERY_ACTIONS = ["retry", "skip", "go_on", "abort", "model", "accept"] as const;
export type RecoveryAction = (typeof RECOVERY_ACTIONS)[number];

export const DETECTION_RULES = [
  "question",
  "numbered_list",
  "verb_and_scope",
  "multiple_tasks",
  "long_request",
  "none",
  "disabled",
  "model",
  "qualification",
  "unsure",
] as const;
export type DetectionRule = (typeof DETECTION_RULES)[number];

export const MODEL_CAUSES = [
  "none",
  "unreachable",
  "unknown_host",
  "proxy",
  "slow",
  "key_missing",
  "key_refused",
  "forbidden",
  "payment",
  "model_missing",
  "no_models",
  "model_not_chosen",
  "wrong_address",
  "certificate",
  "busy",
  "server_failed",
] as const;
export type ModelCause = (typeof MODEL_CAUSES)[number];

export const EFFORTS = ["trivial", "small", "medium", "large"] as const;
export type Effort = (typeof EFFORTS)[number];

export const CHANGE_KINDS = ["create", "edit", "delete", "rename", "createFolder"] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export const MENDS = [
  "key",
  "address",
  "models",
  "startOllama",
  "getOllamaModel",
  "again",
  "folder",
  "trust",
  "settings",
  "restart",
  "log",
] as const;
export type Mend = (typeof MENDS)[number];

export const STEP_SIGNS = [
  "pending",
  "blocked",
  "ready",
  "running",
  "needs_clarification",
  "completed",
  "failed",
  "skipped",
  "waiting",
  "stalled",
  "unchanged",
  "warning",
  "undone",
] as const;
export type StepSign = (typeof STEP_SIGNS)[number];

export const STEP_DECISIONS = ["approval", "conflict", "answer", "recovery"] as const;
export type StepDecision = (typeof STEP_DECISIONS)[number];

/** An empty object. */
export type Empty = Record<string, never>;

/** No params. */
export type NoParams = Record<string, never>;

/** A position in a text; `character` counts units of the negotiated encoding. */
export interface Position {
  line: number;
  character: number;
}

/** A range of text; `end` is exclusive. */
export interface Range {
  start: Position;
  end: Position;
}

/** A resolved reference of a request, as it was when the request was resolved. */
export interface Attachment {
  id: string;
  kind: "file" | "folder" | "link" | "image" | "selection" | "diagnostics" | "terminal" | "changes" | "resource";
  reference: string;
  uri?: string;
  label?: string;
  range?: Range;
  languageId?: string;
  bytes: number;
  truncated: boolean;
  note?: string;
  secret?: boolean;
  version?: number;
  sha256?: string;
}

/** A reference that could not be attached, and why. */
export interface Unresolved {
  reference: string;
  code: "not_found" | "ambiguous" | "outside" | "secret" | "too_large" | "binary" | "undecodable" | "no_context";
  message: string;
  candidates?: readonly string[];
}

/** A file of which the user has approved another text than the proposed one. */
export interface EditedProposal {
  uri: string;
  proposedSha256: string;
  approvedSha256: string;
}

/** One file that the proposed change affects. */
export interface ApprovalFile {
  uri: string;
  change: ChangeKind;
  newUri?: string;
  added: number;
  removed: number;
  resolvedPath: string;
  newResolvedPath?: string;
}

/** A change of a step still to come: plain lines of it before and after, the first with its number in the plan. */
export interface PlanChange {
  kind: "added" | "changed" | "dropped" | "moved";
  stepId: string;
  before?: string;
  after?: string;
}

/** In what confinement a command runs; not `confined`, it has all rights. It may change `git` and `writes`. */
export interface Confinement {
  confined: boolean;
  network?: "none" | "loopback" | "all";
  git?: string;
  writes?: readonly string[];
  reads?: readonly string[];
}

/** A confinement that may be chosen instead: a label for its button, and a line that says what it means. */
export interface ConfinementOffer extends Confinement {
  label: string;
  line: string;
}

/** The rights that a command asks for, and those to choose from. Without `held` the machine cannot enforce them. */
export interface ConfinementRequest extends Confinement {
  line: string;
  asksNetwork: boolean;
  held?: boolean;
  offers: readonly ConfinementOffer[];
}

/** The place, from 1, of an approval among those that are asked together; each is answered for itself. */
export interface ListPlace {
  listId: string;
  position: number;
  size: number;
}

/** A problem that a change would bring, at a zero-based line of the text as it would be. */
export interface NewProblem {
  uri: string;
  line: number;
  severity: "error" | "warning";
  message: string;
  source?: string;
  code?: string;
}

/**
 * What language servers say of a change before it is made: advice, which allows and forbids nothing. `by` names who
 * judged, `total` counts the new problems, of which `problems` are the first, errors before warnings. With `unknown`, a
 * sentence, something is not known, or not yet. `headline` says it in a few words.
 */
export interface Judged {
  by: string;
  headline: string;
  problems?: readonly NewProblem[];
  total: number;
  unknown?: string;
}

/**
 * What waits for permission. By its `rules`, such as `git add …`, a command can be allowed in plan or folder. With
 * `server`, the command is a call of that MCP server's tool, with its arguments; with `package` of the tool of a
 * package that the user has enabled. `mayHaveRun`: the very same was cut off by a crash, so only a person says yes.
 */
export interface Approval {
  approvalId: string;
  planId: string;
  stepId?: string;
  tool?: string;
  proposal: string;
  effect: "read" | "write" | "destroy" | "execute" | "fetch";
  title: string;
  warning?: string;
  protected: boolean;
  files: readonly ApprovalFile[];
  command?: string;
  cwd?: string;
  confinement?: ConfinementRequest;
  rules?: readonly string[];
  listed?: ListPlace;
  server?: string;
  package?: string;
  url?: string;
  host?: string;
  planChanges?: readonly PlanChange[];
  goesOn?: boolean;
  mayHaveRun?: boolean;
  judged?: Judged;
}

/** One file of an edit, with the hashes of its texts. */
export interface EditedFile {
  uri: string;
  change: ChangeKind;
  newUri?: string;
  beforeSha256?: string;
  afterSha256?: string;
}

/** One overlap: `base` is the common text, `mine` the user's, `theirs` the step's. */
export interface ConflictHunk {
  range: Range;
  base: string;
  mine: string;
  theirs: string;
}

/** A file in which the user and a step changed the same lines. */
export interface ConflictFile {
  uri: string;
  hunks: readonly ConflictHunk[];
  sha256?: string;
}

/** An edit that cannot be merged without a decision of the user. */
export interface Conflict {
  editId: string;
  stepId: string;
  files: readonly ConflictFile[];
}

/** The perspective of strategy. */
export interface ChapoPerspective {
  analysis: string;
  concerns: readonly string[];
  recommendations: readonly string[];
  estimatedEffort: Effort;
  dependencies?: readonly string[];
  timestamp: string;
  agent: "chapo";
  strategicAnalysis: string;
  riskAssessment: string;
  impactAreas: readonly string[];
  coordinationNeeds: readonly string[];
}

/** The perspective of code. */
export interface KodaPerspective {
  analysis: string;
  concerns: readonly string[];
  recommendations: readonly string[];
  estimatedEffort: Effort;
  dependencies?: readonly string[];
  timestamp: string;
  agent: "koda";
  affectedFiles: readonly string[];
  codePatterns: readonly string[];
  potentialBreakingChanges: readonly string[];
  testingRequirements: readonly string[];
}

/** The perspective of operations. */
export interface DevoPerspective {
  analysis: string;
  concerns: readonly string[];
  recommendations: readonly string[];
  estimatedEffort: Effort;
  dependencies?: readonly string[];
  timestamp: string;
  agent: "devo";
  deploymentImpact: readonly string[];
  rollbackStrategy: string;
  servicesAffected: readonly string[];
  infrastructureChanges: readonly string[];
}

/** The agents' perspectives on the request. */
export interface Perspectives {
  chapo?: ChapoPerspective;
  koda?: KodaPerspective;
  devo?: DevoPerspective;
}

/**
 * Where the user is: the active document and what is selected in it. `terminal` is the text of a terminal that the user
 * has chosen, to which `@terminal` refers.
 */
export interface Context {
  uri?: string;
  selections?: readonly Range[];
  terminal?: string;
}

/** An attachment added in the editor, not by a reference in the text. */
export interface ExplicitAttachment {
  uri: string;
  range?: Range;
  label?: string;
}

/** The text of a file before and after the change; null if the file does not exist. */
export interface DiffResult {
  uri: string;
  before: string | null;
  after: string | null;
  languageId?: string;
}

/** A completed step; `summary` is left out if `closing` of the report says the same. */
export interface ReportedStep {
  stepId: string;
  description: string;
  summary?: string;
  caveat?: StepCaveat;
}

/** A file that has changed; `oldUri`: its name before. `lasting`: by a command, and cannot be taken back. */
export interface ReportedFile {
  uri: string;
  change: ChangeKind;
  oldUri?: string;
  added?: number;
  removed?: number;
  byCommand?: boolean;
  lasting?: boolean;
}

/** A command and its last run in words; `failed` whatever its `exitCode`, if it ended by itself. */
export interface ReportedCommand {
  command: string;
  exitCode?: number;
  outcome: string;
  runs: number;
  failedBefore?: number;
  failed?: boolean;
  denied?: boolean;
  confinement?: string;
}

/** A step that is not done, and the reason. */
export interface LeftStep {
  stepId: string;
  description: string;
  status: "failed" | "skipped" | "not_made" | "not_run";
  reason: string;
}

/** What an ended plan has done. `closing`: its answer if `answered`, else a summary; `notes`: what commands did. */
export interface Report {
  done: readonly ReportedStep[];
  files: readonly ReportedFile[];
  commands: readonly ReportedCommand[];
  left: readonly LeftStep[];
  notAllowed: readonly string[];
  closing?: string;
  answered: boolean;
  caveats?: readonly string[];
  notes?: readonly string[];
}

/** Whether a request needs a plan; `score` is 0 to 100. */
export interface Detection {
  planned: boolean;
  rule: DetectionRule;
  score: number;
  ambiguous: boolean;
}

/** The kind, complexity and risk of a request. */
export interface Qualification {
  taskType: "question" | "code" | "devops" | "mixed";
  complexity: "trivial" | "simple" | "moderate" | "complex";
  riskLevel: Risk;
  reasons: readonly string[];
  by: "rules" | "model";
}

/**
 * How many requests were sent to the model, and their tokens. `cachedTokens` are those of the prompts that came from
 * the cache of the model's server, as far as it says so.
 */
export interface Usage {
  requests: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens?: number;
}

/**
 * Why a model cannot be used, and which: also the `details` of the error `model_unavailable`. `said` is what its server
 * answered. What is unknown is "".
 */
export interface ModelProblem {
  cause: ModelCause;
  provider: string;
  address: string;
  model: string;
  said: string;
  waitSeconds?: number;
}

/** Why a plan failed. */
export interface PlanError {
  code: string;
  message: string;
  hint?: string;
  rawText?: string;
  modelProblem?: ModelProblem;
}

/** A check that proves a step done. */
export interface Check {
  kind: "file_exists" | "file_contains" | "no_new_errors" | "command" | "condition";
  path?: string;
  text?: string;
  command?: string;
  outcome?: "passed" | "failed" | "unknown";
  detail?: string;
}

/** The result of a finished step. With a `caveat` it is not simply done: `summary` says why. */
export interface StepResult {
  ok: boolean;
  caveat?: StepCaveat;
  value?: Json;
  summary?: string;
  error?: string;
  durationMs: number;
  timestamp: string;
}

/** One finished tool call of a step. */
export interface ExecutedTool {
  tool: string;
  args: JsonObject;
  ok: boolean;
  deduplicated: boolean;
  summary: string;
  durationMs: number;
}

/** A tool call that the plan expects but does not require. */
export interface ExpectedTool {
  tool: string;
  args?: JsonObject;
}

/** One step; `order`, `blocks` and the statuses blocked and ready are computed from the plan. */
export interface Step {
  stepId: string;
  order: number;
  description: string;
  instruction: string;
  activeForm: string;
  kind: StepKind;
  agent: Agent;
  tool?: string;
  args?: JsonObject;
  dependsOn: readonly string[];
  blocks: readonly string[];
  priority: Priority;
  critical: boolean;
  requiresApproval: boolean;
  status: StepStatus;
  progress?: number;
  attempts: number;
  usage?: Usage;
  result?: StepResult;
  skipReason?: SkipReason;
  question?: string;
  options?: readonly string[];
  checks: readonly Check[];
  expectedFiles: readonly string[];
  attachments: readonly string[];
  toolsToExecute?: readonly ExpectedTool[];
  toolsExecuted: readonly ExecutedTool[];
  reverted?: "whole" | "part";
  when?: string;
  forEach?: string;
  repeatUntil?: string;
  repeatMost?: number;
  templateId?: string;
  parent?: string;
  createdAt?: string;
  startedAt?: string;
  completedAt?: string;
}

/**
 * What the user has said to a plan after its request: `open` until a planner or a step has read it. `dropped`: the
 * revision that it asked for failed or was cancelled.
 */
export interface UserMessage {
  text: string;
  at: string;
  state: "open" | "read" | "dropped";
}

/** A question whose answer a step waits for. */
export interface Question {
  stepId: string;
  question: string;
  options?: readonly string[];
}

/** A proposal for a failed step: the model's, or with the code `several_matches` to replace a text everywhere. */
export interface Proposal {
  action: "retry" | "skip" | "insert" | "abort";
  args?: JsonObject;
  steps?: readonly Step[];
  why: string;
}

/** A failed step that waits for a decision. */
export interface Recovery {
  stepId: string;
  error: string;
  code?: string;
  options: readonly RecoveryAction[];
  proposal?: Proposal;
}

/** Everything that waits for a decision of the user. */
export interface Pending {
  approvals: readonly Approval[];
  questions: readonly Question[];
  recoveries: readonly Recovery[];
  conflicts: readonly Conflict[];
}

/**
 * What a plan will probably use of the model, from `plans` earlier ones; `seconds` without those of the user. `cost` is
 * in the currency of the setting `model.prices`, left out without a price of the model.
 */
export interface Forecast {
  plans: number;
  seconds: number;
  requests: number;
  promptTokens: number;
  completionTokens: number;
  cost?: number;
}

/** A plan. Version 1 does not promise `detection`, `templateId`, `pauseReason` and `pauseDetail`. */
export interface Plan {
  planId: string;
  sessionId: string;
  version: number;
  seq: number;
  status: PlanStatus;
  workspaceFolders: readonly string[];
  request: string;
  follows?: string;
  messages?: readonly UserMessage[];
  attachments: readonly Attachment[];
  detection?: Detection;
  qualification?: Qualification;
  perspectives: Perspectives;
  summary: string;
  commandsRun?: readonly string[];
  steps: readonly Step[];
  sequential: boolean;
  estimatedDuration?: number;
  statedDuration?: number;
  forecast?: Forecast;
  overallRisk: Risk;
  asksAgain?: string;
  route: Route;
  review?: Review;
  author: "rules" | "model" | "template" | "package" | "user";
  templateId?: string;
  executionSummary?: string;
  report?: Report;
  contextSummary?: string;
  usage: Usage;
  error?: PlanError;
  pending: Pending;
  pausedAt?: string;
  pauseReason?: string;
  pauseDetail?: string;
  modelProblem?: ModelProblem;
  createdAt: string;
  approvedAt?: string;
  rejectedAt?: string;
  rejectionReason?: string;
  completedAt?: string;
}

/** The number of steps by status. */
export interface Progress {
  total: number;
  pending: number;
  inProgress: number;
  completed: number;
  failed: number;
  skipped: number;
  percentComplete: number;
}

/** A plan in a list; `state` and `sign` say where it stands, as far as the list knows. */
export interface PlanSummary {
  planId: string;
  sessionId: string;
  version: number;
  seq: number;
  request: string;
  status: PlanStatus;
  workspaceFolders: readonly string[];
  createdAt: string;
  updatedAt: string;
  progress: Progress;
  reverted?: "whole" | "part";
  state: string;
  sign: Sign;
  live: boolean;
}

/** A value that the user enters when applying a template: `choice` is one of `options`, `path` in the workspace. */
export interface TemplateParameter {
  name: string;
  description?: string;
  default?: string;
  type: "text" | "path" | "number" | "choice";
  options?: readonly string[];
}

/** A reusable plan. */
export interface Template {
  templateId: string;
  name: string;
  description?: string;
  parameters: readonly TemplateParameter[];
  steps: readonly Step[];
  builtin: boolean;
}

/** The plan after the request. */
export interface PlanResult {
  plan: Plan;
}

/** What plans have used of a model, named `provider/name`; `seconds` is how long their steps have waited. */
export interface ModelUse {
  model: string;
  usage: Usage;
  seconds: number;
}

/**
 * What was used of models, in all and by model; some requests of older ledgers name no model. `costs` are those of the
 * models that have a price in `model.prices`, by their names.
 */
export interface Spent {
  usage: Usage;
  models: readonly ModelUse[];
  costs: { readonly [name: string]: number };
}

/** Fields to set. A field that is left out stays as it is; null clears a field that may be empty. */
export interface StepFields {
  description?: string;
  instruction?: string;
  activeForm?: string;
  tool?: string | null;
  args?: JsonObject | null;
  dependsOn?: readonly string[];
  agent?: Agent;
  priority?: Priority;
  critical?: boolean;
  kind?: StepKind;
  question?: string | null;
  checks?: readonly Check[];
  expectedFiles?: readonly string[];
  toolsToExecute?: readonly ExpectedTool[];
  attachments?: readonly string[];
  when?: string | null;
  forEach?: string | null;
  repeatUntil?: string | null;
  repeatMost?: number | null;
  templateId?: string | null;
}

/** A step to add; later edits of the same batch can refer to its id. */
export interface NewStep extends StepFields {
  description: string;
  stepId?: string;
}

/** Set some fields of a step. */
export interface UpdateStep {
  op: "update";
  stepId: string;
  set: StepFields;
}

/** Add a step: first if `after` is null, last if `after` is left out. */
export interface AddStep {
  op: "add";
  after?: string | null;
  step: NewStep;
}

/** Remove a step. */
export interface RemoveStep {
  op: "remove";
  stepId: string;
}

/** Move a step behind another one, or to the front if `after` is null. */
export interface MoveStep {
  op: "move";
  stepId: string;
  after: string | null;
}

/** Skip a step. */
export interface SkipStep {
  op: "skip";
  stepId: string;
}

/** Undo the skip of a step. */
export interface UnskipStep {
  op: "unskip";
  stepId: string;
}

/** What the user can do now: a command of `workspace/executeCommand`, and the words on its button. */
export interface Action {
  title: string;
  command: string;
  arguments: readonly Json[];
}

/**
 * An error in the user's words, and what mends it, the most likely first; also `data.explained` of an error. `until` is
 * when a server that takes no more requests can be asked again, `help` the address of the page about it.
 */
export interface Explained {
  words: string;
  mends: readonly Mend[];
  until?: string;
  help?: string;
}

/** A tool call that is being carried out. */
export interface OpenCall {
  callId: string;
  tool: string;
  args: JsonObject;
}

/** A question that a step has asked, and its answer. */
export interface AnsweredQuestion {
  question: string;
  answer: string;
}

/** How long a run has worked: from `since`, less `waitedMs`, to `until`, or to now. */
export interface Clock {
  since: string;
  waitedMs: number;
  until?: string;
}

/** What a check says of its path, command or condition, and how it came out. */
export interface CheckWords {
  what: string;
  outcome: string;
}

/** What decides whether or how often a step runs, in words; `hint` says what such a rule does. */
export interface Rule {
  kind: "when" | "forEach" | "repeatUntil";
  words: string;
  hint: string;
}

/**
 * A problem that a change would bring. `line` counts from 1 in the file as it would be; `kind` is the severity in
 * words.
 */
export interface ProblemView {
  uri: string;
  path: string;
  line: number;
  severity: "error" | "warning";
  kind: string;
  message: string;
}

/** What language servers say of a change, in a line, and the problems at their places; `more` counts the others. */
export interface JudgedView {
  words: string;
  problems?: readonly ProblemView[];
  more?: string;
}

/**
 * A step as people see it. `sign` and `words` say where it stands, `waits` what it waits for of the user, `stalled`
 * what another step uses. `lost` says which steps are skipped if the user refuses. `workedMs`, or of a running step
 * `clock`, is its time. `node` says what it is if it is no work, `after` the numbers of the steps before it. `checks`
 * are those of `step.checks` in words, `proposal` is what the model proposes where it has failed. `note` is what its
 * row says besides its title, `facts` and what is `judged` of its changes are for who opens it. It asks before its
 * effect under the reviews `asks`. `wave`, from 0, is its place in a drawing, `links` the steps before it without those
 * that a longer path implies.
 */
export interface StepView {
  step: Step;
  number: number;
  sign: StepSign;
  words: string;
  waits?: StepDecision;
  stalled?: string;
  calls?: readonly OpenCall[];
  background?: string;
  retry?: string;
  skipped?: string;
  position?: string;
  asked?: readonly AnsweredQuestion[];
  changed: number;
  lost?: string;
  workedMs?: number;
  clock?: Clock;
  agent: string;
  node?: string;
  rules?: readonly Rule[];
  after: string;
  checks?: readonly CheckWords[];
  proposal?: string;
  used?: string;
  note?: string;
  facts?: readonly string[];
  judged?: JudgedView;
  asks?: readonly Review[];
  wave?: number;
  links?: readonly string[];
  actions?: readonly Action[];
}

/**
 * The last change of a file; `kind` says what it does, `words` where it stands. `lasting`: it cannot be undone. A file
 * that the step `createdBy` has created stays new when it is edited.
 */
export interface ChangedFile {
  editId: string;
  stepId?: string;
  createdBy?: string;
  uri: string;
  newUri?: string;
  change: ChangeKind;
  kind: string;
  state: "writing" | "applied" | "refused" | "reverted" | "conflict";
  words: string;
  merged: boolean;
  byCommand: boolean;
  lasting: boolean;
  reason?: string;
}

/** A part of an agent's report: a text, or a list. */
export interface ReportPart {
  title: string;
  text?: string;
  items?: readonly string[];
}

/** A command and the outcome of its last run; without `good` it did not end by itself and need not have failed. */
export interface RanCommand {
  command: string;
  good?: boolean;
  words: string;
}

/** The question of the field in which a message is written, the word on its button, and what becomes of it. */
export interface MessageField {
  placeholder: string;
  button: string;
  hint: string;
}

/** Whether an agent has written its report. */
export interface PerspectiveState {
  agent: Agent;
  name: string;
  state: "thinking" | "failed" | "done" | "to come";
  words: string;
  error?: string;
  parts?: readonly ReportPart[];
}

/** What became of the last draft: `failed` if the version before it is back. */
export interface DraftView {
  feedback?: string;
  failed: boolean;
  warnings: readonly string[];
}

/** A step that an ended plan has not done, by its number, and why. */
export interface NotDone {
  stepId: string;
  number: number;
  description: string;
  why: string;
}

/** A message for the user. */
export interface LogView {
  level: "debug" | "info" | "warning" | "error";
  message: string;
  at: string;
}

/** Another plan that uses what this one waits for. */
export interface OtherPlan {
  planId: string;
  words: string;
}

/** What is dangerous about an approval. */
export interface Danger {
  tone: "medium" | "high";
  words: string;
}

/**
 * An approval that waits. `allow` and `deny` are the words on its buttons, `refuse` leads to `deny`. `ahead` and
 * `inFolder` say what it covers if it is allowed for the plan, or in its folder, where it can be. `folder` is that of a
 * command. `kinds` say what happens to each of its files, `lost` what is skipped if it is denied. `judged` is what
 * language servers say of the changes, where one judges such files.
 */
export interface ApprovalView {
  approvalId: string;
  allow: string;
  refuse: string;
  deny: string;
  danger?: Danger;
  ahead?: string;
  inFolder?: string;
  folder?: string;
  kinds: readonly string[];
  lost?: string;
  judged?: JudgedView;
}

/** How full the model's context was in the last request, in percent and in words. */
export interface ContextFill {
  percent: number;
  words: string;
}

/**
 * A plan as people see it, without its steps: those of `plan` are in `PlanView.steps`. `state` and `sign` say where it
 * stands, `waits` what it waits for, `problem` why it has failed or its model cannot be used, `looked` what a draft has
 * looked at last. A cause in `causes` calls for the user until it is answered; `decisions` counts the cards. `partly`:
 * it has completed without the steps of `left`; `rest` is a request for them. `workedOn`: it holds work that is lost
 * with it. `line` is its head in one line, `asks` what it asks under review where each step is reviewed. `facts` are
 * for who wants to know more. `talk`: it is a question with its answer.
 */
export interface PlanHead {
  plan: Plan;
  state: string;
  sign: Sign;
  waits?: string;
  causes: readonly string[];
  decisions: number;
  approvals?: readonly ApprovalView[];
  live: boolean;
  line: string;
  asks?: string;
  facts?: readonly string[];
  talk: boolean;
  partly: boolean;
  workedOn: boolean;
  progress: Progress;
  risk?: string;
  task?: string;
  verdict?: string;
  pause?: string;
  pauseHelp?: string;
  problem?: Explained;
  thought?: string;
  looked?: readonly string[];
  estimate?: string;
  estimates?: readonly string[];
  used: string;
  usedLines?: readonly string[];
  context?: ContextFill;
  perspectives?: readonly PerspectiveState[];
  draft?: DraftView;
  changes?: readonly PlanChange[];
  revision?: string;
  answer?: string;
  confidence?: string;
  unresolved?: readonly Unresolved[];
  left?: readonly NotDone[];
  rest?: string;
  commands?: readonly RanCommand[];
  messageField: MessageField;
  files: readonly ChangedFile[];
  log: readonly LogView[];
  waitsFor?: readonly OtherPlan[];
  actions: readonly Action[];
}

/** A plan as people see it, whole. */
export interface PlanView extends PlanHead {
  steps: readonly StepView[];
}

/**
 * What differs from the view before: fields of `plan` and of `PlanHead`, null for those that are left out now. `steps`
 * are the new and the changed ones as whole values; `order` are the ids of all, where that changed.
 */
export interface ViewPatch {
  plan?: JsonObject;
  head?: JsonObject;
  steps?: readonly StepView[];
  order?: readonly string[];
}

/** `planloom/plan/view`: the first view of a plan whole, then patches, counted by `number` without gaps. */
export interface ViewParams {
  planId: string;
  number: number;
  view?: PlanView;
  patch?: ViewPatch;
}

/** The whole view of a plan, of which patches from `number` on follow. */
export interface ViewResult {
  number: number;
  view: PlanView;
}

/** `planloom/plan/create`. */
export interface CreateParams {
  text: string;
  mode?: "auto" | "plan" | "direct" | "perspectives";
  context?: Context;
  attachments?: readonly ExplicitAttachment[];
  confirmed?: readonly string[];
  sessionId?: string;
  templateId?: string;
  parameters?: { readonly [name: string]: string };
}

/** The params of a request that needs only the id of a plan. */
export interface PlanParams {
  planId: string;
}

/** The request `planloom/plan/view`. */
export interface GetViewParams {
  planId: string;
  allWorkspaces?: boolean;
}

/** `planloom/plan/get`. */
export interface GetParams {
  planId?: string;
  sessionId?: string;
  atSeq?: number;
  allWorkspaces?: boolean;
}

/** `planloom/plan/list`. */
export interface ListParams {
  sessionId?: string;
  status?: readonly PlanStatus[];
  limit?: number;
  allWorkspaces?: boolean;
}

/** `planloom/stats`: of plans that were created from `since` on, and before `until`. */
export interface StatsParams {
  since?: string;
  until?: string;
}

/** `planloom/plan/tasks`. */
export interface TasksParams {
  planId?: string;
  sessionId?: string;
  status?: readonly StepStatus[];
  agent?: Agent;
}

/** `planloom/plan/events`: the events with a `seq` above `after`. */
export interface EventsParams {
  planId: string;
  after?: number;
  limit?: number;
  allWorkspaces?: boolean;
}

/** `planloom/plan/edit`. `edits` may be empty where the plan gets another request or summary. */
export interface EditParams {
  planId: string;
  version: number;
  edits: readonly StepEdit[];
  request?: string;
  summary?: string;
}

/** `planloom/plan/rewrite`; `text` is the document of the plan at `version`, as it was changed. */
export interface RewriteParams {
  planId: string;
  version: number;
  text: string;
}

/** `planloom/plan/restore`; `to` is the earlier version. */
export interface RestoreParams {
  planId: string;
  version: number;
  to: number;
}

/** `planloom/plan/regenerate`. */
export interface RegenerateParams {
  planId: string;
  version: number;
  feedback?: string;
}

/** `planloom/plan/message`. References of the text are resolved as those of a request. */
export interface MessageParams {
  planId: string;
  text: string;
  context?: Context;
  attachments?: readonly ExplicitAttachment[];
  confirmed?: readonly string[];
}

/** `planloom/plan/approve`. */
export interface ApproveParams {
  planId: string;
  version: number;
  review?: Review;
}

/** `planloom/plan/reject`. */
export interface RejectParams {
  planId: string;
  reason?: string;
}

/** `planloom/plan/wait`. */
export interface WaitParams {
  planId: string;
  until?: "ready" | "attention" | "ended";
  timeoutSeconds?: number;
}

/** `planloom/plan/undo`. */
export interface UndoParams {
  planId: string;
  stepId?: string;
  redo?: boolean;
}

/** `planloom/plan/export`. */
export interface ExportParams {
  planId: string;
  format: "markdown" | "json" | "full" | "document";
  allWorkspaces?: boolean;
}

/** `planloom/plan/import`; `text` is what `planloom/plan/export` gave with the format `full`. */
export interface ImportParams {
  text: string;
}

/** `planloom/plan/adopt`; `text` is a plan as a document, as a `*.plan.md` holds it. */
export interface AdoptParams {
  text: string;
}

/** `planloom/step/output`. */
export interface StepParams {
  planId: string;
  stepId: string;
}

/** `planloom/plan/diff`; `uri` is that of a file of the plan's report, or with `editId` of that edit. */
export interface PlanDiffParams {
  planId: string;
  uri: string;
  editId?: string;
  allWorkspaces?: boolean;
}

/** The new plan. */
export interface CreateResult {
  plan: Plan;
  detection: Detection;
  unresolved: readonly Unresolved[];
}

/** A plan, or null if there is none; `spent` is left out if it has used no model. */
export interface GetResult {
  plan: Plan | null;
  progress: Progress;
  spent?: Spent;
}

/** Plans, newest first. */
export interface ListResult {
  plans: readonly PlanSummary[];
}

/** Steps in execution order. */
export interface TasksResult {
  tasks: readonly Step[];
  progress: Progress;
}

/** How a test run went, in words. `failures` names the tests that failed, `more` says how many it leaves out. */
export interface RanTests {
  words: string;
  good: boolean;
  failures: readonly string[];
  more?: string;
}

/**
 * What a command has printed, of a long output the beginning and the end; null if that was not stored. `command` is as
 * a shell takes it, `cwd` relative to the workspace; without `exitCode` it did not end by itself. `tests` is there if
 * it has surely run tests.
 */
export interface CommandOutput {
  callId: string;
  command: string;
  cwd?: string;
  ok: boolean;
  exitCode?: number;
  output: string | null;
  tests?: RanTests;
}

/** The finished commands of a step, in the order of their calls. */
export interface OutputResult {
  commands: readonly CommandOutput[];
}

/** Events in order of `seq`. */
export interface EventsResult {
  events: readonly Event[];
}

/** The plan, and whether it reached the awaited state before the timeout. */
export interface WaitResult {
  plan: Plan;
  reached: boolean;
}

/**
 * What becomes of the message. `planId` is the plan that has it now: for `continued`, the new one, which is `plan`.
 * `waitsFor` says what must happen before a queued message is read, `unresolved` what could not be attached.
 */
export interface MessageResult {
  outcome: MessageOutcome;
  planId: string;
  plan: Plan;
  waitsFor?: string;
  unresolved?: readonly Unresolved[];
}

/** The plan, the reverted files, and the files that could not be reverted. */
export interface UndoResult {
  plan: Plan;
  reverted: readonly string[];
  conflicts: readonly string[];
}

/** The document of a plan. */
export interface DocumentResult {
  uri: string;
}

/** A plan as text. */
export interface ExportResult {
  text: string;
}

/** The figures of the plans that were created on a day, as `2030-01-31` in the server's time zone. */
export interface DayStats extends Spent {
  day: string;
  plans: number;
  completed: number;
}

/**
 * The figures of ended plans. `success` and `undone` are percentages of them, left out if there are none. `costs` are
 * those of the models that have a price in `model.prices`, by their names. `days` are those with plans, the earliest
 * first. `text` is all of it as Markdown in the user's language.
 */
export interface StatsResult {
  plans: number;
  statuses: { readonly [name: string]: number };
  authors: { readonly [name: string]: number };
  steps: number;
  success?: number;
  undone?: number;
  usage: Usage;
  models: readonly ModelUse[];
  costs: { readonly [name: string]: number };
  days: readonly DayStats[];
  text: string;
}

/** `planloom/conflict/texts`. */
export interface ConflictTextsParams {
  editId: string;
  uri: string;
}

/** `planloom/step/answer`. */
export interface AnswerParams {
  planId: string;
  stepId: string;
  answer: string;
}

/** `planloom/step/recover`. */
export interface RecoverParams {
  planId: string;
  stepId: string;
  action: RecoveryAction;
  args?: JsonObject;
}

/**
 * The text that a file is to get instead of the proposed one. `before` is the text of the file with which the user
 * compared it; without it that of `planloom/approval/diff`.
 */
export interface ProposalEdit {
  uri: string;
  text: string;
  before?: string;
}

/** `planloom/approval/respond`. */
export interface RespondParams {
  approvalId: string;
  decision: "allow" | "allowForPlan" | "allowInFolder" | "deny" | "cancel";
  reason?: string;
  files?: readonly string[];
  confinement?: Confinement;
  edits?: readonly ProposalEdit[];
}

/** `planloom/approval/preview`; with `edit` that of the user's text instead of the proposed one. */
export interface PreviewParams {
  approvalId: string;
  uri: string;
  edit?: ProposalEdit;
}

/** `planloom/approval/diff`. */
export interface DiffParams {
  approvalId: string;
  uri: string;
}

/**
 * The text of a file now, and as the change would leave it; null if the file does not exist. `overlaps`: the user has
 * changed the same lines, and `proposed` is null.
 */
export interface PreviewResult {
  uri: string;
  now: string | null;
  proposed: string | null;
  overlaps: boolean;
}

/**
 * The whole texts of a conflicted file: the common `base`, the user's (`mine`) and the step's (`theirs`). The conflict
 * names the hash of `mine`. `both` is their merge with conflict markers around the overlaps.
 */
export interface ConflictTextsResult {
  uri: string;
  base: string;
  mine: string;
  theirs: string;
  both: string;
}

/** Which text a conflicted file gets. */
export interface FileChoice {
  uri: string;
  choice: "mine" | "theirs" | "both" | "text";
  text?: string;
  sha256?: string;
}

/** `planloom/conflict/resolve`. */
export interface ResolveConflictParams {
  planId: string;
  editId: string;
  files: readonly FileChoice[];
}

/** `planloom/reference/complete`; `offset` counts UTF-16 units. */
export interface CompleteParams {
  text: string;
  offset: number;
  limit?: number;
  context?: Context;
}

/** `planloom/reference/resolve`. */
export interface ResolveParams {
  text: string;
  context?: Context;
}

/** `planloom/attachment/keep`: an image as base64, at most 5,000,000 bytes. */
export interface KeepImageParams {
  data: string;
}

/** `planloom/detect`. */
export interface DetectParams {
  text: string;
}

/** Whether a text needs a plan, and why in the user's language. */
export interface DetectResult extends Detection {
  words: string;
}

/** One completion of a reference; `replace` is the start and end of the text that it replaces, in UTF-16 units. */
export interface ReferenceItem {
  label: string;
  insertText: string;
  detail?: string;
  kind: "file" | "folder" | "symbol" | "special";
  replace: readonly [number, number];
}

/** Completions of a reference. */
export interface CompleteResult {
  items: readonly ReferenceItem[];
  isIncomplete: boolean;
}

/** The resolved and the unresolved references of a text. */
export interface ResolveResult {
  attachments: readonly Attachment[];
  unresolved: readonly Unresolved[];
}

/** Where an image was kept, to be attached by its URI. */
export interface KeptImage {
  uri: string;
}

/** `planloom/memory/search`. Without words the newest entries; at most `limit` of them, 20 by default. */
export interface SearchMemoryParams {
  words?: string;
  limit?: number;
}

/** `planloom/memory/forget`: of one plan, or of all plans of the workspace. */
export interface ForgetMemoryParams {
  planId?: string;
}

/**
 * What a plan of this workspace found and did, kept for later plans. `files` are paths in the workspace, `findings`
 * what models said of their work, `decisions` what the user has said.
 */
export interface MemoryEntry {
  planId: string;
  at: string;
  status: PlanStatus;
  request: string;
  outcome: string;
  files: readonly string[];
  findings: readonly string[];
  decisions: readonly string[];
}

/** Entries, the best or the newest first. */
export interface MemoryResult {
  entries: readonly MemoryEntry[];
}

/** Of how many plans the entries were deleted. */
export interface ForgottenResult {
  forgotten: number;
}

/** Commands that a workspace folder allows, such as `git commit …`, confined as `line` says. */
export interface CommandRule {
  folder: string;
  text: string;
  line: string;
}

/** The rules of the open workspace folders. */
export interface RulesResult {
  rules: readonly CommandRule[];
}

/** `planloom/rules/revoke`: the rule of a folder with this text, or all of it. */
export interface RevokeRulesParams {
  folder: string;
  text?: string;
}

/** How many rules were taken back. */
export interface RevokedResult {
  revoked: number;
}

/** A value of a plan that becomes a parameter of its template. */
export interface NamedValue {
  name: string;
  value: string;
}

/** `planloom/template/save`. */
export interface SaveTemplateParams {
  planId: string;
  name: string;
  description?: string;
  parameters?: readonly NamedValue[];
}

/** `planloom/template/delete`. */
export interface TemplateParams {
  templateId: string;
}

/** `planloom/template/preview`: the values that are known so far. */
export interface PreviewTemplateParams {
  templateId: string;
  parameters?: { readonly [name: string]: string };
}

/** Every template. */
export interface TemplatesResult {
  templates: readonly Template[];
}

/** The template that was saved. */
export interface TemplateResult {
  template: Template;
}

/** Why the value of a template's parameter cannot be taken. */
export interface ParameterProblem {
  name: string;
  problem: string;
}

/** The steps of a template with the values that are known; it can be planned if there are no problems. */
export interface TemplatePreviewResult {
  steps: readonly Step[];
  problems: readonly ParameterProblem[];
}

/** A tool that a step can call: what it does, and the JSON schema of its arguments. */
export interface ToolInfo {
  name: string;
  description: string;
  parameters: JsonObject;
}

/** Every tool that a step can call. */
export interface ToolsResult {
  tools: readonly ToolInfo[];
}

/**
 * `planloom/status`. With `commands` it is found out what commands can be held to, with `languages` which language
 * servers are there; both take a moment. With `mcp` the user's MCP servers are started, to say how each is.
 */
export interface StatusParams {
  commands?: boolean;
  languages?: boolean;
  mcp?: boolean;
}

/**
 * `planloom/model/list`. `select` chooses the model now that would be used, and asks its server what it can do. Without
 * it, no server is contacted before a person's first request that needs a model.
 */
export interface ListModelsParams {
  select?: boolean;
}

/** `planloom/secret/set`; null removes the key. The value is left out of the model's repr and errors. */
export interface SecretParams {
  provider: string;
  value: string | null;
}

/** `planloom/settings/user`: values of user scope. Each is validated on its own later, so any JSON is accepted. */
export interface UserSettingsParams {
  values: JsonObject;
}

/** `planloom/workspace/trust`. */
export interface TrustParams {
  trusted: boolean;
}

/**
 * A model that can be chosen; `reason` says why it cannot be used, `cause` for programs, `words` for people. `title` is
 * the name of its service, `mends` is what mends that, `address` where its server is.
 */
export interface ModelEntry {
  provider: string;
  name: string;
  contextTokens?: number;
  reachable: boolean;
  reason?: string;
  cause?: ModelCause;
  address?: string;
  title: string;
  words?: string;
  mends?: readonly Mend[];
}

/** The model in use, and why it was chosen. */
export interface ActiveModel {
  provider: string;
  name: string;
  reason: string;
}

/**
 * Where models can be had; `title` is empty for any server. `address` is its base URL, empty for the provider's own;
 * with `asksAddress` it is an example of what the user enters.
 */
export interface ModelService {
  title: string;
  provider: string;
  address: string;
  key: "needed" | "maybe" | "none";
  asksAddress: boolean;
}

/**
 * The models, and where others can be had. `active` is of the provider `auto` as long as none was needed. Prompts to it
 * are made for `contextTokens`, which are assumed if its server does not say what it takes.
 */
export interface ModelsResult {
  models: readonly ModelEntry[];
  services: readonly ModelService[];
  active: ActiveModel | null;
  contextTokens?: number;
  contextAssumed?: boolean;
}

/**
 * The answer of the model that is used to a question for one word, and the milliseconds that it took; `words` name the
 * model.
 */
export interface ModelTestResult {
  words: string;
  provider: string;
  name: string;
  answer: string;
  tookMs: number;
}

/** The ids of the plans that run, and of those that can be resumed. */
export interface StatusPlans {
  active: readonly string[];
  resumable: readonly string[];
}

/**
 * By what means commands are confined here, and a sentence for each part that is not enforced; `writable` are folders
 * beyond the workspace that the user lets them change.
 */
export interface CommandAbilities {
  how: string;
  missing: readonly string[];
  writable?: readonly string[];
}

/**
 * A language server for files of the workspace, and how it is, and why. Of one that is missing `program` names the
 * suffixes of the files that nobody serves, and `why` says how to get it.
 */
export interface LanguageServer {
  name: string;
  program: string;
  state: "ready to start" | "starting" | "running" | "given up" | "not started" | "missing";
  why?: string;
}

/** One of the user's MCP servers: its command line or address, how it is, and why, with the number of its tools. */
export interface McpServer {
  name: string;
  program: string;
  state: "ready to start" | "starting" | "running" | "given up" | "wrong";
  why?: string;
  tools: number;
}

/** A package that the user has enabled, and what it `brings`, such as `tool count_words`, or why it is not used. */
export interface Extension {
  name: string;
  state: "loaded" | "failed";
  version?: string;
  brings?: readonly string[];
  why?: string;
}

/** When changes are reviewed: what that asks under the settings, in a few words `line`, and what is not asked. */
export interface ReviewChoice {
  review: Review;
  title: string;
  line: string;
  asks: string;
  unasked: string;
}

/**
 * The version, model, folders, plans and health of the server. `review` is that of a plan without its own. `modelWords`
 * say which model is used, or will be when one is needed.
 */
export interface StatusResult {
  version: string;
  protocolVersion: number;
  sessionId: string;
  model: ActiveModel;
  modelWords: string;
  workspaceFolders: readonly string[];
  trusted: boolean;
  plans: StatusPlans;
  health: "ok" | "degraded";
  problems: readonly string[];
  logPath: string;
  storagePath: string;
  commands?: CommandAbilities;
  languages?: readonly LanguageServer[];
  mcp?: readonly McpServer[];
  extensions?: readonly Extension[];
  storageNote?: string;
  review: Review;
  reviews: readonly ReviewChoice[];
}

/** `planloom/stream`. */
export interface StreamParams {
  planId?: string;
  stepId?: string;
  callId?: string;
  kind: "text" | "reasoning" | "stdout" | "stderr";
  delta: string;
}

/** `planloom/health`: the current problems, as in `planloom/status`. */
export interface HealthParams {
  health: "ok" | "degraded";
  problems: readonly string[];
}

/**
 * A step that waits for what another step uses, which may be one of another plan; `path` is that of a file.
 * `usedByStep` is empty while a draft of that plan uses the model.
 */
export interface StepWait {
  stepId: string;
  resource: "path" | "model" | "terminal";
  path?: string;
  usedByPlan: string;
  usedByStep: string;
}

/** `planloom/waits`: the steps of a plan that wait for what another step uses, of many the first. */
export interface WaitsParams {
  planId: string;
  waits: readonly StepWait[];
}

/** `planloom/spent`: what a plan has used of models so far, after each request to one. */
export interface SpentParams {
  planId: string;
  spent: Spent;
}

/** `planloom/editor/diagnostics`. No `uris` ask for every file that has diagnostics. */
export interface EditorDiagnosticsParams {
  uris: readonly string[];
}

/** A diagnostic of LSP, with only the fields that are read here. */
export interface LspDiagnostic {
  range: Range;
  severity?: 1 | 2 | 3 | 4;
  code?: number | string;
  source?: string;
  message: string;
}

/** The diagnostics of one file. */
export interface UriDiagnostics {
  uri: string;
  items: readonly LspDiagnostic[];
  version?: number;
}

/** The diagnostics of each file. */
export interface EditorDiagnosticsResult {
  diagnostics: readonly UriDiagnostics[];
}

/** `planloom/editor/language`: a request of LSP for the user's language servers, with the params of LSP. */
export interface EditorLanguageParams {
  method:
    | "textDocument/documentSymbol"
    | "workspace/symbol"
    | "textDocument/definition"
    | "textDocument/implementation"
    | "textDocument/references"
    | "textDocument/hover"
    | "textDocument/prepareCallHierarchy"
    | "callHierarchy/incomingCalls"
    | "callHierarchy/outgoingCalls"
    | "textDocument/rename"
    | "textDocument/codeAction"
    | "codeAction/resolve"
    | "textDocument/formatting";
  params: JsonObject;
}

/** What they answer, as LSP has it; if none can, null and a sentence that says why. */
export interface EditorLanguageResult {
  result: Json;
  problem?: string;
}

/** `planloom/editor/save`. */
export interface EditorSaveParams {
  uris: readonly string[];
}

/** A document that could not be saved. */
export interface SaveFailure {
  uri: string;
  reason: string;
}

/** The documents that were saved, and those that were not. */
export interface EditorSaveResult {
  saved: readonly string[];
  failed: readonly SaveFailure[];
}

/** `planloom/editor/createFolder`. */
export interface EditorCreateFolderParams {
  uri: string;
}

/** Whether the empty folder was made, and why not. */
export interface EditorCreateFolderResult {
  created: boolean;
  reason?: string;
}

/** `planloom/editor/files`: a folder of a file system that only the editor can reach. */
export interface EditorFilesParams {
  uri: string;
}

/** A file or folder by its name in the folder. */
export interface FolderEntry {
  name: string;
  kind: "file" | "folder";
}

/** What is in the folder itself, without the folders below it. */
export interface EditorFilesResult {
  entries: readonly FolderEntry[];
}

/** `planloom/editor/read`: a file or folder of a file system that only the editor can reach. */
export interface EditorReadParams {
  uri: string;
}

/**
 * What is there. `content` is a file's bytes in base64, left out above 5 MiB; `size` is in bytes. A client that cannot
 * tell answers with an error.
 */
export interface EditorReadResult {
  kind: "file" | "folder" | "absent";
  size?: number;
  content?: string;
}

/** A tool call of the editor's model. */
export interface ChatCall {
  callId: string;
  name: string;
  arguments: JsonObject;
}

/** One message of a conversation with the editor's model. */
export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  toolCalls?: readonly ChatCall[];
  toolCallId?: string;
}

/** A tool as a model sees it. */
export interface ChatTool {
  name: string;
  description: string;
  parameters: JsonObject;
}

/** `planloom/editor/complete`. */
export interface EditorCompleteParams {
  requestId: string;
  model?: string;
  messages: readonly ChatMessage[];
  tools?: readonly ChatTool[];
  responseSchema?: JsonObject;
  maxTokens?: number;
}

/** The answer of the editor's model. */
export interface EditorCompleteResult {
  text: string;
  toolCalls?: readonly ChatCall[];
  usage?: Usage;
}

export interface OfPlan {
  seq: number;
  planId: string;
  sessionId: string;
  at: string;
}

export interface OfStep extends OfPlan {
  taskId: string;
}

export interface OfEdit extends OfPlan {
  taskId?: string;
  editId: string;
  files: readonly EditedFile[];
}

/** The text that a conflicted file got. */
export interface ResolvedFile {
  uri: string;
  choice: "mine" | "theirs" | "both" | "text";
}

/** A request was received. */
export interface PlanStart extends OfPlan {
  type: "plan_start";
  request: string;
  route: Route;
  detection: Detection;
  qualification?: Qualification;
  attachments: readonly Attachment[];
  unresolved: readonly Unresolved[];
  workspaceFolders: readonly string[];
  follows?: string;
  templateId?: string;
}

/**
 * The route of an undecided request: by a model if `detection.rule` is `model` (`direct`, then it may still submit a
 * plan), else by the rules, whose rule it is.
 */
export interface PlanRouted extends OfPlan {
  type: "plan_routed";
  detection: Detection;
  qualification?: Qualification;
  route: Route;
}

/** A planner has begun to write steps. */
export interface PlanDrafting extends OfPlan {
  type: "plan_drafting";
  version: number;
  feedback?: string;
}

/** The user has said something to the plan. */
export interface PlanMessage extends OfPlan {
  type: "plan_message";
  text: string;
  outcome: MessageOutcome;
  attachments?: readonly Attachment[];
}

/** A step's model has been sent the first `count` messages of the plan. */
export interface MessagesRead extends OfStep {
  type: "messages_read";
  count: number;
}

/** The request runs without a plan review: the request itself is the approval of these steps. */
export interface PlanDirect extends OfPlan {
  type: "plan_direct";
  plan: Plan;
}

/** One agent has begun its report on the request. */
export interface PerspectiveStart extends OfPlan {
  type: "perspective_start";
  agent: Agent;
}

/** One agent has completed its report, or failed. */
export interface PerspectiveComplete extends OfPlan {
  type: "perspective_complete";
  agent: Agent;
  perspective?: AnyPerspective;
  error?: string;
}

/** A step was read from a draft that is still being written. */
export interface StepCreated extends OfPlan {
  type: "task_created";
  task: Step;
}

/** The draft is complete and waits for review. */
export interface PlanReady extends OfPlan {
  type: "plan_ready";
  plan: Plan;
}

/** The user is asked to approve the present version. */
export interface PlanApprovalRequest extends OfPlan {
  type: "plan_approval_request";
  plan: Plan;
}

/** The steps were changed by the user, or by a proposal of the model that the user accepted. */
export interface PlanEdited extends OfPlan {
  type: "plan_edited";
  version: number;
  edits: readonly StepEdit[];
  plan: Plan;
  by: "user" | "model";
}

/** The user approved exactly this version. */
export interface PlanApproved extends OfPlan {
  type: "plan_approved";
  version: number;
  review: Review;
  covers: boolean;
}

/** The user rejected the plan. */
export interface PlanRejected extends OfPlan {
  type: "plan_rejected";
  reason?: string;
}

/** Steps may run now. */
export interface PlanExecuting extends OfPlan {
  type: "plan_executing";
}

/** A step has started. */
export interface StepStarted extends OfStep {
  type: "task_started";
  agent: Agent;
  activeForm?: string;
  attempt?: number;
}

/** A running step reports progress, or goes back to pending. */
export interface StepUpdate extends OfStep {
  type: "task_update";
  status: "pending" | "running" | "completed";
  progress?: number;
  activeForm?: string;
  attempt?: number;
  usage?: Usage;
  coveredBy?: number;
}

/** A model was asked outside of the steps: for the route, a draft or a recovery. */
export interface ModelUsed extends OfPlan {
  type: "model_used";
  usage: Usage;
  model?: string;
}

/** A step is done. */
export interface StepCompleted extends OfStep {
  type: "task_completed";
  result: StepResult;
  usage?: Usage;
}

/** A step failed. */
export interface StepFailed extends OfStep {
  type: "task_failed";
  error: string;
  code?: string;
  willRetry: boolean;
  durationMs?: number;
}

/** A step will not run, or what it has done is not wanted. */
export interface StepSkipped extends OfStep {
  type: "task_skipped";
  reason: SkipReason;
  detail?: string;
}

/** The condition of a running step was evaluated; if it does not hold, the step is skipped. */
export interface ConditionEvaluated extends OfStep {
  type: "condition_evaluated";
  holds: boolean;
}

/** A running loop or sub-plan was unrolled: it waits for these new steps, which stand behind it. */
export interface StepsUnrolled extends OfStep {
  type: "steps_unrolled";
  tasks: readonly Step[];
}

/** A tool call of a step has started. */
export interface ToolStarted extends OfStep {
  type: "tool_started";
  callId: string;
  tool: string;
  args: JsonObject;
}

/** A tool call has settled. */
export interface ToolCompleted extends OfStep {
  type: "tool_completed";
  callId: string;
  ok: boolean;
  deduplicated: boolean;
  summary: string;
  durationMs: number;
}

/**
 * The command of the step's open call runs in the background from now on; the fields are those of `BackgroundCommand`.
 */
export interface BackgroundStarted extends OfStep {
  type: "background_started";
  commandId: string;
  command: string;
  pid: number;
  process?: string;
}

/** A background command has ended, or was stopped. */
export interface BackgroundEnded extends OfStep {
  type: "background_ended";
  commandId: string;
  reason: "exit" | "stopped" | "time_limit" | "plan_ended" | "server_ended" | "crash";
  exitCode?: number;
  line: string;
}

/** The user is asked for permission. */
export interface ApprovalRequested extends OfPlan {
  type: "approval_request";
  approval: Approval;
}

/** Permission was given or refused. */
export interface ApprovalResolved extends OfPlan {
  type: "approval_resolved";
  approvalId: string;
  decision: "allow" | "allowForPlan" | "allowInFolder" | "deny" | "cancel" | "superseded";
  by: "user" | "policy" | "server";
  reason?: string;
  files?: readonly string[];
  confinement?: Confinement;
  edited?: readonly EditedProposal[];
}

/** What language servers say of the changes that the user is asked about, which came after the question. */
export interface ApprovalJudged extends OfPlan {
  type: "approval_judged";
  approvalId: string;
  judged?: Judged;
}

/** The intent to change files, recorded on disk before the editor is asked to change them. */
export interface EditStarted extends OfEdit {
  type: "edit_started";
  coveredBy?: number;
}

/**
 * The files hold the intended text, or its merge with what the user wrote meanwhile; again, if the user has redone the
 * edit in the editor.
 */
export interface EditApplied extends OfEdit {
  type: "edit_applied";
  merged: boolean;
  outcome: "verified" | "normalized" | "unverified";
}

/** The editor or the disk refused the change. */
export interface EditRejected extends OfEdit {
  type: "edit_rejected";
  reason: string;
}

/** An applied edit was reverted, by an undo or by the user in the editor. */
export interface EditReverted extends OfEdit {
  type: "edit_reverted";
}

/** Files differ after a command from before it. */
export interface CommandChanged extends OfEdit {
  type: "command_changed";
  command: string;
  unknown?: readonly EditedFile[];
  notes?: readonly string[];
}

/** The user has renamed files that the plan has changed, or folders above them. */
export interface FilesRenamed extends OfPlan {
  type: "files_renamed";
  editId: string;
  files: readonly EditedFile[];
}

/** The user and the step changed the same lines. */
export interface EditConflict extends OfStep {
  type: "edit_conflict";
  conflict: Conflict;
}

/** The user decided which text to keep. */
export interface ConflictResolved extends OfStep {
  type: "conflict_resolved";
  editId: string;
  files: readonly ResolvedFile[];
  by: "user" | "server";
}

/** A check of a step has run. */
export interface CheckCompleted extends OfStep {
  type: "check_completed";
  check: Check;
  judged?: Judged;
  implied: boolean;
}

/** A step cannot go on without an answer. */
export interface ClarificationRequest extends OfStep {
  type: "clarification_request";
  question: string;
  options?: readonly string[];
}

/** The user answered the question of a step. */
export interface ClarificationProvided extends OfStep {
  type: "clarification_provided";
  answer: string;
}

/** A failed step waits for a decision. */
export interface RecoveryRequest extends OfStep {
  type: "recovery_request";
  error: string;
  code?: string;
  options: readonly RecoveryAction[];
  proposal?: Proposal;
}

/** The decision on a failed step: of the user, of the model whose proposal the user accepted, or of the setting. */
export interface RecoveryChosen extends OfStep {
  type: "recovery_chosen";
  action: RecoveryAction;
  args?: JsonObject;
  version?: number;
  by: "user" | "model" | "policy";
}

/** Older results were merged into the summary. */
export interface ContextCompacted extends OfPlan {
  type: "context_compacted";
  beforeTokens: number;
  afterTokens: number;
  by: "model" | "rules";
}

/** The list of steps changed as a whole; the wire carries it. */
export interface StepsList extends OfPlan {
  type: "tasks_list";
  tasks: readonly Step[];
}

/** The plan is paused: no further step starts. */
export interface PlanPaused extends OfPlan {
  type: "plan_paused";
  reason:
    | "user"
    | "clarification"
    | "recovery"
    | "conflict"
    | "budget"
    | "model_unavailable"
    | "unsaved_files"
    | "restart"
    | "error"
    | "storage";
  detail?: string;
  modelProblem?: ModelProblem;
}

/** The plan goes on. */
export interface PlanResumed extends OfPlan {
  type: "plan_resumed";
}

/** The plan was taken over from another machine: nobody here has seen what happened before. */
export interface PlanImported extends OfPlan {
  type: "plan_imported";
}

/** The whole answer of a direct request. */
export interface Answer extends OfStep {
  type: "answer";
  text: string;
  confidence?: "high" | "medium" | "low";
}

/** The plan completed. */
export interface PlanCompleted extends OfPlan {
  summary: string;
  report?: Report;
  progress: Progress;
  usage: Usage;
  type: "plan_completed";
}

/** The plan failed. */
export interface PlanFailed extends OfPlan {
  summary: string;
  report?: Report;
  progress: Progress;
  usage: Usage;
  type: "plan_failed";
  error: PlanError;
}

/** The user ended the plan. */
export interface PlanCancelled extends OfPlan {
  summary: string;
  report?: Report;
  progress: Progress;
  usage: Usage;
  type: "plan_cancelled";
}

/** A message for the user. */
export interface Log extends OfPlan {
  type: "log";
  level: "debug" | "info" | "warning" | "error";
  message: string;
  taskId?: string;
}

export type StepEdit = UpdateStep | AddStep | RemoveStep | MoveStep | SkipStep | UnskipStep;

export type AnyPerspective = ChapoPerspective | KodaPerspective | DevoPerspective;

export type Event =
  | PlanStart
  | PlanRouted
  | PlanDrafting
  | PlanMessage
  | MessagesRead
  | PlanDirect
  | PerspectiveStart
  | PerspectiveComplete
  | StepCreated
  | PlanReady
  | PlanApprovalRequest
  | PlanEdited
  | PlanApproved
  | PlanRejected
  | PlanExecuting
  | StepStarted
  | StepUpdate
  | ModelUsed
  | StepCompleted
  | StepFailed
  | StepSkipped
  | ConditionEvaluated
  | StepsUnrolled
  | ToolStarted
  | ToolCompleted
  | BackgroundStarted
  | BackgroundEnded
  | ApprovalRequested
  | ApprovalResolved
  | ApprovalJudged
  | EditStarted
  | EditApplied
  | EditRejected
  | EditReverted
  | CommandChanged
  | FilesRenamed
  | EditConflict
  | ConflictResolved
  | CheckCompleted
  | ClarificationRequest
  | ClarificationProvided
  | RecoveryRequest
  | RecoveryChosen
  | ContextCompacted
  | StepsList
  | PlanPaused
  | PlanResumed
  | PlanImported
  | Answer
  | PlanCompleted
  | PlanFailed
  | PlanCancelled
  | Log;

export const EVENTS = [
  "plan_start",
  "plan_routed",
  "plan_drafting",
  "plan_message",
  "messages_read",
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
  "model_used",
  "task_completed",
  "task_failed",
  "task_skipped",
  "condition_evaluated",
  "steps_unrolled",
  "tool_started",
  "tool_completed",
  "background_started",
  "background_ended",
  "approval_request",
  "approval_resolved",
  "approval_judged",
  "edit_started",
  "edit_applied",
  "edit_rejected",
  "edit_reverted",
  "command_changed",
  "files_renamed",
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
  "plan_imported",
  "answer",
  "plan_completed",
  "plan_failed",
  "plan_cancelled",
  "log",
] as const;

export const ERROR_CODES = [
  "internal",
  "invalid_params",
  "unknown_plan",
  "unknown_step",
  "unknown_approval",
  "unknown_template",
  "unknown_edit",
  "wrong_state",
  "stale_version",
  "invalid_plan",
  "owned_elsewhere",
  "limit_exceeded",
  "storage_failed",
  "model_unavailable",
  "model_refused",
  "model_output_invalid",
  "context_overflow",
  "planner_failed",
  "reference_unresolved",
  "workspace_required",
  "untrusted_workspace",
  "path_denied",
  "budget_exhausted",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Each request of the client. */
export interface Requests {
  "planloom/plan/create": { params: CreateParams; result: CreateResult };
  "planloom/plan/get": { params: GetParams; result: GetResult };
  "planloom/plan/view": { params: GetViewParams; result: ViewResult };
  "planloom/plan/list": { params: ListParams; result: ListResult };
  "planloom/plan/tasks": { params: TasksParams; result: TasksResult };
  "planloom/plan/events": { params: EventsParams; result: EventsResult };
  "planloom/plan/edit": { params: EditParams; result: PlanResult };
  "planloom/plan/rewrite": { params: RewriteParams; result: PlanResult };
  "planloom/plan/restore": { params: RestoreParams; result: PlanResult };
  "planloom/plan/regenerate": { params: RegenerateParams; result: PlanResult };
  "planloom/plan/message": { params: MessageParams; result: MessageResult };
  "planloom/plan/approve": { params: ApproveParams; result: PlanResult };
  "planloom/plan/reject": { params: RejectParams; result: PlanResult };
  "planloom/plan/direct": { params: PlanParams; result: PlanResult };
  "planloom/plan/pause": { params: PlanParams; result: PlanResult };
  "planloom/plan/resume": { params: PlanParams; result: PlanResult };
  "planloom/plan/review": { params: PlanParams; result: PlanResult };
  "planloom/plan/cancel": { params: PlanParams; result: PlanResult };
  "planloom/plan/wait": { params: WaitParams; result: WaitResult };
  "planloom/plan/undo": { params: UndoParams; result: UndoResult };
  "planloom/plan/diff": { params: PlanDiffParams; result: DiffResult };
  "planloom/plan/delete": { params: PlanParams; result: Empty };
  "planloom/plan/export": { params: ExportParams; result: ExportResult };
  "planloom/plan/import": { params: ImportParams; result: PlanResult };
  "planloom/plan/adopt": { params: AdoptParams; result: PlanResult };
  "planloom/plan/document": { params: PlanParams; result: DocumentResult };
  "planloom/step/output": { params: StepParams; result: OutputResult };
  "planloom/conflict/resolve": { params: ResolveConflictParams; result: PlanResult };
  "planloom/conflict/texts": { params: ConflictTextsParams; result: ConflictTextsResult };
  "planloom/stats": { params: StatsParams; result: StatsResult };
  "planloom/memory/search": { params: SearchMemoryParams; result: MemoryResult };
  "planloom/memory/forget": { params: ForgetMemoryParams; result: ForgottenResult };
  "planloom/rules/list": { params: NoParams; result: RulesResult };
  "planloom/rules/revoke": { params: RevokeRulesParams; result: RevokedResult };
  "planloom/step/answer": { params: AnswerParams; result: PlanResult };
  "planloom/step/recover": { params: RecoverParams; result: PlanResult };
  "planloom/approval/respond": { params: RespondParams; result: Empty };
  "planloom/approval/preview": { params: PreviewParams; result: PreviewResult };
  "planloom/approval/diff": { params: DiffParams; result: DiffResult };
  "planloom/reference/complete": { params: CompleteParams; result: CompleteResult };
  "planloom/reference/resolve": { params: ResolveParams; result: ResolveResult };
  "planloom/attachment/keep": { params: KeepImageParams; result: KeptImage };
  "planloom/detect": { params: DetectParams; result: DetectResult };
  "planloom/template/list": { params: NoParams; result: TemplatesResult };
  "planloom/template/preview": { params: PreviewTemplateParams; result: TemplatePreviewResult };
  "planloom/template/save": { params: SaveTemplateParams; result: TemplateResult };
  "planloom/template/delete": { params: TemplateParams; result: Empty };
  "planloom/tool/list": { params: NoParams; result: ToolsResult };
  "planloom/model/list": { params: ListModelsParams; result: ModelsResult };
  "planloom/model/test": { params: NoParams; result: ModelTestResult };
  "planloom/secret/set": { params: SecretParams; result: Empty };
  "planloom/settings/user": { params: UserSettingsParams; result: Empty };
  "planloom/status": { params: StatusParams; result: StatusResult };
}

/** Each request of the server. */
export interface EditorRequests {
  "planloom/editor/diagnostics": { params: EditorDiagnosticsParams; result: EditorDiagnosticsResult };
  "planloom/editor/language": { params: EditorLanguageParams; result: EditorLanguageResult };
  "planloom/editor/save": { params: EditorSaveParams; result: EditorSaveResult };
  "planloom/editor/createFolder": { params: EditorCreateFolderParams; result: EditorCreateFolderResult };
  "planloom/editor/files": { params: EditorFilesParams; result: EditorFilesResult };
  "planloom/editor/read": { params: EditorReadParams; result: EditorReadResult };
  "planloom/editor/complete": { params: EditorCompleteParams; result: EditorCompleteResult };
}

/** Each notification of the client. */
export interface Notifications {
  "planloom/workspace/trust": TrustParams;
}

/** Each notification of the server. */
export interface ServerNotifications {
  "planloom/event": Event;
  "planloom/plan/view": ViewParams;
  "planloom/stream": StreamParams;
  "planloom/health": HealthParams;
  "planloom/waits": WaitsParams;
  "planloom/spent": SpentParams;
}
