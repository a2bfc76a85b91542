// What a person can read of a draft that is still being written: a model may write it as JSON.

const WORDS = /"(?:title|summary|description|instruction|analysis|question)"\s*:\s*"((?:[^"\\]|\\.)*)/g;
const JSON_LIKE = /^[\s`]*(?:json)?\s*[[{]|"\w+"\s*:\s*["[{\d]/;
const SHOWN = 3;

/** The last sentences of a streamed draft: those of its JSON, or the end of a text that is none. */
export function draftText(streamed: string): string {
  if (!JSON_LIKE.test(streamed)) return streamed.slice(-400).trim();
  return [...streamed.matchAll(WORDS)]
    .slice(-SHOWN)
    .map(([, text = ""]) => unescaped(text).trim())
    .filter((text) => text !== "")
    .join("\n");
}

/** The text of a JSON string that may be cut off. */
function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text.replace(/\\u[\da-f]{0,3}$/i, "")}"`) as string;
  } catch {
    return text;
  }
}
