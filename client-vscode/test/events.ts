// Builds streams of events as the server would send them, for tests.

import type { ChapoPerspective, Event, KodaPerspective, Plan, PlanCompleted, Step } from "../src/protocol";

type Payload = { [E in Event as E["type"]]: Omit<E, "seq" | "planId" | "sessionId" | "at" | "type"> };

/** A stream that numbers its events itself. */
export class Stream {
  readonly events: Event[] = [];

  constructor(readonly planId = "p1") {}

  add<T extends Event["type"]>(type: T, payload: Payload[T]): this {
    const seq = this.events.length + 1;
    const at = new Date(Date.UTC(2030, 0, 1, 12, 0, seq)).toISOString();
    this.events.push({ seq, planId: this.planId, sessionId: "s1", at, type, ...payload } as Event);
    return this;
  }

  start(): this {
    return this.add("plan_start", {
      request: "Build a page",
      route: "plan",
      detection: { planned: true, rule: "verb_and_scope", score: 40, ambiguous: false },
      attachments: [],
      unresolved: [],
      workspaceFolders: ["file:///w"],
    });
  }
}

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

const NO_USAGE = { requests: 0, promptTokens: 0, completionTokens: 0 };
const NO_PROGRESS = { total: 0, pending: 0, inProgress: 0, completed: 0, failed: 0, skipped: 0, percentComplete: 0 };

/** The payload of an event that ends a plan. */
export function ended(summary: string): Pick<PlanCompleted, "summary" | "progress" | "usage"> {
  return { summary, progress: NO_PROGRESS, usage: NO_USAGE };
}

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
