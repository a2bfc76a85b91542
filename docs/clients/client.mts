// A whole client of Planloom, by ../protocol.md: node client.mts FOLDER 'REQUEST' [FILE TO OPEN …]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { PlanView, Requests, ViewParams } from "../../client-vscode/src/protocol";

type Asked<M> = M extends keyof Requests ? Requests[M] : { params: unknown; result: null };
type Message = { id?: number; method?: string; params?: unknown; result?: unknown; error?: { message: string } };
type TextEdit = { range: Record<"start" | "end", { line: number; character: number }>; newText: string };
type Change = { kind?: string; uri?: string; textDocument?: { uri: string; version?: number }; edits?: TextEdit[] };
const declared = { events: true, views: true, approvals: true, clarifications: true, recovery: true, conflicts: true };
const workspaceEdit = { documentChanges: true, resourceOperations: ["create"] };
const server = spawn("planloom", ["serve", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const typed = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const answers: ((message: Message) => void)[] = [];
const buffers = new Map<string, { text: string; version: number }>();
const views = new Map<string, PlanView>();
let received = Buffer.alloc(0);

function send(message: Message): void {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  server.stdin.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
}

async function request<M extends string>(method: M, params?: Asked<M>["params"]) {
  send({ id: answers.length, method, params });
  const { result, error } = await new Promise<Message>((settle) => answers.push(settle));
  if (error) console.log(error.message);
  return result as Asked<M>["result"] | undefined;
}

server.stdout.on("data", (data: Buffer) => {
  received = Buffer.concat([received, data]);
  for (let head = received.indexOf("\r\n\r\n"); head >= 0; head = received.indexOf("\r\n\r\n")) {
    const end = head + 4 + Number(/\d+/.exec(received.toString("latin1", 0, head)));
    if (received.length < end) return;
    const { id, method, params, ...answer }: Message = JSON.parse(received.toString("utf8", head + 4, end));
    received = received.subarray(end);
    if (method === "planloom/plan/view") follow(params as ViewParams);
    else if (method === "workspace/applyEdit") send({ id, result: apply(params as Parameters<typeof apply>[0]) });
    else if (method === "planloom/editor/save") send({ id, result: save(params as Parameters<typeof save>[0]) });
    else if (method && id !== undefined) send({ id, result: null });
    else if (id !== undefined) answers[id]?.(answer);
  }
});

/** Keep the newest view of a plan: the first one comes whole, then what differs, null for what is left out now. */
function follow({ planId, view = views.get(planId), patch = {} }: ViewParams): void {
  if (!view) return;
  const steps = new Map([...view.steps, ...(patch.steps ?? [])].map((each) => [each.step.stepId, each]));
  const order = (patch.order ?? [...steps.keys()]).flatMap((id) => steps.get(id) ?? []);
  views.set(planId, { ...view, ...patch.head, plan: { ...view.plan, ...patch.plan }, steps: order });
}

function hold(uri: string, text: string, version = 1): void {
  buffers.set(uri, { text, version });
  const opened = { textDocument: { uri, version, languageId: "plaintext", text } };
  const changed = { textDocument: { uri, version }, contentChanges: [{ text }] };
  if (version === 1) send({ method: "textDocument/didOpen", params: opened });
  else send({ method: "textDocument/didChange", params: changed });
}

/** Make an edit, or nothing of it where a buffer has changed since the version that the edit is for. */
function apply({ edit: { documentChanges } }: { edit: { documentChanges: Change[] } }) {
  const isStale = ({ textDocument: of }: Change) => of?.version && of.version !== buffers.get(of.uri)?.version;
  if (documentChanges.some(isStale)) return { applied: false, failureReason: "a buffer has another version" };
  for (const { kind, textDocument, uri = textDocument?.uri ?? "", edits = [] } of documentChanges) {
    const path = fileURLToPath(uri);
    if (kind === "create") mkdirSync(dirname(path), { recursive: true });
    if (kind === "create") writeFileSync(path, "", { flag: "wx" });
    const { text, version } = buffers.get(uri) ?? { text: readFileSync(path, "utf8"), version: 0 };
    if (!version) hold(uri, text);
    hold(uri, edited(text, edits), (version || 1) + 1);
  }
  return { applied: true };
}

/** The text with edits made, all of which count in the text as it was. */
function edited(text: string, edits: TextEdit[]): string {
  const lines = [0, ...[...text.matchAll(/\r\n|\n|\r/g)].map((found) => found.index + found[0].length)];
  const offset = (at: TextEdit["range"]["start"]) => (lines[at.line] ?? text.length) + at.character;
  return edits
    .map(({ range, newText }) => ({ start: offset(range.start), end: offset(range.end), newText }))
    .sort((one, other) => other.start - one.start)
    .reduce((whole, { start, end, newText }) => whole.slice(0, start) + newText + whole.slice(end), text);
}

function save({ uris }: { uris: string[] }) {
  for (const uri of uris) {
    writeFileSync(fileURLToPath(uri), buffers.get(uri)?.text ?? "");
    send({ method: "textDocument/didSave", params: { textDocument: { uri } } });
  }
  return { saved: uris, failed: [] };
}

/** Show the plan, with the lines that go and come by each change that waits for approval. */
async function show({ state, pause, plan, steps }: PlanView): Promise<void> {
  console.log(`${state}: ${pause ?? plan.executionSummary ?? plan.summary}`);
  for (const each of steps) console.log(`${each.number}. ${each.step.description}: ${each.words}`);
  for (const each of [...plan.pending.questions, ...plan.pending.recoveries])
    console.log("question" in each ? each.question : each.error);
  for (const { approvalId, files } of plan.pending.approvals) {
    for (const { uri } of files) {
      const texts = await request("planloom/approval/diff", { approvalId, uri });
      const [before = [], after = []] = [texts?.before, texts?.after].map((text) => text?.split("\n") ?? []);
      for (const line of before.filter((each) => !after.includes(each))) console.log(`-${line}`);
      for (const line of after.filter((each) => !before.includes(each))) console.log(`+${line}`);
    }
  }
}

/** Ask for one of the actions that are offered, or for words; the plan to go on with, undefined to leave. */
async function decide({ plan, actions, steps }: PlanView): Promise<string | undefined> {
  const [planId, question] = [plan.planId, plan.pending.questions[0]];
  const offered = [...actions, ...steps.flatMap((step) => step.actions ?? [])];
  console.log(offered.map(({ title }, index) => `[${index + 1}] ${title}`).join("  "));
  const word: string | undefined = (await typed.next()).value;
  const chosen = offered.find(({ title }, index) => word === title || word === String(index + 1));
  if (chosen) await request("workspace/executeCommand", chosen);
  else if (word && question) await request("planloom/step/answer", { planId, stepId: question.stepId, answer: word });
  else if (word) return (await request("planloom/plan/message", { planId, text: word }))?.planId ?? planId;
  return word && planId;
}

process.chdir(process.argv[2] ?? ".");
console.log(`Do you trust ${process.cwd()}? (y)`);
const trusted = (await typed.next()).value === "y";
await request("initialize", {
  processId: process.pid,
  rootUri: pathToFileURL(process.cwd()).href,
  capabilities: { workspace: { applyEdit: true, workspaceEdit } },
  initializationOptions: { planloomClient: { ...declared, save: true, trusted } },
});
send({ method: "initialized", params: {} });
for (const file of process.argv.slice(4)) hold(pathToFileURL(file).href, readFileSync(file, "utf8"));
let planId = (await request("planloom/plan/create", { text: process.argv[3] ?? "", mode: "plan" }))?.plan.planId;
for (let seq = 0; planId; ) {
  const view = views.get(planId);
  if (view && view.plan.seq >= seq && (view.causes.length || view.plan.status === "paused" || !view.live)) {
    await show(view);
    planId = await decide(view);
    seq = (planId && (await request("planloom/plan/get", { planId }))?.plan?.seq) || 0;
  } else await once(server.stdout, "data");
}
await request("shutdown");
send({ method: "exit" });
server.on("exit", (code) => process.exit(code ?? 1));
