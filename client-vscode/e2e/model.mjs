// Journeys that need a model: it plays a script, in a process of its own; everything else is the real thing.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { applyAll, moreOf, nextApproval, onDisk, plan, saveUntil, titles, version } from "./gestures.mjs";
import { GRAPH_SCRIPT } from "./graph.mjs";
import { IMAGE_SCRIPT } from "./images.mjs";
import { JUDGING_SCRIPT } from "./judging.mjs";
import { NODES_SCRIPT } from "./nodes.mjs";
import { RECORDING_SCRIPT } from "./recording.mjs";
import { until } from "./workbench.mjs";

const PROJECT = join(import.meta.dirname, "../..");
const NO_ERRORS = [{ kind: "no_new_errors" }];
const call = (name, args) => ({ name, arguments: args });
const planned = (...steps) => ({ text: JSON.stringify({ summary: "Written by a scripted model.", steps }) });
const edit = (id, description, old_text, new_text, more = {}) => ({
  id,
  description,
  tool: "edit_file",
  args: { path: "package.json", old_text, new_text },
  dependsOn: [],
  ...more,
});

const MANIFEST = '{\n  "name": "demo",\n  "version": "1.0.0"\n}\n';

const REPORT = { concerns: [], recommendations: ["Test it first."], estimatedEffort: "small" };

/** A turn answers the first request that holds these words. */
const SCRIPT = [
  { when: { contains: ["Answer with the one word: ready"] }, text: "ready", repeat: true },
  {
    when: { contains: ["Write a haiku"] },
    repeat: true,
    ...planned({
      id: "haiku",
      description: "Write the haiku",
      tool: "write_file",
      args: { path: "haiku.txt", content: "haiku" },
      dependsOn: [],
    }),
  },
  ...GRAPH_SCRIPT,
  ...IMAGE_SCRIPT,
  ...JUDGING_SCRIPT,
  ...NODES_SCRIPT,
  ...RECORDING_SCRIPT,
  {
    when: { contains: ["USER REQUEST\nAnd how many letters are in it?"] },
    calls: [call("final_answer", { text: "Eight letters.", confidence: "high" })],
  },
  {
    when: { contains: ["USER REQUEST\nWhat did you write?"] },
    calls: [call("final_answer", { text: "A limerick, in verse.txt.", confidence: "high" })],
  },
  {
    when: { contains: ["Write a sonnet", "FEEDBACK OF THE USER\nOnly the limerick"] },
    ...planned({
      id: "limerick",
      description: "Write the limerick",
      tool: "write_file",
      args: { path: "verse.txt", content: "limerick" },
      dependsOn: [],
    }),
  },
  {
    when: { contains: ["Write a sonnet"] },
    ...planned(
      {
        id: "limerick",
        description: "Write the limerick",
        tool: "write_file",
        args: { path: "verse.txt", content: "limerick" },
        dependsOn: [],
      },
      {
        id: "sonnet",
        description: "Write the sonnet",
        tool: "write_file",
        args: { path: "sonnet.txt", content: "sonnet" },
        dependsOn: [],
      },
    ),
  },
  {
    when: { contains: ["Write a farewell", "One file is enough"] },
    ...planned({
      id: "one",
      description: "Write both in one file",
      tool: "write_file",
      args: { path: "both.txt", content: "both" },
      dependsOn: [],
    }),
  },
  {
    when: { contains: ["Write a farewell"] },
    ...planned(
      {
        id: "hello",
        description: "Write the greeting",
        tool: "write_file",
        args: { path: "hello.txt", content: "hello" },
        dependsOn: [],
      },
      {
        id: "bye",
        description: "Write the farewell",
        tool: "write_file",
        args: { path: "bye.txt", content: "bye" },
        dependsOn: [],
      },
    ),
  },
  {
    when: { contains: ["Release the package"] },
    ...planned(
      edit("version", "Raise the version", '"1.0.0"', '"1.1.0"', { checks: NO_ERRORS }),
      edit("licence", "Name the licence", '"1.1.0"', '"1.1.0",\n  "license": MIT', {
        checks: NO_ERRORS,
        dependsOn: ["version"],
      }),
    ),
  },
  {
    when: { contains: ["Look at the manifest"], lacks: ["CURRENT TASK"] },
    ...planned({
      id: "look",
      description: "Say what is wrong",
      instruction: "Read the diagnostics and say what is wrong",
      dependsOn: [],
    }),
  },
  {
    when: { contains: ["Read the diagnostics and say", "CURRENT TASK"] },
    calls: [call("read_diagnostics", { path: "package.json" })],
  },
  {
    when: { contains: ["Read the diagnostics and say", "CURRENT TASK"] },
    calls: [call("ask_user", { question: "Shall it be mended?", options: ["Yes", "No"] })],
  },
  {
    when: { contains: ["Read the diagnostics and say", "CURRENT TASK"] },
    calls: [call("task_completed", { summary: "A value is missing." })],
  },
  {
    when: { contains: ["Quote the notes"], lacks: ["CURRENT TASK"] },
    ...planned({
      id: "notes",
      description: "Read the release notes",
      tool: "fetch_url",
      args: { url: `https://аpple.com/releases/notes.html?version=2&q=${"long".repeat(60)}` },
      dependsOn: [],
    }),
  },
  {
    when: { contains: ["Rehearse the release"], lacks: ["CURRENT TASK"] },
    ...planned({
      id: "rehearse",
      description: "Rehearse it",
      instruction: "Rehearse in three commands",
      agent: "devo",
      dependsOn: [],
    }),
  },
  {
    when: { contains: ["Rehearse in three commands", "CURRENT TASK"] },
    calls: ["touch first.txt", "curl -sm 2 http://192.0.2.1 || touch second.txt", "touch third.txt"].map((command) =>
      call("run_command", { command }),
    ),
  },
  {
    when: { contains: ["Rehearse in three commands", "CURRENT TASK"] },
    calls: [call("task_completed", { summary: "Rehearsed." })],
  },
  {
    when: { contains: ["Compose a poem"], lacks: ["CURRENT TASK"] },
    ...planned({ id: "poem", description: "Write the poem", instruction: "Write poem.txt in verse", dependsOn: [] }),
  },
  {
    when: { contains: ["Write poem.txt in verse", "CURRENT TASK", "Shorter, please"] },
    calls: [
      call("write_file", { path: "poem.txt", content: "short" }),
      call("task_completed", { summary: "Wrote a short poem." }),
    ],
  },
  {
    when: { contains: ["Write poem.txt in verse", "CURRENT TASK"] },
    calls: [
      call("write_file", { path: "poem.txt", content: "long, so long" }),
      call("task_completed", { summary: "Wrote a long poem." }),
    ],
  },
  {
    when: { contains: ["Write an elegy"], lacks: ["CURRENT TASK"] },
    ...planned(
      { id: "ode", description: "Write the ode", instruction: "Write ode.txt", dependsOn: [] },
      { id: "elegy", description: "Write the elegy", instruction: "Write elegy.txt", dependsOn: ["ode"] },
      { id: "epic", description: "Write the epic", instruction: "Write epic.txt in verse", dependsOn: ["ode"] },
    ),
  },
  {
    when: { contains: ["Write ode.txt", "CURRENT TASK"] },
    calls: [
      call("submit_plan", {
        summary: "The ode mourns already; all of it should be read aloud.",
        steps: [
          { id: "epic", description: "Write the epic", instruction: "Write epic.txt in prose" },
          { id: "read", description: "Count the lines", tool: "run_command", args: { command: "wc -l ode.txt" } },
        ],
      }),
    ],
  },
  {
    when: { contains: ["Write ode.txt", "CURRENT TASK"] },
    calls: [
      call("write_file", { path: "ode.txt", content: "ode" }),
      call("task_completed", { summary: "Wrote the ode." }),
    ],
  },
  {
    when: { contains: ["bring three perspectives", "Refactor the greeting"] },
    ...planned(
      { id: "code", description: "Refactor the greeting", instruction: "Refactor it", agent: "koda", dependsOn: [] },
      { id: "ship", description: "Deploy it", instruction: "Deploy it", agent: "devo", dependsOn: ["code"] },
    ),
  },
  {
    when: { contains: ["You are Chapo,", "Refactor the greeting"] },
    calls: [
      call("report", {
        ...REPORT,
        analysis: "Two kinds of work.",
        strategicAnalysis: "Code first.",
        riskAssessment: "Low.",
        impactAreas: ["greeting"],
        coordinationNeeds: [],
      }),
    ],
  },
  {
    when: { contains: ["You are Koda,", "Refactor the greeting"] },
    calls: [
      call("report", {
        ...REPORT,
        analysis: "One module.",
        affectedFiles: ["greeting.py"],
        codePatterns: [],
        potentialBreakingChanges: [],
        testingRequirements: ["an empty name"],
      }),
    ],
  },
  {
    when: { contains: ["You are Devo,", "Refactor the greeting"] },
    fault: { kind: "refused", message: "Nobody deploys today." },
  },
];

/** The model's process: its address, and every request that it has seen. */
export async function startModel() {
  const folder = mkdtempSync(join(tmpdir(), "planloom-model-"));
  const script = join(folder, "turns.json");
  writeFileSync(script, JSON.stringify(SCRIPT));
  const server = spawn(join(PROJECT, ".venv/bin/python"), ["-m", "tests.support.model_server", script, "--port", "0"], {
    cwd: PROJECT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once("line", resolve);
    server.once("exit", (code) => reject(new Error(`The model's process ended with ${code}.`)));
  });
  const origin = `http://127.0.0.1:${port}`;
  return {
    machine: {
      "planloom.model.provider": "openai",
      "planloom.model.baseUrl": `${origin}/v1`,
      "planloom.model.name": "scripted",
      "planloom.planning.perspectives": "never",
      "planloom.planning.classifyWithModel": "never",
    },
    /** All turns are to come again, for a journey that is tried again. */
    again: () => fetch(`${origin}/again`, { method: "POST" }),
    origin,
    requests: () => fetch(`${origin}/requests`).then((answer) => answer.json()),
    stop() {
      server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const WITH_MODEL = [
  {
    name: "a plan is drafted anew with feedback",
    files: {},
    async run({ window, folder, model }) {
      const { panel } = window;
      await plan(window, "1. Write a greeting\n2. Write a farewell");
      assert.deepEqual(await titles(window), ["Write the greeting", "Write the farewell"]);
      await window.more("about");
      assert.match(await panel.locator(".about").textContent(), /tokens read/);
      await window.say("One file is enough");
      await version(window, 2);
      await window.waitForStatus("pending_approval");
      assert.deepEqual(await titles(window), ["Write both in one file"]);
      assert.match(JSON.stringify((await model.requests()).at(-1).messages), /One file is enough/);
      await panel.locator("#approve").click();
      await applyAll(window);
      await until("the one file", () => existsSync(join(folder, "both.txt")));
      assert.ok(!existsSync(join(folder, "hello.txt")));
    },
  },
  {
    name: "a plan is spoken to at its review, while it runs, and after its end",
    files: {},
    async run({ window, folder, shots }) {
      const { panel } = window;
      const said = () => panel.locator(".messages li").evaluateAll((rows) => rows.map((row) => row.dataset.state));
      const answered = (words) =>
        until(words, async () => (await panel.locator("main.plan").textContent()).includes(words));
      await plan(window, "1. Write a limerick\n2. Write a sonnet");
      await panel.locator("#request").fill("Only the limerick");
      await panel.locator("#verdict").waitFor();
      await panel.locator("#to-plan").waitFor();
      await window.shot(join(shots, "message-review-dark.png"));
      await window.say("Only the limerick");
      await version(window, 2);
      await window.waitForStatus("pending_approval");
      assert.deepEqual(await titles(window), ["Write the limerick"]);
      assert.deepEqual(await said(), [], "what was read is among the details");
      await window.more("about");
      assert.deepEqual(await said(), ["read"]);

      // The only step is literal, and asks: the message waits, and continues the plan at its end.
      await panel.locator("#approve").click();
      await nextApproval(window);
      await window.say("What did you write?");
      await until("the second message", async () => (await said()).join() === "read,open");
      await panel.locator(".banner.info").filter({ hasText: "The plan waits for your permission" }).waitFor();
      await window.shot(join(shots, "message-running-dark.png"));
      await (await nextApproval(window)).locator(".allow").click();
      // The answer is a turn of a conversation, with the field for the next question below it.
      await panel.locator(".turn").waitFor();
      await answered("A limerick, in verse.txt.");
      await window.waitForStatus("completed");

      await window.say("And how many letters are in it?");
      await answered("Eight letters.");
      await window.shot(join(shots, "message-continued-dark.png"));
      await until("the file", () => existsSync(join(folder, "verse.txt")));
      assert.ok(!existsSync(join(folder, "sonnet.txt")));
    },
  },
  {
    name: "a page is fetched only after its address was shown",
    files: {},
    async run({ window, shots }) {
      const { panel } = window;
      await plan(window, "1. Quote the notes\n2. Compose nothing else");
      await panel.locator("#approve").click();
      // The address is long, so that its end and the buttons have to be scrolled to.
      await panel.locator(".card.approval .allow").scrollIntoViewIfNeeded();
      const card = await nextApproval(window);
      assert.match(await card.locator(".host").textContent(), /^xn--pple-43d\.com \(аpple\.com\)$/);
      assert.match(await card.locator(".address").textContent(), /^https:\/\/xn--pple-43d\.com\/releases\/.*long$/);
      await window.shot(join(shots, "fetch-dark.png"));
      await card.locator(".skip").click();
      await card.locator(".deny").click();
      // The steps of an ended plan are folded.
      await panel.locator('.step[data-status="skipped"]').waitFor({ state: "attached" });
    },
  },
  {
    name: "the commands of one answer are a list, and each gets the rights that were chosen",
    files: {},
    async run({ window, folder, shots }) {
      const { panel } = window;
      await plan(window, "1. Rehearse the release\n2. Compose nothing else");
      await panel.locator("#approve").click();
      const list = panel.locator(".approval-list");
      await list.waitFor();
      assert.match(await list.locator(".actions").first().textContent(), /3 commands of step 1/);
      assert.equal(await list.locator(".card.approval").count(), 3);
      const network = list.locator(".card.approval").nth(1);
      assert.match(await network.locator(".confinement p").textContent(), /It asks for the network/);
      await network.locator(".radio").filter({ hasText: "without network" }).locator("input").check();
      await network.locator(".allow").filter({ hasText: "Allow once without network" }).waitFor();
      await list.locator(".allow-all:not([disabled])").waitFor();
      for (const theme of ["light", "dark"]) {
        await window.theme(theme);
        await window.shot(join(shots, `commands-${theme}.png`));
      }
      // One is refused for itself, the others run together.
      await list.locator(".card.approval").nth(2).locator(".skip").click();
      await list.locator(".card.approval").nth(2).locator(".deny").click();
      await until("the other two", async () => (await list.locator(".card.approval").count()) === 2);
      await list.locator(".allow-all:not([disabled])").click();
      await window.waitForStatus("completed");
      const made = ["first.txt", "second.txt", "third.txt"].map((name) => existsSync(join(folder, name)));
      assert.deepEqual(made, [true, true, false]);
    },
  },
  {
    name: "a step that changes the rest of the plan is answered step by step",
    files: {},
    async run({ window, shots }) {
      const { panel } = window;
      await plan(window, "1. Write an ode\n2. Write an elegy\n3. Write an epic");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      const kinds = await card.locator(".plan-change").evaluateAll((rows) => rows.map((row) => row.dataset.kind));
      assert.deepEqual(kinds, ["dropped", "changed", "added"]);
      assert.match(await card.locator(".plan-change").last().textContent(), /Calls run_command .*wc -l ode\.txt/);
      await window.shot(join(shots, "plan-change-dark.png"));
      await card.locator(".allow").click();
      // A running step is titled by what it does, until it has ended.
      await until("the new steps", async () =>
        isDeepStrictEqual(await titles(window), ["Write the ode", "Write the epic", "Count the lines"]),
      );
    },
  },
  {
    name: "the model hears why a change was skipped, and makes another",
    files: {},
    async run({ window, folder }) {
      const { panel } = window;
      await plan(window, "1. Compose a poem\n2. Compose nothing else");
      await panel.locator("#approve").click();
      const first = await nextApproval(window);
      const asked = await first.getAttribute("data-approval");
      await first.locator(".skip").click();
      await first.locator(".skip-reason textarea").fill("Shorter, please");
      await first.locator(".deny").click();
      await panel.locator(`[data-approval="${asked}"]`).waitFor({ state: "detached" });
      await (await nextApproval(window)).locator(".allow").click();
      await window.waitForStatus("completed");
      await saveUntil(
        window,
        "the short poem",
        () => existsSync(join(folder, "poem.txt")) && onDisk(folder, "poem.txt").trim() === "short",
      );
    },
  },
  {
    name: "a new error of another tool fails its step, none lets it pass",
    files: { "package.json": MANIFEST },
    async run({ window, folder, shots }) {
      const { panel } = window;
      await window.openFile("package.json");
      await plan(window, "1. Release the package\n2. Name its licence");
      await panel.locator("#approve").click();
      await (await nextApproval(window)).locator(".allow").click();
      const first = panel.locator('.step[data-step="version"][data-status="completed"]');
      await first.waitFor({ timeout: 60_000 });
      await first.locator(".step-row").click();
      await first.locator('.checks .codicon[title="passed"]').waitFor();
      await (await nextApproval(window)).locator(".allow").click();
      const card = panel.locator(".card.failure");
      await card.waitFor({ timeout: 60_000 });
      assert.match(await card.locator(".error-text").textContent(), /New errors \(\d+\): package\.json/);
      await window.shot(join(shots, "findings-dark.png"));
      await moreOf(card, "Change and retry");
      await card
        .locator(".retry-args textarea")
        .fill(JSON.stringify({ path: "package.json", old_text: ": MIT", new_text: ': "MIT"' }));
      await card.locator(".retry-changed").click();
      await applyAll(window);
      await saveUntil(
        window,
        "the mended manifest",
        () => onDisk(folder, "package.json") === MANIFEST.replace('"1.0.0"', '"1.1.0",\n  "license": "MIT"'),
      );
    },
  },
  {
    name: "three perspectives, one of which fails, and the plan made of them",
    files: { "greeting.py": "" },
    async run({ window }) {
      const { panel } = window;
      await window.showPanel();
      await panel.locator("#request").fill("Refactor the greeting and deploy it");
      await panel.locator("#verdict").waitFor();
      await window.choose("mode", "Perspectives");
      await panel.locator("#send").click();
      await window.waitForStatus("pending_approval");
      assert.deepEqual(await titles(window), ["Refactor the greeting", "Deploy it"]);
      await window.more("about");
      const states = await panel
        .locator(".perspective")
        .evaluateAll((rows) => rows.map((row) => [row.dataset.agent, row.dataset.state]));
      assert.deepEqual(states, [
        ["chapo", "done"],
        ["koda", "done"],
        ["devo", "failed"],
      ]);
      assert.match(await panel.locator('.perspective[data-agent="devo"]').textContent(), /Nobody deploys today/);
      await panel.locator('.perspective[data-agent="koda"] summary').click();
      assert.match(await panel.locator('.perspective[data-agent="koda"]').textContent(), /an empty name/);
    },
  },
  {
    name: "the model reads what another tool found, asks, and is answered by a button",
    files: { "package.json": '{\n  "name": \n}\n' },
    async run({ window, model }) {
      const { panel, page } = window;
      await window.openFile("package.json");
      await page.locator(".squiggly-error").first().waitFor({ timeout: 60_000 });
      await plan(window, "1. Look at the manifest\n2. Say what is wrong with it");
      await panel.locator("#approve").click();
      await panel.locator(".card.question .options vscode-button").filter({ hasText: "Yes" }).click();
      await window.waitForStatus("completed", 60);
      assert.match(JSON.stringify((await model.requests()).slice(-2)), /[Vv]alue expected/);
      await window.more("about");
      assert.match(await panel.locator(".about").textContent(), /tokens read/);
    },
  },
];
