// Builds plans and views as the server would send them, for tests.

import type { PanelState, PlanView } from "../src/plan/views";
import type {
  Action,
  ApprovalView,
  ChangedFile,
  ChapoPerspective,
  KodaPerspective,
  Plan,
  Step,
  StepView,
} from "../src/protocol";

export function step(stepId: string, more: Partial<Step> = {}): Step {
  return {
    stepId,
    order: 1,
    description: `Do ${stepId}`,
    instruction: "",
    activeForm: "",
    kind: "processing",
    agent: "koda",
    dependsOn: [],
    blocks: [],
    priority: "normal",
    critical: false,
    requiresApproval: false,
    status: "pending",
    attempts: 0,
    checks: [],
    expectedFiles: [],
    attachments: [],
    toolsExecuted: [],
    ...more,
  };
}

export function plan(steps: readonly Step[], more: Partial<Plan> = {}): Plan {
  return {
    planId: "p1",
    sessionId: "s1",
    version: 1,
    seq: 0,
    status: "pending_approval",
    workspaceFolders: ["file:///w"],
    request: "Build a page",
    attachments: [],
    perspectives: {},
    summary: "",
    steps,
    sequential: false,
    overallRisk: "low",
    route: "plan",
    author: "rules",
    usage: { requests: 0, promptTokens: 0, completionTokens: 0 },
    pending: { approvals: [], questions: [], recoveries: [], conflicts: [] },
    createdAt: "2030-01-01T12:00:00Z",
    ...more,
  };
}

const NO_PROGRESS = { total: 0, pending: 0, inProgress: 0, completed: 0, failed: 0, skipped: 0, percentComplete: 0 };

const SHARED = {
  concerns: [],
  recommendations: [],
  estimatedEffort: "small",
  timestamp: "2030-01-01T12:00:00Z",
} as const;

export function chapo(analysis: string, more: Partial<ChapoPerspective> = {}): ChapoPerspective {
  const own = { strategicAnalysis: "", riskAssessment: "", impactAreas: [], coordinationNeeds: [] };
  return { ...SHARED, agent: "chapo", analysis, ...own, ...more };
}

export function koda(analysis: string): KodaPerspective {
  const own = { affectedFiles: [], codePatterns: [], potentialBreakingChanges: [], testingRequirements: [] };
  return { ...SHARED, agent: "koda", analysis, ...own };
}

/** The commands that a server offers for a plan in such a status, as far as tests need them. */
const OFFERED: Readonly<Partial<Record<Plan["status"], readonly string[]>>> = {
  pending_approval: ["approve", "reject", "direct", "cancel", "regenerate"],
  executing: ["pause", "cancel"],
  paused: ["resume", "cancel", "regenerate"],
  draft: ["cancel", "direct"],
  approved: ["pause", "cancel"],
  rejected: ["regenerate"],
  failed: ["regenerate"],
  cancelled: ["regenerate"],
};

const action = (name: string): Action => ({ title: name, command: `planloom.${name}`, arguments: [] });

export function stepView(one: Step, number: number, more: Partial<StepView> = {}): StepView {
  return { step: one, number, sign: one.status, words: one.status, changed: 0, agent: "Code", after: "", ...more };
}

export function approvalView(approvalId: string, more: Partial<ApprovalView> = {}): ApprovalView {
  return { approvalId, allow: "Allow once", refuse: "No…", deny: "Skip it", ahead: "All of it", kinds: [], ...more };
}

/** A view as a server would send it, and what differs from its simplest form: of the whole, and of its steps. */
export function viewOf(
  now: Plan,
  more: Partial<Omit<PlanView, "actions">> & { actions?: readonly string[] } = {},
  ofSteps: Readonly<Record<string, Partial<StepView>>> = {},
): PlanView {
  const { approvals, questions, recoveries, conflicts } = now.pending;
  const completed = now.steps.filter(({ status }) => status === "completed").length;
  const { actions = OFFERED[now.status] ?? [], ...others } = more;
  return {
    plan: now,
    number: 1,
    state: now.status,
    sign: now.status,
    causes: [],
    approvals: approvals.map(({ approvalId, files }) => approvalView(approvalId, { kinds: files.map(() => "edited") })),
    decisions: approvals.length + questions.length + recoveries.length + conflicts.length,
    line: now.status,
    talk: false,
    live: !["completed", "failed", "cancelled", "rejected"].includes(now.status),
    partly: false,
    workedOn: false,
    progress: { ...NO_PROGRESS, total: now.steps.length, completed },
    used: "",
    messageField: { placeholder: "What next?", button: "Send", hint: "It is read." },
    files: [],
    log: [],
    actions: actions.map(action),
    steps: now.steps.map((one, index) => {
      const after = one.dependsOn.map((id) => now.steps.findIndex(({ stepId }) => stepId === id) + 1).join(", ");
      return stepView(one, index + 1, { after, ...ofSteps[one.stepId] });
    }),
    streams: {},
    words: {},
    printed: {},
    ...others,
  };
}

/** A state that displays the first of these plans. */
export function stateOf(...views: readonly PlanView[]): PanelState {
  const plans = Object.fromEntries(views.map((view) => [view.plan.planId, view]));
  const [first] = views;
  return first === undefined ? { plans } : { plans, current: first.plan.planId };
}

export function changedFile(uri: string, more: Partial<ChangedFile> = {}): ChangedFile {
  const rest = { editId: "e", stepId: "a", merged: false, byCommand: false, lasting: false };
  return { uri, change: "edit", kind: "edited", state: "applied", words: "", ...rest, ...more };
}
