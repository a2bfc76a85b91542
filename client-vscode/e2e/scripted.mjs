// What needs a server that does as it is told: every card at once for a look, and a storm of events for a figure.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { basename, join } from "node:path";
import { nextApproval, oneRow } from "./gestures.mjs";
import { until } from "./workbench.mjs";

const EVENTS = 500;
/** A queue that builds up shows in seconds; anything finer is a figure, since other work on the machine shows in it too. */
const QUEUED_MS = 2000;
const COLOURS = ["light", "dark"];

export const thinking = {
  name: "who is thinking, who failed, what was said",
  files: { "src/greeting.py": "" },
  async run({ window, folder, shots }) {
    const { panel } = window;
    const state = (agent) => panel.locator(`.perspective[data-agent="${agent}"]`).getAttribute("data-state");
    await window.showPanel();
    await window.widen();
    await panel.locator("#request").fill("Add a farewell function and deploy it");
    await panel.locator("#verdict").waitFor();
    await window.choose("mode", "Perspectives");
    await panel.locator("#send").click();
    await until("strategy thinking", async () => (await state("chapo")) === "thinking");
    assert.equal(await state("koda"), "to come");
    assert.match(await panel.locator(".plan-header .thought").textContent(), /Strategy is thinking/);
    writeFileSync(join(folder, "strategy-seen"), "");
    await until(
      "code and operations thinking",
      async () => (await state("koda")) === "thinking" && (await state("devo")) === "thinking",
    );
    assert.equal(await state("chapo"), "done");
    assert.match(await panel.locator(".plan-header .thought").textContent(), /Code and Operations are thinking/);
    for (const theme of COLOURS) {
      await window.theme(theme);
      await window.shot(join(shots, `thinking-${theme}.png`));
    }
    writeFileSync(join(folder, "others-seen"), "");
    await until("a failure", async () => (await state("devo")) === "failed");
    assert.match(
      await panel.locator('.perspective[data-agent="devo"]').textContent(),
      /gave no answer that can be read/,
    );
    await window.waitForStatus("pending_approval");
    await window.more("about");
    const chapo = panel.locator('.perspective[data-agent="chapo"]');
    assert.ok(!(await chapo.locator(".perspective-text").isVisible()));
    await chapo.locator("summary").click();
    assert.ok(await chapo.locator(".perspective-text").isVisible());
    for (const theme of COLOURS) {
      await window.theme(theme);
      await window.shot(join(shots, `perspectives-${theme}.png`));
    }
  },
};

const COMPILER = join(import.meta.dirname, "../node_modules/typescript/lib");
const GREETING = `import { join } from "node:path";
import { basename } from "node:path";

export function greet(name: string): string {
return basename(name);
}
`;
const MAIN = `import { greet } from "./greeting";

export function main(): void {
  console.log(greet("you"));
}
`;
export const languages = {
  name: "what the editor's own language servers know",
  files: {
    "greeting.ts": GREETING,
    "main.ts": MAIN,
    "note.txt": "one\ntwo\n",
    "kept.plan.md": "# A plan\n\ntext\n",
    "tsconfig.json": '{"compilerOptions":{"strict":true},"files":["main.ts"]}',
  },
  // The workbench has the extension for TypeScript, but no compiler.
  settings: { "js/ts.tsdk.path": COMPILER, "typescript.tsdk": COMPILER },
  async run({ window, folder }) {
    const { panel } = window;
    const uri = (name) => `file://${folder}/${name}`;
    const greet = { textDocument: { uri: uri("greeting.ts") }, position: { line: 3, character: 18 } };
    const main = { textDocument: { uri: uri("main.ts") }, position: { line: 3, character: 17 } };
    const nowhere = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
    const called = (at) => ({ item: { uri: at.textDocument.uri, selectionRange: { ...nowhere, start: at.position } } });
    const imports = { range: nowhere, context: { diagnostics: [], only: ["source.organizeImports"] } };
    const ask = async (...asked) => {
      writeFileSync(join(folder, "asked.json"), JSON.stringify(asked));
      await panel.locator("#request").fill("Add language");
      await panel.locator("#verdict").waitFor();
      await panel.locator("#send").click();
      await until("the answers", () => existsSync(join(folder, "answered.json")), 90);
      return JSON.parse(readFileSync(join(folder, "answered.json"), "utf8"));
    };
    await window.showPanel();
    const found = await ask(
      ["textDocument/references", greet],
      ["textDocument/documentSymbol", greet],
      ["textDocument/definition", main],
      ["textDocument/implementation", main],
      ["textDocument/hover", main],
      ["textDocument/prepareCallHierarchy", greet],
      ["callHierarchy/incomingCalls", called(greet)],
      ["callHierarchy/outgoingCalls", called({ ...main, position: { line: 2, character: 18 } })],
      ["workspace/symbol", { query: "greet" }],
      ["textDocument/rename", { ...greet, newName: "hail" }],
      ["textDocument/codeAction", { ...greet, ...imports }],
      ["textDocument/formatting", { ...greet, options: { tabSize: 1, insertSpaces: true } }],
      ["textDocument/rename", { ...greet, position: { line: 2, character: 0 }, newName: "hail" }],
      ["textDocument/references", { ...greet, textDocument: { uri: uri("note.txt") } }],
      ["textDocument/documentSymbol", { textDocument: { uri: uri("kept.plan.md") } }],
      ["textDocument/documentSymbol", { textDocument: { uri: "untitled:Untitled-1" } }],
      ["textDocument/documentSymbol", { textDocument: { uri: uri("absent.ts") } }],
    );
    const [references, symbols, definition, implementation, hover, prepared, incoming, outgoing] = found;
    const places = (locations) => locations.map((each) => `${basename(each.uri)}:${each.range.start.line}`);
    assert.deepEqual(places(references), ["greeting.ts:3", "main.ts:0", "main.ts:3"]);
    assert.deepEqual([symbols[0].name, symbols[0].kind, symbols[0].selectionRange.start.line], ["greet", 12, 3]);
    assert.deepEqual([definition, implementation].map(places), [["greeting.ts:3"], ["greeting.ts:3"]]);
    assert.match(hover.contents.value, /greet\(name: string\): string/);
    assert.deepEqual(places(prepared), ["greeting.ts:3"]);
    assert.deepEqual(places(incoming.map((each) => each.from)), ["main.ts:2"]);
    assert.ok(places(outgoing.map((each) => each.to)).includes("greeting.ts:3"));
    const [named, rename, actions, formatted, ...problems] = found.slice(8);
    assert.deepEqual(
      named.map((each) => each.name),
      ["greet"],
    );
    const edits = rename.documentChanges.map((each) => [basename(each.textDocument.uri), each.edits.length]);
    assert.deepEqual(edits, [
      ["greeting.ts", 1],
      ["main.ts", 2],
    ]);
    assert.match(JSON.stringify(actions[0].edit), /basename/);
    assert.deepEqual(formatted, [
      { range: { start: { line: 4, character: 0 }, end: { line: 4, character: 0 } }, newText: "    " },
    ]);
    for (const [index, said] of [/rename/, /plaintext/, ...Array(3).fill(/about files alone/)].entries())
      assert.match(problems[index].problem, said);
  },
};

export const looks = {
  name: "every card at once",
  files: { "src/greeting.py": 'def greet(name):\n    return f"Hello, {name}!"\n', "README.md": "# Hello\n" },
  async run({ window, shots }) {
    const { panel } = window;
    await window.showPanel();
    await window.looks(shots, "looks/empty");
    await window.request("Add a farewell function and test it");
    await window.waitForStatus("pending_approval");
    await panel.locator(".step-row").nth(1).click();
    await window.looks(shots, "looks/review");
    await panel.locator(".step-row").nth(1).focus();
    await window.page.keyboard.press("F2");
    await panel.locator(".step-form vscode-textarea, .step-form vscode-textfield").first().waitFor();
    await window.looks(shots, "looks/edit");
    await window.page.keyboard.press("Escape");
    await panel.locator("#approve").click();
    await panel.locator(".card.failure").waitFor();
    await panel.locator(".plan-title").evaluate((element) => element.scrollIntoView());
    assert.match(await panel.locator(".command").textContent(), /U\+202E/);
    await until("the cards in order", () => panel.locator(".card.approval .allow:not([disabled])").count());
    for (const theme of COLOURS) {
      await window.theme(theme);
      await window.shot(join(shots, `cards-${theme}.png`));
    }
    await window.looks(shots, "looks/cards");
    // What the model writes stands in the details of its step.
    await panel.locator(".step-row").nth(1).click();
    const words = panel.locator(".details").locator(".words, .stream");
    if ((await panel.locator(".details").count()) === 0) await panel.locator(".step-row").nth(1).click();
    await words.first().scrollIntoViewIfNeeded();
    await window.shot(join(shots, "looks/words-dark.png"));
  },
};

export const german = {
  name: "every card at once, in German",
  language: "de",
  files: looks.files,
  async run({ window, shots }) {
    const { panel } = window;
    await window.showPanel();
    assert.match(await panel.locator("#request").getAttribute("placeholder"), /Was soll/);
    await window.widen(300);
    await panel.locator("#request").fill("Add a farewell function and test it");
    await panel.locator("#verdict").waitFor();
    await oneRow(window);
    await window.shot(join(shots, "looks/composer-german-300.png"));
    await panel.locator("#request").press("Enter");
    await window.waitForStatus("pending_approval");
    await panel.locator(".step-row").nth(1).click();
    await window.shot(join(shots, "looks/review-german-300.png"));
    await panel.locator("#approve").click();
    await panel.locator(".card.failure").waitFor();
    await nextApproval(window);
    await window.shot(join(shots, "looks/cards-german-300.png"));
    await window.command("Planloom: Diese Aufgabe planen", join(shots, "looks/palette-german.png"));
  },
};

export const storm = {
  name: "a hundred events a second",
  files: {},
  async run({ window }) {
    const { panel } = window;
    await window.showPanel();
    await window.request(`storm ${EVENTS}`);
    await window.waitForStatus("pending_approval");
    // Each event carries the moment it was sent; the page notes when that text is in its document.
    await panel.locator("#root").evaluate((root) => {
      const seen = { Lone: new Map(), Storm: new Map() };
      const arrived = { Lone: new Map(), Storm: new Map() };
      Object.assign(window, { seen, arrived });
      const read = (text) => /^(Lone|Storm) (\d+) (\d+)$/.exec(text ?? "");
      window.addEventListener("message", ({ data }) => {
        const steps = (data?.updates ?? []).flatMap(({ patch }) => patch?.steps ?? []);
        for (const { step } of steps) {
          const found = read(step.activeForm);
          if (found !== null) arrived[found[1]].set(Number(found[2]), { sent: Number(found[3]), at: Date.now() });
        }
      });
      new MutationObserver(() => {
        const found = read(root.querySelector('[data-status="running"] .step-title')?.textContent);
        if (found !== null && !seen[found[1]].has(Number(found[2]))) seen[found[1]].set(Number(found[2]), Date.now());
      }).observe(root, { subtree: true, childList: true, characterData: true });
    });
    await panel.locator("#approve").click();
    await until("the end of the storm", () => panel.locator('.step[data-status="completed"]').count(), 120);
    const events = await panel.locator("#root").evaluate(() =>
      Object.fromEntries(
        ["Lone", "Storm"].map((name) => {
          const seen = [...window.seen[name]].sort(([a], [b]) => a - b);
          // An event that was overtaken in the same frame is shown by the one that overtook it.
          const shown = (index) => seen.find(([each]) => each >= index)?.[1];
          return [
            name,
            [...window.arrived[name]].map(([index, { sent, at }]) => ({
              arrived: at - sent,
              drawn: shown(index) - sent,
              inPanel: shown(index) - at,
            })),
          ];
        }),
      ),
    );
    const spread = (events, name) => {
      const sorted = events
        .map((each) => each[name])
        .filter(Number.isFinite)
        .sort((a, b) => a - b);
      const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
      return { count: sorted.length, p50: at(0.5), p95: at(0.95), max: at(1) };
    };
    const spreads = (name) =>
      Object.fromEntries(["arrived", "inPanel", "drawn"].map((part) => [part, spread(events[name], part)]));
    const figures = { alone: spreads("Lone"), hundredASecond: spreads("Storm"), load: loadavg()[0] };
    const limit = QUEUED_MS + 3 * figures.alone.drawn.p95;
    assert.ok(figures.hundredASecond.drawn.p95 <= limit, `the panel lags behind: ${JSON.stringify(figures)}`);
    return figures;
  },
};
