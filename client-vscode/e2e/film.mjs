// Records a window as pictures with times: one for each change, so that a slow machine makes the same film as a fast one.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./workbench.mjs";

export const SIZE = { width: 1000, height: 640 };
/** Pictures have more pixels than the window, for screens that show it larger. */
const SCALE = 1.5;
const KEY_MS = 40;
const MOVE_STEPS = 6;
const MOVE_MS = 40;
/** How long a wait for the server is shown at most. */
const LONGEST_WAIT_MS = 400;

/** The caption and the pointer, which the browser itself does not put into pictures. */
const SHOWN = `
  const caption = document.createElement("div");
  caption.id = "film-caption";
  caption.style = "position:fixed; inset:0 0 auto 0; height:35px; z-index:9999999; pointer-events:none; " +
    "background:#0f1115; color:#f0f2f6; font:600 17px/35px system-ui, sans-serif; text-align:center";
  const pointer = document.createElement("div");
  pointer.id = "film-pointer";
  pointer.style = "position:fixed; z-index:9999999; pointer-events:none; left:0; top:0";
  pointer.innerHTML = '<svg width="20" height="26" viewBox="0 0 20 26"><path d="M2 2v18l4.6-4.2 3.2 7.2 3.2-1.4-3.2-7H16z" ' +
    'fill="#fff" stroke="#000" stroke-width="1.5"/></svg>';
  document.body.append(caption, pointer);
`;

export class Film {
  #frames = [];
  #latest = "";
  #at = { x: 700, y: 400 };

  constructor(page, folder, devtools) {
    this.page = page;
    this.folder = folder;
    this.devtools = devtools;
  }

  /** A film of a page that has the size of films; `folder` gets its pictures. */
  static async of(page, folder) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Emulation.setDeviceMetricsOverride", { ...SIZE, deviceScaleFactor: SCALE, mobile: false });
    await page.evaluate(`{${SHOWN}}`);
    const film = new Film(page, folder, devtools);
    await film.#point(film.#at);
    return film;
  }

  async say(text) {
    await this.page.evaluate((said) => {
      document.querySelector("#film-caption").textContent = said;
    }, text);
    await this.hold(0);
  }

  /** Show what is to be seen now for so long. */
  async hold(ms) {
    const { data } = await this.devtools.send("Page.captureScreenshot", { format: "png" });
    if (data !== this.#latest) {
      const file = `${String(this.#frames.length).padStart(4, "0")}.png`;
      writeFileSync(join(this.folder, file), Buffer.from(data, "base64"));
      this.#frames.push({ file, ms: 0 });
      this.#latest = data;
    }
    this.#frames.at(-1).ms += ms;
  }

  async type(text) {
    for (const letter of text) {
      await this.page.keyboard.type(letter);
      await this.hold(letter === " " ? 2 * KEY_MS : KEY_MS);
    }
  }

  async click(locator) {
    const { x, y, width, height } = await locator.boundingBox();
    const position = { x: Math.min(width / 2, 60), y: height / 2 };
    await this.#move({ x: x + position.x, y: y + position.y });
    await this.hold(350);
    await locator.click({ position });
  }

  /** Show each change until this holds, and wait shorter than the program did. */
  async until(what, check) {
    let began = Date.now();
    await until(what, async () => {
      const before = this.#frames.length;
      const holds = await check();
      await this.hold(0);
      if (this.#frames.length > before) {
        if (before > 0) this.#frames[before - 1].ms += Math.min(Date.now() - began, LONGEST_WAIT_MS);
        began = Date.now();
      }
      return holds;
    });
  }

  end() {
    const shown = this.#frames.filter(({ ms }) => ms > 0);
    writeFileSync(join(this.folder, "film.json"), JSON.stringify(shown));
  }

  async #move(to) {
    const from = this.#at;
    for (let step = 1; step <= MOVE_STEPS; step++) {
      // Slower at both ends, as a hand is.
      const share = (1 - Math.cos((Math.PI * step) / MOVE_STEPS)) / 2;
      await this.#point({ x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share });
      await this.hold(MOVE_MS);
    }
    this.#at = to;
  }

  async #point({ x, y }) {
    await this.page.mouse.move(x, y);
    await this.page.evaluate(
      ([left, top]) => {
        document.querySelector("#film-pointer").style.transform = `translate(${left}px, ${top}px)`;
      },
      [x, y],
    );
  }
}
