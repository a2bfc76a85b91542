// Folds events into a plan as the server does; streams recorded from the server test that both agree.

import type {
  Approval,
  ApprovalRequest,
  ApprovalResolved,
  Check,
  ClarificationProvided,
  ClarificationRequest,
  ConflictResolved,
  EditConflict,
  Event,
  Pending,
  Plan,
  PlanCancelled,
  PlanCompleted,
  PlanFailed,
  PlanStatus,
  RecoveryChosen,
  RecoveryRequest,
  Step,
  TaskCompleted,
  TaskFailed,
  TaskSkipped,
  TaskStarted,
  TaskUpdate,
  Usage,
} from "../protocol";
import { shareDone } from "./loops";

export const NO_USAGE: Usage = { requests: 0, promptTokens: 0, completionTokens: 0 };
export const NO_PENDING: Pending = { approvals: [], questions: [], recoveries: [], conflicts: [] };

/** The plan after an event. */
export function foldPlan(plan: Plan, event: Event): Plan {
  switch (event.type) {
    case "plan_routed":
      return {
        ...plan,
        qualification: event.qualification,
        route: event.route,
        overallRisk: event.qualification?.riskLevel ?? plan.overallRisk,
      };
    case "plan_drafting":
      if (plan.version === 0) return plan;
      return {
        ...plan,
        status: "draft",
        pending: NO_PENDING,
        error: undefined,
        steps: plan.steps.filter((step) => step.status === "completed"),
      };
    case "plan_direct":
    case "plan_ready":
    case "plan_approval_request":
    case "plan_edited":
      return event.plan;
    case "perspective_complete":
      return event.perspective === undefined
        ? plan
        : { ...plan, perspectives: { ...plan.perspectives, [event.agent]: event.perspective } };
    case "task_created":
      return { ...plan, steps: [...plan.steps.filter((step) => step.stepId !== event.task.stepId), event.task] };
    case "tasks_list":
    case "steps_unrolled":
      return { ...plan, steps: event.tasks };
    case "plan_message":
      return {
        ...plan,
        messages: [...(plan.messages ?? []), { text: event.text, at: event.at, state: "open" }],
        attachments: [...plan.attachments, ...(event.attachments ?? [])],
      };
    case "messages_read":
      return {
        ...plan,
        messages: plan.messages?.map((message, index) =>
          index < event.count && message.state === "open" ? { ...message, state: "read" } : message,
        ),
      };
    case "plan_approved":
      return { ...plan, status: "approved", version: event.version, review: event.review, approvedAt: event.at };
    case "plan_rejected":
      return { ...plan, status: "rejected", rejectionReason: event.reason };
    case "plan_executing":
    case "plan_resumed":
      return { ...plan, status: "executing" };
    case "plan_paused":
      return { ...plan, status: "paused" };
    case "plan_completed":
      return ended(plan, "completed", event);
    case "plan_failed":
      return ended(plan, "failed", event);
    case "plan_cancelled":
      return ended(plan, "cancelled", event);
    case "check_completed":
      return withProgressAbove(
        change(plan, event.taskId, (step) =>
          withShareChecked({ ...step, checks: withCheck(step.checks, event.check) }),
        ),
        event.taskId,
      );
    case "model_used":
      return withUsage(plan, event.usage);
    case "task_started":
      return foldTask(plan, event);
    case "task_update":
      return event.progress == null ? foldTask(plan, event) : withProgressAbove(foldTask(plan, event), event.taskId);
    case "task_completed":
    case "task_failed":
    case "task_skipped":
      return withProgressAbove(foldTask(plan, event), event.taskId);
    case "approval_request":
    case "approval_resolved":
    case "edit_conflict":
    case "conflict_resolved":
    case "clarification_request":
    case "clarification_provided":
    case "recovery_request":
    case "recovery_chosen":
      return foldDecision(plan, event);
    // These change only the view of the plan.
    case "plan_start":
    case "perspective_start":
    case "condition_evaluated":
    case "tool_started":
    case "tool_completed":
    case "background_started":
    case "background_ended":
    case "edit_started":
    case "edit_applied":
    case "edit_rejected":
    case "edit_reverted":
    case "command_changed":
    case "files_renamed":
    case "context_compacted":
    case "plan_imported":
    case "answer":
    case "log":
      return plan;
    default:
      return unchanged(plan, event);
  }
}

/** Ends a switch over all events, which compiles only with a case for each. A newer server may send others. */
export function unchanged<T>(state: T, _event: never): T {
  return state;
}

/** The plan with the progress of the loops and sub-plans that a step was unrolled from. */
function withProgressAbove(plan: Plan, taskId: string): Plan {
  const parent = plan.steps.find((step) => step.stepId === taskId)?.parent;
  if (parent == null) return plan;
  const changed = change(plan, parent, (loop) => ({ ...loop, progress: shareDone(plan, loop) }));
  return withProgressAbove(changed, parent);
}

function withShareChecked(step: Step): Step {
  if (step.kind !== "check") return step;
  const made = step.checks.filter(({ outcome }) => outcome != null).length;
  return { ...step, progress: Math.floor((made * 100) / step.checks.length) };
}

function toBeMade(checks: readonly Check[]): Check[] {
  return checks.map(({ outcome: _outcome, detail: _detail, ...check }) => check);
}

type TaskEvent = TaskStarted | TaskUpdate | TaskCompleted | TaskFailed | TaskSkipped;

function foldTask(plan: Plan, event: TaskEvent): Plan {
  switch (event.type) {
    case "task_started":
      return change(plan, event.taskId, (step) => ({
        ...step,
        status: "running",
        agent: event.agent,
        attempts: event.attempt ?? step.attempts + 1,
        activeForm: event.activeForm ?? step.activeForm,
        startedAt: step.startedAt ?? event.at,
        progress: shareDone(plan, step),
        checks: step.kind === "check" ? toBeMade(step.checks) : step.checks,
        result: undefined,
        completedAt: undefined,
      }));
    case "task_update":
      return change(withUsage(plan, event.usage), event.taskId, (step) => ({
        ...step,
        usage: event.usage == null ? step.usage : sum(step.usage ?? NO_USAGE, event.usage),
        status: event.status,
        progress: event.progress ?? step.progress,
        activeForm: event.activeForm ?? step.activeForm,
      }));
    case "task_completed":
      return change(spent(plan, event), event.taskId, (step) => ({
        ...step,
        status: "completed",
        result: event.result,
        usage: event.usage,
        completedAt: event.at,
        progress: 100,
      }));
    case "task_failed":
      return change(plan, event.taskId, (step) => ({
        ...step,
        status: event.willRetry ? "pending" : "failed",
        completedAt: event.at,
        result: event.willRetry ? step.result : failure(step, event),
      }));
    case "task_skipped":
      return {
        ...change(plan, event.taskId, (step) => ({
          ...step,
          // A step that failed and that the setting leaves so stays failed.
          status: event.reason === "policy" ? "failed" : "skipped",
          skipReason: event.reason,
          completedAt: event.at,
        })),
        pending: {
          ...plan.pending,
          questions: withoutStep(plan.pending.questions, event.taskId),
          recoveries: withoutStep(plan.pending.recoveries, event.taskId),
        },
      };
  }
}

function failure({ startedAt }: Step, { error, durationMs, at }: TaskFailed): Step["result"] {
  const since = startedAt == null ? 0 : Math.max(0, Date.parse(at) - Date.parse(startedAt));
  return { ok: false, error, durationMs: durationMs ?? since, timestamp: at };
}

type DecisionEvent =
  | ApprovalRequest
  | ApprovalResolved
  | EditConflict
  | ConflictResolved
  | ClarificationRequest
  | ClarificationProvided
  | RecoveryRequest
  | RecoveryChosen;

function foldDecision(plan: Plan, event: DecisionEvent): Plan {
  const { approvals, questions, recoveries, conflicts } = plan.pending;
  const pending = (changed: Partial<Pending>): Plan => ({ ...plan, pending: { ...plan.pending, ...changed } });
  switch (event.type) {
    case "approval_request":
      return pending({ approvals: [...withoutApproval(approvals, event.approval.approvalId), event.approval] });
    case "approval_resolved":
      return pending({ approvals: withoutApproval(approvals, event.approvalId) });
    case "edit_conflict":
      return pending({ conflicts: [...conflicts, event.conflict] });
    case "conflict_resolved":
      return pending({ conflicts: conflicts.filter((each) => each.editId !== event.editId) });
    case "clarification_request": {
      const { taskId: stepId, question, options } = event;
      const asked = pending({ questions: [...withoutStep(questions, stepId), { stepId, question, options }] });
      return change(asked, stepId, (step) => ({ ...step, status: "needs_clarification", question }));
    }
    case "clarification_provided": {
      const answered = pending({ questions: withoutStep(questions, event.taskId) });
      return change(answered, event.taskId, (step) => ({ ...step, status: "pending" }));
    }
    case "recovery_request": {
      const { taskId: stepId, error, code, options, proposal } = event;
      return pending({ recoveries: [...withoutStep(recoveries, stepId), { stepId, error, code, options, proposal }] });
    }
    case "recovery_chosen": {
      if (event.action === "model") return plan;
      const decided = pending({ recoveries: withoutStep(recoveries, event.taskId) });
      return event.action === "retry"
        ? change(decided, event.taskId, (step) => ({ ...step, status: "pending", result: undefined }))
        : decided;
    }
  }
}

function ended(plan: Plan, status: PlanStatus, event: PlanCompleted | PlanFailed | PlanCancelled): Plan {
  const steps = plan.steps.map(
    (step): Step =>
      step.status === "running" || step.status === "needs_clarification" ? { ...step, status: "pending" } : step,
  );
  return {
    ...plan,
    status,
    steps,
    pending: NO_PENDING,
    executionSummary: event.summary,
    report: event.report,
    usage: event.usage,
    error: event.type === "plan_failed" ? event.error : undefined,
    completedAt: event.at,
  };
}

export function change(plan: Plan, stepId: string, to: (step: Step) => Step): Plan {
  return { ...plan, steps: plan.steps.map((step) => (step.stepId === stepId ? to(step) : step)) };
}

function withCheck(checks: readonly Check[], check: Check): readonly Check[] {
  const same = (each: Check): boolean =>
    each.kind === check.kind && each.path === check.path && each.text === check.text && each.command === check.command;
  return checks.some(same) ? checks.map((each) => (same(each) ? check : each)) : [...checks, check];
}

function withoutApproval(approvals: readonly Approval[], approvalId: string): readonly Approval[] {
  return approvals.filter((each) => each.approvalId !== approvalId);
}

function withoutStep<E extends { stepId: string }>(waiting: readonly E[], stepId: string): readonly E[] {
  return waiting.filter((each) => each.stepId !== stepId);
}

function sum(one: Usage, other: Usage): Usage {
  const cachedTokens = (one.cachedTokens ?? 0) + (other.cachedTokens ?? 0);
  return {
    requests: one.requests + other.requests,
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    ...(cachedTokens === 0 ? {} : { cachedTokens }),
  };
}

function negated({ requests, promptTokens, completionTokens, cachedTokens = 0 }: Usage): Usage {
  return {
    requests: -requests,
    promptTokens: -promptTokens,
    completionTokens: -completionTokens,
    cachedTokens: -cachedTokens,
  };
}

function withUsage(plan: Plan, usage: Usage | undefined): Plan {
  return usage == null ? plan : { ...plan, usage: sum(plan.usage, usage) };
}

/** The plan with what a step has used, of which it may hold a part already. */
function spent(plan: Plan, { taskId, usage }: TaskCompleted): Plan {
  if (usage == null) return plan;
  const before = plan.steps.find((step) => step.stepId === taskId)?.usage;
  return { ...plan, usage: sum(sum(plan.usage, usage), negated(before ?? NO_USAGE)) };
}
