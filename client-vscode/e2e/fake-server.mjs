// A scripted server for what the real one cannot show on demand: a steady storm of events, and every card at once.
// It speaks just enough of LSP and of the planloom protocol; `storm N` as a request sends N events at 100 a second.
import { existsSync } from "node:fs";

let buffer = Buffer.alloc(0);
let folder = "file:///";
const plans = new Map();

const write = (message) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  process.stdout.write(`Content-Length: ${body.length}\r\n\r\n`);
  process.stdout.write(body);
};
const notify = (method, params) => write({ method, params });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

process.stdin.on("data", (chunk) => {
  buffer = Buffer.concat([buffer, chunk]);
  for (;;) {
    const end = buffer.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/Content-Length: (\d+)/i.exec(buffer.subarray(0, end).toString())[1]);
    if (buffer.length < end + 4 + length) return;
    const message = JSON.parse(buffer.subarray(end + 4, end + 4 + length).toString());
    buffer = buffer.subarray(end + 4 + length);
    void receive(message);
  }
});

async function receive({ id, method, params }) {
  if (method === "exit") process.exit(0);
  if (id === undefined || method === undefined) return;
  try {
    write({ id, result: (await answer(method, params)) ?? null });
  } catch (error) {
    write({
      id,
      error: { code: -32803, message: error.message, data: { code: "wrong_state", message: error.message } },
    });
  }
}

function emit(plan, type, payload = {}) {
  plan.seq += 1;
  const event = { seq: plan.seq, planId: plan.planId, sessionId: "s1", type, at: new Date().toISOString(), ...payload };
  if ("plan" in event) event.plan = structuredClone(plan);
  plan.events.push(event);
  notify("planloom/event", event);
}

function step(order, description, more = {}) {
  const stepId = `step_${order}`;
  return {
    stepId,
    order,
    description,
    instruction: description,
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

const STEPS = () => [
  step(1, "Read the greeting module and its tests", {
    tool: "read_file",
    kind: "tool_call",
    args: { path: "src/greeting.py" },
    activeForm: "Reading the greeting module",
  }),
  step(2, "Add a farewell beside the greeting", {
    dependsOn: ["step_1"],
    instruction: "Add a function `farewell(name)` with the same manners as `greet`.",
    activeForm: "Writing the farewell",
    requiresApproval: true,
    checks: [{ kind: "file_contains", path: "src/greeting.py", text: "def farewell" }],
  }),
  step(3, "Ask which languages the farewell must know", {
    kind: "clarification",
    question: "Which languages must the farewell know?",
    dependsOn: ["step_2"],
  }),
  step(4, "Run the tests", {
    tool: "run_command",
    kind: "tool_call",
    args: { command: "python -m pytest -q" },
    agent: "devo",
    dependsOn: ["step_2", "step_3"],
    requiresApproval: true,
    critical: true,
  }),
  step(5, "Describe the new function in the README", {
    dependsOn: ["step_2"],
    tool: "edit_file",
    kind: "tool_call",
    args: { path: "README.md", old_text: "# Greeting", new_text: "# Greeting and farewell" },
  }),
];

async function answer(method, params) {
  switch (method) {
    case "initialize":
      folder = params.workspaceFolders?.[0]?.uri ?? folder;
      return {
        capabilities: {
          textDocumentSync: 2,
          experimental: { planloom: { protocolVersion: 1, methods: [], events: [] } },
        },
        serverInfo: { name: "fake", version: "0" },
      };
    case "planloom/status":
      return {
        version: "0",
        protocolVersion: 1,
        sessionId: "s1",
        model: { provider: "openai", name: "qwen3-coder", reason: "" },
        trusted: true,
        plans: { active: [], resumable: [] },
        health: "ok",
        problems: [],
      };
    case "planloom/detect":
      return {
        planned: /add|create|storm|every card/i.test(params.text),
        rule: /add|create/i.test(params.text) ? "verb_and_scope" : "none",
        score: 40,
        ambiguous: false,
      };
    case "planloom/reference/complete": {
      const from = params.text.lastIndexOf("@", params.offset - 1);
      const names = [
        ["src/greeting.py", "file"],
        ["src/", "folder"],
        ["README.md", "file"],
        ["selection", "special"],
        ["diagnostics", "special"],
      ];
      const typed = params.text.slice(from + 1, params.offset);
      const items = names
        .filter(([name]) => name.includes(typed))
        .map(([name, kind]) => ({
          label: name,
          insertText: `@${name}`,
          kind,
          detail: kind === "special" ? "of the active file" : "",
          replace: [from, params.offset],
        }));
      return { items, isIncomplete: false };
    }
    case "planloom/reference/resolve":
      return { attachments: [], unresolved: [] };
    case "planloom/plan/list":
      return { plans: [] };
    case "planloom/plan/get":
      return { plan: plans.get(params.planId) ?? null, progress: null };
    case "planloom/plan/events":
      return { events: (plans.get(params.planId)?.events ?? []).filter((event) => event.seq > (params.after ?? 0)) };
    case "planloom/plan/create":
      return create(params);
    case "planloom/plan/approve": {
      const plan = plans.get(params.planId);
      plan.status = "approved";
      emit(plan, "plan_approved", { version: plan.version, review: "each" });
      void (plan.request.startsWith("storm") ? storm(plan) : run(plan));
      return { plan };
    }
    case "planloom/approval/diff":
      return {
        uri: params.uri,
        before: 'def greet(name):\n    return f"Hello, {name}!"\n',
        after:
          'def greet(name):\n    return f"Hello, {name}!"\n\n\ndef farewell(name):\n    return f"Goodbye, {name}!"\n',
      };
    default:
      return method.startsWith("planloom/plan/") ? { plan: plans.get(params.planId) } : {};
  }
}

function create({ text, mode }) {
  const planId = `plan_${plans.size + 1}`;
  const plan = {
    planId,
    sessionId: "s1",
    version: 0,
    seq: 0,
    status: "draft",
    workspaceFolders: [folder],
    request: text,
    attachments: [],
    perspectives: {},
    summary: "",
    steps: [],
    sequential: false,
    overallRisk: "medium",
    route: mode === "perspectives" ? mode : "plan",
    author: "model",
    usage: { requests: 1, promptTokens: 2100, completionTokens: 380 },
    pending: { approvals: [], questions: [], recoveries: [], conflicts: [] },
    createdAt: new Date().toISOString(),
  };
  Object.defineProperty(plan, "events", { value: [], enumerable: false });
  plans.set(planId, plan);
  const detection = { planned: true, rule: "verb_and_scope", score: 45, ambiguous: false };
  emit(plan, "plan_start", {
    request: text,
    route: plan.route,
    detection,
    attachments: [
      { id: "a1", kind: "file", reference: "@src/greeting.py", label: "src/greeting.py", bytes: 512, truncated: false },
    ],
    unresolved: [],
    workspaceFolders: [folder],
  });
  plan.attachments = plan.events[0].attachments;
  void draft(plan);
  return { plan, detection, unresolved: [] };
}

async function draft(plan) {
  emit(plan, "plan_drafting", { version: 1 });
  if (plan.route === "perspectives") await perspectives(plan);
  for (const task of STEPS()) {
    await sleep(plan.request.startsWith("storm") ? 5 : 250);
    plan.steps.push(task);
    emit(plan, "task_created", { task });
  }
  Object.assign(plan, {
    status: "pending_approval",
    version: 1,
    estimatedDuration: 90,
    summary: "Adds a farewell beside the greeting, asks which languages it must know, and proves it with the tests.",
  });
  emit(plan, "plan_ready", { plan });
  const { usage } = plan;
  const models = [{ model: "openai/qwen3-coder", usage, seconds: 4 }];
  notify("planloom/spent", { planId: plan.planId, spent: { usage, models, costs: { "openai/qwen3-coder": 0.0123 } } });
}

const SHARED = { estimatedEffort: "small", dependencies: [], timestamp: new Date().toISOString() };
const CHAPO = {
  ...SHARED,
  agent: "chapo",
  analysis: "A farewell is small, but it is the second public function: its manners decide how the third will look.",
  concerns: ["Names of several words are capitalised in one place only."],
  recommendations: ["Share the capitalising before the second use."],
  strategicAnalysis: "Code first, deployment only after the tests.",
  riskAssessment: "Low: nothing that exists changes its behaviour.",
  impactAreas: ["src/greeting.py", "README"],
  coordinationNeeds: [],
};
const KODA = {
  ...SHARED,
  agent: "koda",
  analysis: "One function beside greet, one test module.",
  concerns: [],
  recommendations: ["Write the test first."],
  affectedFiles: ["src/greeting.py", "tests/test_farewell.py"],
  codePatterns: ["f-strings"],
  potentialBreakingChanges: [],
  testingRequirements: ["An empty name"],
};

/** Strategy first, then code and operations side by side; operations fails. Each goes on once a file says that it was looked at. */
async function perspectives(plan) {
  const seen = async (name) => {
    while (!existsSync(new URL(`${folder}/${name}`))) await sleep(50);
  };
  const told = (perspective) => {
    plan.perspectives = { ...plan.perspectives, [perspective.agent]: perspective };
    emit(plan, "perspective_complete", { agent: perspective.agent, perspective });
  };
  emit(plan, "perspective_start", { agent: "chapo" });
  await seen("strategy-seen");
  told(CHAPO);
  for (const agent of ["koda", "devo"]) emit(plan, "perspective_start", { agent });
  await seen("others-seen");
  emit(plan, "perspective_complete", { agent: "devo", error: "The model gave no answer that can be read, twice." });
  told(KODA);
}

/** Every card at once, on a plan that is half done. */
async function run(plan) {
  const [read, add, , tests, readme] = plan.steps;
  const uri = `${folder}/src/greeting.py`;
  plan.status = "executing";
  emit(plan, "plan_executing");
  emit(plan, "task_started", { taskId: read.stepId, agent: "koda" });
  emit(plan, "tool_started", { taskId: read.stepId, callId: "c1", tool: "read_file", args: read.args });
  await sleep(400);
  emit(plan, "tool_completed", {
    taskId: read.stepId,
    callId: "c1",
    ok: true,
    deduplicated: false,
    summary: "Read 12 lines.",
    durationMs: 8,
  });
  emit(plan, "task_completed", {
    taskId: read.stepId,
    result: {
      ok: true,
      summary: "Read 12 lines of src/greeting.py.",
      durationMs: 420,
      timestamp: new Date().toISOString(),
    },
  });
  emit(plan, "task_started", { taskId: add.stepId, agent: "koda" });
  notify("planloom/stream", {
    planId: plan.planId,
    stepId: add.stepId,
    kind: "text",
    delta: "The greeting capitalises names, so the farewell should do the same…",
  });
  emit(plan, "task_started", { taskId: readme.stepId, agent: "koda" });
  emit(plan, "approval_request", {
    approval: {
      approvalId: "ap1",
      planId: plan.planId,
      stepId: add.stepId,
      proposal: "x",
      effect: "write",
      title: "Add a farewell beside the greeting",
      protected: false,
      files: [
        { uri, change: "edit", added: 4, removed: 1, resolvedPath: decodeURIComponent(new URL(uri).pathname) },
        {
          uri: `${folder}/tests/test_farewell.py`,
          change: "create",
          added: 12,
          removed: 0,
          resolvedPath: `${decodeURIComponent(new URL(folder).pathname)}/tests/test_farewell.py`,
        },
      ],
    },
  });
  emit(plan, "approval_request", {
    approval: {
      approvalId: "ap2",
      planId: plan.planId,
      stepId: tests.stepId,
      proposal: "y",
      effect: "execute",
      title: "Run the tests",
      warning: "The command contains hidden characters.",
      protected: false,
      files: [],
      command: "python -m pytest -q \u202ecod.exe\u202c",
      cwd: ".",
    },
  });
  emit(plan, "clarification_request", {
    taskId: "step_3",
    question: "Which languages must the farewell know?",
    options: ["English only", "English and German"],
  });
  emit(plan, "task_failed", { taskId: readme.stepId, error: 'README.md has no text "# Greeting".', willRetry: false });
  emit(plan, "recovery_request", {
    taskId: readme.stepId,
    error: 'README.md has no text "# Greeting".',
    options: ["retry", "skip", "model", "abort"],
  });
  emit(plan, "edit_conflict", {
    taskId: add.stepId,
    conflict: {
      editId: "e9",
      stepId: add.stepId,
      files: [
        {
          uri,
          hunks: [
            {
              range: { start: { line: 3, character: 0 }, end: { line: 4, character: 0 } },
              base: "return 1\n",
              mine: "return greeting(name)\n",
              theirs: 'return f"Goodbye, {name}!"\n',
            },
          ],
        },
      ],
    },
  });
}

async function storm(plan) {
  const count = Number(plan.request.split(" ")[1] ?? 500);
  plan.status = "executing";
  emit(plan, "plan_executing");
  emit(plan, "task_started", { taskId: "step_1", agent: "koda" });
  const send = async (name, events, everyMs) => {
    const began = performance.now();
    for (let index = 0; index < events; index++) {
      await sleep(Math.max(0, began + index * everyMs - performance.now()));
      emit(plan, "task_update", {
        taskId: "step_1",
        status: "running",
        progress: index % 100,
        activeForm: `${name} ${index} ${Date.now()}`,
      });
    }
  };
  // Events that come alone tell what the way costs on this machine now; the storm is measured against them.
  await send("Lone", 40, 100);
  await sleep(500);
  await send("Storm", count, 10);
  emit(plan, "task_completed", {
    taskId: "step_1",
    result: { ok: true, summary: "Storm over", durationMs: 1, timestamp: new Date().toISOString() },
  });
}
