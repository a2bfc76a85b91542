// The first run: no model is set up, and the panel offers the ways to one.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { version } from "./gestures.mjs";
import { until } from "./workbench.mjs";

export const FIRST_RUN = [
  {
    name: "a first run without a model: a server's address with its key, automatic, then without",
    files: {},
    async run({ window, model, shots, machineSettings }) {
      const { panel, page } = window;
      const card = panel.locator("#model-set-up");
      await window.showPanel();
      await card.waitFor();
      await page.mouse.move(900, 500);
      await page.locator(".monaco-hover").waitFor({ state: "hidden" });
      await window.shot(join(shots, "first-run-dark.png"));
      await window.guide(shots, "guide-model");

      await card.locator('[data-way="address"]').click();
      await window.answerInput(model.machine["planloom.model.baseUrl"]);
      await enterKey(page, "canary-key-1234");
      await until(
        "the model in the foot",
        async () => !(await panel.locator("footer").textContent()).includes("No model"),
      );
      await card.waitFor({ state: "detached" });
      assert.match(machineSettings(), /"planloom\.model\.baseUrl"/);
      assert.ok(!machineSettings().includes("canary"));
      await until("the caret in the composer", () =>
        panel.locator("#request").evaluate((area) => document.activeElement === area),
      );
      await window.shot(join(shots, "first-run-model-dark.png"));

      await window.command("Planloom: Choose Model…");
      await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "in use" }).waitFor();
      await window.shot(join(shots, "choose-model-dark.png"));
      await window.pick("Automatic");
      await card.waitFor();

      await card.locator('[data-way="without"]').click();
      await card.waitFor({ state: "detached" });
      const kept = JSON.parse(machineSettings());
      assert.deepEqual(
        ["provider", "baseUrl", "name"].map((name) => kept[`planloom.model.${name}`]),
        ["embedded", "", ""],
      );
      assert.ok(!window.workbench.log().includes("canary"));
    },
  },
  {
    name: "a request is held until a model is found; a wrong key is reported, replaced by its button, and the plan goes on",
    files: {},
    async run({ window, model, shots }) {
      const { panel, page } = window;
      const card = panel.locator("#model-set-up");
      const toast = (text) => page.locator(".notification-list-item").filter({ hasText: text });
      const press = (text, label) => toast(text).locator(".monaco-button").filter({ hasText: label }).click();
      const foot = (text) => panel.locator("footer").filter({ hasText: text }).waitFor();
      await window.showPanel();
      await card.waitFor();
      await window.request("1. Write a haiku about typing\n2. Write nothing else");
      await card.filter({ hasText: "Your request is held" }).waitFor();
      assert.match(await panel.locator("#request").inputValue(), /haiku/);
      await window.shot(join(shots, "held-dark.png"));

      await card.locator('[data-way="ollama"]').click();
      await toast("Ollama is not installed").waitFor();
      const ollama = await startOllama();
      try {
        await press("Ollama is not installed", "Look Again");
        await toast("Ollama runs but has no model yet").waitFor();
        ollama.names.push("tiny");
        await press("Ollama runs but has no model yet", "Look Again");
        await panel.locator(".banner.info").filter({ hasText: "It answered “Ready.”" }).waitFor();
        await foot("Ollama · tiny");
        await card.waitFor({ state: "detached" });
        // What was held has gone, and the user is back where it was written.
        await panel.locator(".plan-header").filter({ hasText: "haiku" }).waitFor();
        await until("an empty composer with the caret", () =>
          panel.locator("#request").evaluate((area) => area.value === "" && document.activeElement === area),
        );
      } finally {
        await ollama.stop();
      }

      const guarded = await startGuarded(model.origin, "canary-right");
      try {
        await window.command("Planloom: Choose Model…");
        await window.pick("Add a service or a server");
        await window.pick("Any server");
        await window.answerInput(`${guarded.origin}/v1`);
        await enterKey(page, "canary-wrong");
        const wrong = panel.locator(".banner.error").filter({ hasText: "refused the key" });
        await wrong.locator('[data-mend="key"]').waitFor();
        await window.shot(join(shots, "wrong-key-dark.png"));
        await wrong.locator(".icon-button").click();

        await window.request("1. Write a haiku about typing\n2. Write nothing else");
        const failed = panel.locator(".card.failure");
        await failed.filter({ hasText: "refused the key" }).waitFor();
        assert.ok(!/planloom\/secret|baseUrl/.test(await panel.locator("main.plan").textContent()));
        await failed.locator('[data-mend="key"]').click();
        await enterKey(page, "canary-right");
        await window.waitForStatus("pending_approval");
        await panel.locator(".step-title").filter({ hasText: "Write the haiku" }).waitFor();
        await window.shot(join(shots, "key-mended-dark.png"));

        await window.reload();
        await window.waitForStatus("pending_approval");
        await window.say("Make it about reading");
        await version(window, 2);
      } finally {
        await guarded.stop();
      }
      assert.ok(!window.workbench.log().includes("canary"));
    },
  },
  {
    name: "of several models at an address the user picks one by name before any is asked",
    files: {},
    async run({ window, shots }) {
      const { panel, page } = window;
      const server = await startRouter(["vendor/cheap", "vendor/dear"]);
      try {
        await window.showPanel();
        await panel.locator('#model-set-up [data-way="address"]').click();
        await window.answerInput(`${server.origin}/v1`);
        await enterKey(page, "canary-router");
        const row = page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "vendor/dear" });
        await row.waitFor();
        await window.shot(join(shots, "which-model-dark.png"));
        assert.deepEqual(server.asked, []);
        await row.click();
        await panel.locator("footer").filter({ hasText: "vendor/dear" }).waitFor();
        await until("the one word", () => server.asked.length > 0);
        assert.deepEqual([...new Set(server.asked)], ["vendor/dear"]);
        await window.reload();
        await panel.locator("footer").filter({ hasText: "vendor/dear" }).waitFor();
        await window.command("Planloom: Choose Model…");
        await window.pick("Add a service or a server");
        await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "OpenRouter" }).waitFor();
        await window.shot(join(shots, "services-dark.png"));
        await page.keyboard.press("Escape");
      } finally {
        await server.stop();
      }
    },
  },
].map((journey) => ({
  ...journey,
  run: (given) =>
    journey.run({
      ...given,
      machineSettings: () => readFileSync(join(given.window.workbench.home, "user/Machine/settings.json"), "utf8"),
    }),
}));

/** Answer the input box that asks for a key. */
async function enterKey(page, key) {
  const secret = page.locator('.quick-input-widget input[type="password"]');
  await secret.waitFor();
  await secret.fill(key);
  await page.keyboard.press("Enter");
}

const listening = (server, port = 0) =>
  new Promise((resolve, reject) =>
    server.once("error", reject).listen(port, "127.0.0.1", () => resolve(server.address().port)),
  );
const stopped = (server) =>
  new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });

/** A server like Ollama, where it is looked for, that has the models of `names`. */
async function startOllama() {
  const names = [];
  const server = createServer((asked, answer) => {
    asked.resume();
    if (asked.url === "/api/tags") answer.end(JSON.stringify({ models: names.map((name) => ({ name })) }));
    else if (asked.url === "/api/chat")
      answer
        .setHeader("Content-Type", "application/x-ndjson")
        .end('{"message":{"content":"Ready."},"done":true,"done_reason":"stop"}\n');
    else answer.end("{}");
  });
  await listening(server, 11434);
  return { names, stop: () => stopped(server) };
}

/** The server at `origin`, for those who send this key. */
async function startGuarded(origin, key) {
  const server = createServer((asked, answer) => {
    if (asked.headers.authorization !== `Bearer ${key}`) {
      asked.resume();
      answer.writeHead(401, { "Content-Type": "application/json" }).end('{"error":{"message":"Unknown key."}}');
      return;
    }
    const passed = request(`${origin}${asked.url}`, { method: asked.method, headers: asked.headers }, (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      reply.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    asked.pipe(passed);
  });
  const port = await listening(server);
  return { origin: `http://127.0.0.1:${port}`, stop: () => stopped(server) };
}

/** A server with these models, and which of them were asked. */
async function startRouter(models) {
  const asked = [];
  const server = createServer((message, answer) => {
    let body = "";
    message.on("data", (part) => (body += part));
    message.on("end", () => {
      answer.setHeader("Content-Type", "application/json");
      if (message.url === "/v1/models")
        return answer.end(
          JSON.stringify({ object: "list", data: models.map((id) => ({ id, context_length: 128000 })) }),
        );
      if (!message.url.endsWith("/chat/completions")) return answer.writeHead(404).end("{}");
      asked.push(JSON.parse(body).model);
      const choice = { index: 0, delta: { content: "Ready." }, finish_reason: "stop" };
      answer.setHeader("Content-Type", "text/event-stream");
      return answer.end(`data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`);
    });
  });
  const port = await listening(server);
  return { origin: `http://127.0.0.1:${port}`, asked, stop: () => stopped(server) };
}
