// Plans in the editor's chat: what the participant answers, and what the tools for language models do. Neither approves
// or starts anything: that is done in the panel alone. It imports no vscode, so that tests run it.

import { type Event, type ExplicitAttachment, PLAN_STATUSES, type Requests } from "../protocol";
import { t } from "../words";

/** How long a tool waits for a draft, in seconds; the plan goes on, and a later call reads it. */
const TOOL_SECONDS = 120;
const LISTED = 20;
/** How long one request waits for a plan; it is repeated until the plan is there. */
const WAIT_SECONDS = 60;

/** The server, and what it tells of plans. */
export interface Planner {
  request<M extends keyof Requests>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]>;
  /** Hear each event of a plan; returns how to stop. */
  listen(planId: string, hear: (event: Event) => void): () => void;
}

/** What is asked in the chat, with the files that were attached there. */
interface Asked {
  readonly text: string;
  readonly attachments: readonly ExplicitAttachment[];
}

/** Where the answer is written. */
interface Answer {
  progress(text: string): void;
  markdown(text: string): void;
  /** A button that shows the plan in the panel, where it is reviewed and started. */
  review(planId: string): void;
}

/** Plan what is asked: report each step as it is drafted, then show the plan. A cancelled question cancels its draft. */
export async function answer(
  planner: Planner,
  { text, attachments }: Asked,
  to: Answer,
  cancelled: AbortSignal,
): Promise<void> {
  if (text.trim() === "")
    return to.markdown(t("Write after @planloom what is to be done. It becomes a plan that you review in the panel."));
  const { plan } = await planner.request("planloom/plan/create", {
    text,
    mode: "plan",
    ...(attachments.length === 0 ? {} : { attachments }),
  });
  const { planId } = plan;
  to.progress(t("The plan is being drafted…"));
  const stop = planner.listen(planId, (event) => {
    if (event.type === "task_created") to.progress(event.task.description);
  });
  const cancel = (): void => void planner.request("planloom/plan/cancel", { planId }).catch(() => undefined);
  cancelled.addEventListener("abort", cancel, { once: true });
  if (cancelled.aborted) cancel();
  try {
    for (;;) {
      const { reached } = await planner.request("planloom/plan/wait", {
        planId,
        until: "ready",
        timeoutSeconds: WAIT_SECONDS,
      });
      if (reached || cancelled.aborted) break;
    }
  } finally {
    stop();
    cancelled.removeEventListener("abort", cancel);
  }
  if (cancelled.aborted) return;
  to.markdown((await planner.request("planloom/plan/export", { planId, format: "markdown" })).text);
  to.review(planId);
}

/** A tool for language models: its text is the result, also of a failure that the model can do something about. */
export type Tool = (planner: Planner, input: Readonly<Record<string, unknown>>) => Promise<string>;

/** The tools by the names that package.json declares. What they say is for models, so it stays English. */
export const TOOLS: Readonly<Record<string, Tool>> = {
  planloom_createPlan: async (planner, { request }) => {
    if (typeof request !== "string" || request.trim() === "") return "The field request must say what is to be done.";
    const { plan } = await planner.request("planloom/plan/create", { text: request, mode: "plan" });
    const { planId } = plan;
    const { reached } = await planner.request("planloom/plan/wait", {
      planId,
      until: "ready",
      timeoutSeconds: TOOL_SECONDS,
    });
    return reached
      ? `${await described(planner, planId)}\n\n${REVIEWED}`
      : `The plan ${planId} is still being drafted. Call planloom_getPlan later.`;
  },
  planloom_getPlan: async (planner, { planId }) => {
    if (planId !== undefined && typeof planId !== "string") return "The field planId must be a text.";
    const { plan } = await planner.request("planloom/plan/get", planId === undefined ? {} : { planId });
    return plan === null ? "There is no such plan." : described(planner, plan.planId);
  },
  planloom_listPlans: async (planner, { status }) => {
    const wanted = PLAN_STATUSES.filter((each) => each === status);
    if (status !== undefined && wanted.length === 0)
      return `The field status must be one of ${PLAN_STATUSES.join(", ")}.`;
    const { plans } = await planner.request("planloom/plan/list", {
      limit: LISTED,
      ...(wanted.length === 0 ? {} : { status: wanted }),
    });
    const lines = plans.map(({ planId, status: now, request, progress: { completed, total } }) =>
      JSON.stringify({ planId, status: now, completed, steps: total, request: request.slice(0, 200) }),
    );
    return lines.length === 0 ? "There are no such plans." : lines.join("\n");
  },
};

const REVIEWED =
  "Nothing has been done yet. The user reviews and starts this plan in the Planloom panel; no tool can do that.";

async function described(planner: Planner, planId: string): Promise<string> {
  const { text } = await planner.request("planloom/plan/export", { planId, format: "markdown" });
  return `Plan ${planId}\n\n${text}`;
}
