// Written by `python -m codegen` from the server's settings.

/** Only the user may set these, never an opened folder. */
export const USER_SETTINGS = [
  "model.provider",
  "model.baseUrl",
  "planning.systemPrompt",
  "execution.review",
  "approvals.read",
  "approvals.write",
  "approvals.destroy",
  "approvals.execute",
  "storage.path",
] as const;

/** Anybody may set these: workspaces too. */
export const SHARED_SETTINGS = [
  "enableTaskPlanning",
  "enableFallbackFunctionParsing",
  "functionDeduplicationWindowSeconds",
  "maxRetryAttempts",
  "model.name",
  "model.contextTokens",
  "model.temperature",
  "model.connectTimeoutSeconds",
  "model.firstTokenTimeoutSeconds",
  "model.tokenTimeoutSeconds",
  "planning.perspectives",
  "planning.format",
  "planning.classifyWithModel",
  "execution.maxParallelSteps",
  "execution.maxToolCallsPerStep",
  "execution.stepTimeoutSeconds",
  "execution.completionTimeoutSeconds",
  "execution.pauseOnClarification",
  "execution.onFailure",
  "budget.maxRequests",
  "budget.maxTokens",
  "budget.maxMinutes",
  "context.budgetTokens",
  "context.maxReferenceBytes",
  "context.exclude",
  "context.instructions",
  "edits.save",
] as const;
