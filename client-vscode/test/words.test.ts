import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { list, number, parts, plural, speak, t } from "../src/words";
import { read, readModule } from "./sentences";

const CLIENT = join(import.meta.dirname, "..");
const json = (...path: string[]): Record<string, string> => JSON.parse(readFileSync(join(CLIENT, ...path), "utf8"));
const places = (text: string): readonly string[] => [...text.matchAll(/\{\d\}/g)].map(([place]) => place).sort();

afterEach(() => speak("en", {}));

test("a sentence without a translation stays English", () => {
  speak("de", { Skip: "Überspringen" });
  expect([t("Skip"), t("Step {0}", 3)]).toEqual(["Überspringen", "Step 3"]);
});

test("values go to the places that the translation names, and are no sentences themselves", () => {
  speak("de", { "{0} of {1}": "{1}, davon {0}" });
  expect(t("{0} of {1}", "{1}", 7)).toBe("7, davon {1}");
  expect(parts("{0} of {1}")).toEqual(["", 1, ", davon ", 0, ""]);
});

test("a count chooses between two sentences and is written as in the language", () => {
  expect([0, 1, 2].map((count) => plural(count, "1 step", "{0} steps"))).toEqual(["0 steps", "1 step", "2 steps"]);
  speak("de", { "{0} steps": "{0} Schritte" });
  expect(plural(12_345, "1 step", "{0} steps")).toBe("12.345 Schritte");
});

test("numbers and lists are written as in the language", () => {
  const written = (): readonly string[] => [number(1234.5, 1), list(["1", "3", "4"])];
  expect(written()).toEqual(["1,234.5", "1, 3 and 4"]);
  speak("de", {});
  expect(written()).toEqual(["1.234,5", "1, 3 und 4"]);
});

test("an editor's tag that Intl does not know is no reason to fail", () => {
  speak("qps_ploc", {});
  expect(t("Skip")).toBe("Skip");
});

test.each([
  ['const label = t("Skip");', "translated at import"],
  ["const draw = () => html`<p>Nothing here</p>`;", "not translated"],
  ['const draw = () => html`<p title="Nothing">${1}</p>`;', "not translated"],
  ['const draw = (on) => html`<p>${on ? "Nothing here" : ""}</p>`;', "not translated"],
  ['const ask = () => vscode.window.showErrorMessage("It failed");', "not translated"],
  ["const ask = (count) => ctx.notify('info', `${count} files`);", "not translated"],
  ['const pick = () => show({ title: "A plan" });', "not translated"],
  ["const draw = (text) => t(text);", "written out"],
])("the reader of the sources finds %s", (source, fault) => {
  const found = { sentences: new Set<string>(), faults: [] as string[] };
  readModule("example.ts", source, found);
  expect(found.faults.join()).toContain(fault);
});

test("everything that a person reads is translated", () => {
  expect(read().faults).toEqual([]);
});

const BUNDLES = readdirSync(join(CLIENT, "l10n")).filter((name) => name.startsWith("bundle.l10n."));

test.each(BUNDLES)("%s has the sentences of the sources, no others, with their places", (name) => {
  const bundle = json("l10n", name);
  const { sentences } = read();
  expect([...sentences].filter((each) => !(each in bundle))).toEqual([]);
  expect(Object.keys(bundle).filter((each) => !sentences.has(each))).toEqual([]);
  const differing = Object.entries(bundle).filter(
    ([sentence, translation]) => translation === "" || places(sentence).join() !== places(translation).join(),
  );
  expect(differing).toEqual([]);
});

test("the manifest names its texts, and each language has all of them", () => {
  const manifest = readFileSync(join(CLIENT, "package.json"), "utf8");
  const named = [...new Set([...manifest.matchAll(/"%([\w.=-]+)%"/g)].map(([, key]) => key ?? ""))].sort();
  const languages = readdirSync(CLIENT).filter((name) => /^package\.nls(\.\w+)?\.json$/.test(name));
  expect(languages).toContain("package.nls.json");
  for (const name of languages) expect(Object.keys(json(name)).sort(), `mend client-vscode/${name}`).toEqual(named);
});
