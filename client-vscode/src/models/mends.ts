// What a person can do about an error, each a button of the panel or of a message.

import type { Explained, Mend } from "../protocol";
import { t, timeOfDay } from "../words";

/** An error as it reached the extension: of the server, with its words for people, or of the extension itself. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly explained?: Explained | undefined;
}

/** What is wrong, with the moment until which a server wants to be left alone, as the user's clock shows it. */
export function explanation({ words, until }: Explained): string {
  return until == null ? words : `${words} ${t("It wants to be left alone until {0}.", timeOfDay(until))}`;
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
