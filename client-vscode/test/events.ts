// Builds streams of events as the server would send them, for tests.

import type { Plan, PlanEvent, Step } from "../src/protocol";

type Payload = { [E in PlanEvent as E["type"]]: Omit<E, "seq" | "planId" | "sessionId" | "at" | "type"> };

/** A stream that numbers its events itself. */
export class Stream {
  readonly events: PlanEvent[] = [];

  constructor(readonly planId = "p1") {}

  add<T extends PlanEvent["type"]>(type: T, payload: Payload[T]): this {
    const seq = this.events.length + 1;
    const at = new Date(Date.UTC(2030, 0, 1, 12, 0, seq)).toISOString();
    this.events.push({ seq, planId: this.planId, sessionId: "s1", at, type, ...payload } as PlanEvent);
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
