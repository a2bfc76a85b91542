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
  const labels: Readonly<Record<Mend, string>> = {
    key: t("Enter a Key…"),
    address: t("Change the Address…"),
    models: t("Choose a Model…"),
    startOllama: t("Start Ollama…"),
    getOllamaModel: t("Get a Model…"),
    again: t("Try Again"),
    folder: t("Open Folder…"),
    trust: t("Manage Trust…"),
    settings: t("Open Settings"),
    restart: t("Restart the Server"),
    log: t("Show Log"),
  };
  return labels[mend];
}
