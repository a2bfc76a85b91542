// Translates what a person reads, in the extension and in its page, and writes numbers, dates and lists as they are
// written in the editor's language. The English sentence is the key of its translation (l10n/bundle.l10n.*.json).

type Value = string | number;
/** The translations of one language, by the English sentence. */
export type Bundle = Readonly<Record<string, string>>;

const PLACE = /\{(\d)\}/;
let language = "en";
let bundle: Bundle = {};

/** Use this language, by its tag in the editor, from here on. A sentence that the bundle lacks stays English. */
export function speak(inLanguage: string, by: Bundle): void {
  try {
    language = Intl.getCanonicalLocales(inLanguage)[0] ?? "en";
  } catch {
    // A language pack for tests names a language that there is not.
    language = "en";
  }
  bundle = by;
}

/** A sentence in the editor's language, with `{0}`, `{1}`… replaced. Call it where the sentence is shown, not at import. */
export function t(message: string, ...values: readonly Value[]): string {
  return parts(message)
    .map((part) => (typeof part === "string" ? part : String(values[part] ?? `{${part}}`)))
    .join("");
}

/** One of two sentences, by the plural rules of the language. `{0}` is the count, `{1}` the first of `values`. */
export function plural(count: number, one: string, other: string, ...values: readonly Value[]): string {
  const isOne = new Intl.PluralRules(language).select(count) === "one";
  return t(isOne ? one : other, number(count), ...values);
}

/** A translated sentence, cut at its places: texts and the numbers of the values that go between them. */
export function parts(message: string): readonly (string | number)[] {
  const translated = bundle[message] ?? message;
  return translated.split(PLACE).map((part, index) => (index % 2 === 0 ? part : Number(part)));
}

/** `1,234.5`, with at most this many digits after the point, and at least `least`. */
export function number(value: number, most = 0, least = 0): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: most, minimumFractionDigits: least }).format(value);
}

/** `1, 3 and 4`. */
export function list(words: readonly string[]): string {
  // The English sentences of this project have no comma before `and`.
  return new Intl.ListFormat(language === "en" ? "en-GB" : language).format(words);
}

const AGES = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["week", 7 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** How long ago a moment was, as `Date.parse` reads it, by the largest unit that fits: `2 hours ago`, `yesterday`; `now` in milliseconds. */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  const words = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const [unit, length] = AGES.find(([, least]) => seconds >= least) ?? ["second", 1];
  return words.format(unit === "second" ? 0 : -Math.floor(seconds / length), unit);
}

/** The time of day of a moment, with seconds. */
export function timeOfDay(at: string): string {
  return new Intl.DateTimeFormat(language, { timeStyle: "medium" }).format(new Date(at));
}

/** A text that a notification shows as it stands: it would make links, of commands too, of Markdown in it. */
export function linkless(text: string): string {
  return text.replaceAll("](", "] (");
}
