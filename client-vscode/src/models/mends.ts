// What a person can do about an error, each a button of the panel or of a message.

import { t } from "../words";

export const MENDS = [
  "key",
  "address",
  "models",
  "startOllama",
  "getOllamaModel",
  "again",
  "folder",
  "trust",
  "settings",
  "restart",
  "log",
] as const;
export type Mend = (typeof MENDS)[number];

/** An error in the user's words, and what can be done about it, the most likely first. */
export interface Explained {
  readonly message: string;
  readonly mends: readonly Mend[];
}

export function mendLabel(mend: Mend): string {
  switch (mend) {
    case "key":
      return t("Enter a Key…");
    case "address":
      return t("Change the Address…");
    case "models":
      return t("Choose a Model…");
    case "startOllama":
      return t("Start Ollama…");
    case "getOllamaModel":
      return t("Get a Model…");
    case "again":
      return t("Try Again");
    case "folder":
      return t("Open Folder…");
    case "trust":
      return t("Manage Trust…");
    case "settings":
      return t("Open Settings");
    case "restart":
      return t("Restart the Server");
    case "log":
      return t("Show Log");
  }
}
