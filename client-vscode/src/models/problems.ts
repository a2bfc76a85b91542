// Errors in the user's words: one row for every code of the protocol and every reason why a model cannot be used.
// The server's own sentences are for terminals; they are shown only where they name what the user has to find.

import {
  ERROR_CODES,
  type ErrorCode,
  MODEL_CAUSES,
  type ModelCause,
  type ModelProblem,
  type PlanError,
} from "../protocol";
import { t, timeOfDay } from "../words";
import type { Explained, Mend } from "./mends";

/** An error as it reached the extension: of the server, with one of its codes, or of the extension itself. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
}

const NO_PROBLEM: ModelProblem = { cause: "none", provider: "", address: "", model: "", said: "" };

/** Why a model cannot be used, and what mends it; `at` is when it was asked. */
export function modelProblem(problem: ModelProblem | null | undefined, at?: string): Explained {
  if (problem == null) return { message: t("The model cannot be used now."), mends: ["again", "models"] };
  const { message, mends } = ofCause(problem);
  const { said, waitSeconds } = problem;
  const sentences = [message];
  if (waitSeconds != null && waitSeconds > 0 && at !== undefined)
    sentences.push(
      t("It wants to be left alone until {0}.", timeOfDay(new Date(Date.parse(at) + waitSeconds * 1000).toISOString())),
    );
  if (said !== "") sentences.push(t("It said: {0}", said));
  return { message: sentences.join(" "), mends };
}

function ofCause({ cause, provider, address, model }: ModelProblem): Explained {
  const isOllama = provider === "ollama";
  const server = address === "" ? t("The model's server") : address;
  const name = model === "" ? t("the model") : model;
  const known = (sentence: string, without: string): string => (address === "" ? without : sentence);
  const rows: Readonly<Record<ModelCause, Explained>> = {
    none: { message: t("This needs a language model, and none is set up."), mends: ["models"] },
    unreachable: isOllama
      ? {
          message: known(t("Ollama does not answer at {0}.", address), t("Ollama does not answer.")),
          mends: ["startOllama", "again", "models"],
        }
      : {
          message: known(t("Nothing answers at {0}.", address), t("The model's server does not answer.")),
          mends: ["again", "address", "models"],
        },
    slow: { message: t("{0} did not answer in time.", server), mends: ["again", "models"] },
    key_missing: { message: t("{0} wants a key.", server), mends: ["key", "models"] },
    key_refused: { message: t("{0} refused the key.", server), mends: ["key", "models"] },
    forbidden: { message: t("{0} does not allow this with your key.", server), mends: ["key", "models"] },
    payment: {
      message: known(
        t("The account at {0} has no credit left. Top it up there, or choose another model.", address),
        t("The account has no credit left. Top it up at its provider, or choose another model."),
      ),
      mends: ["again", "models"],
    },
    model_missing: isOllama
      ? { message: t("Ollama does not have {0}.", name), mends: ["getOllamaModel", "models"] }
      : { message: t("{0} does not have {1}.", server, name), mends: ["models", "address"] },
    no_models: isOllama
      ? { message: t("Ollama runs but has no model yet."), mends: ["getOllamaModel", "again", "models"] }
      : provider === "editor"
        ? { message: t("The editor has no language model."), mends: ["models"] }
        : { message: t("{0} has no model.", server), mends: ["address", "models"] },
    model_not_chosen: { message: t("{0} has several models.", server), mends: ["models"] },
    wrong_address: {
      message: known(t("No model server is at {0}.", address), t("The address of the model's server cannot be used.")),
      mends: ["address", "models"],
    },
    certificate: {
      message: known(
        t("The certificate of {0} is not trusted on this machine.", address),
        t("The certificate of the model's server is not trusted on this machine."),
      ),
      mends: ["again", "address"],
    },
    busy: { message: t("{0} takes no more requests now.", server), mends: ["again", "models"] },
    server_failed: { message: t("{0} failed.", server), mends: ["again", "models"] },
  };
  return rows[cause] ?? { message: t("The model cannot be used now."), mends: ["again", "models"] };
}

/** A sentence for an error, with what mends it. An error without a code of the server tells its own sentence. */
export function explained({ code, message, details }: Failure): Explained {
  if (!isCode(code)) return { message, mends: [] };
  // What the server says belongs to the sentence where it names the place or the text that is wrong.
  const named = (sentence: string, mends: readonly Mend[] = []): Explained => ({
    message: `${sentence} ${message}`,
    mends,
  });
  // Problems that are listed follow the sentence, each on a line of its own.
  const listed = (sentence: string): Explained =>
    Array.isArray(details) && details.length > 0 ? plain(sentence) : named(sentence);
  const plain = (sentence: string, mends: readonly Mend[] = []): Explained => ({ message: sentence, mends });
  const rows: Readonly<Record<ErrorCode, () => Explained>> = {
    internal: () => plain(t("Something inside Planloom broke; the log has the details."), ["log", "restart"]),
    invalid_params: () => listed(t("That cannot be done:")),
    unknown_plan: () => plain(t("This plan is no longer in the ledger.")),
    unknown_step: () => plain(t("This step is no longer in the plan.")),
    unknown_approval: () => plain(t("This question has been answered already.")),
    unknown_template: () => plain(t("There is no such template.")),
    unknown_edit: () => plain(t("This change is no longer open.")),
    wrong_state: () => named(t("That is not possible now:")),
    stale_version: () => plain(t("The plan has changed since. Look at it again.")),
    invalid_plan: () => listed(t("That is not a valid plan:")),
    owned_elsewhere: () => plain(t("Another window runs this plan. Go on there, or close it first.")),
    limit_exceeded: () => named(t("A limit was reached:"), ["settings"]),
    storage_failed: () => named(t("Plans cannot be kept now:"), ["log"]),
    model_unavailable: () => modelProblem(problemIn(details), new Date().toISOString()),
    model_refused: () =>
      plain(t("The model refused. Word the request in another way, or choose another model."), ["again", "models"]),
    model_output_invalid: () =>
      plain(t("The model gave no answer that can be used. Try again, or choose a stronger model."), [
        "again",
        "models",
      ]),
    reference_unresolved: () => named(t("What the request refers to was not found:")),
    workspace_required: () => plain(t("Open a folder first: a plan works on its files."), ["folder"]),
    untrusted_workspace: () => plain(t("This folder is not trusted, so nothing in it is written or run."), ["trust"]),
    path_denied: () => named(t("That file is out of reach:")),
    budget_exhausted: () =>
      plain(t("The plan's budget is used up. Resume grants the same amount again."), ["settings"]),
    context_overflow: () =>
      plain(t("The request is too long for the model. Attach less, or choose a model that takes more."), ["models"]),
  };
  return rows[code]();
}

/** The same for the error of a plan, whose own sentence is shown where it is about the plan. */
export function ofCode({ code, message, modelProblem: problem }: PlanError): Explained {
  return MODEL_CODES.has(code) ? explained({ code, message, details: problem }) : { message, mends: [] };
}

const MODEL_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "model_unavailable",
  "model_refused",
  "model_output_invalid",
  "budget_exhausted",
  "context_overflow",
  "internal",
]);

function isCode(code: string): code is ErrorCode {
  return (ERROR_CODES as readonly string[]).includes(code);
}

/** The problem in the details of an error. */
function problemIn(details: unknown): ModelProblem | undefined {
  if (typeof details !== "object" || details === null || !("cause" in details)) return undefined;
  const cause = MODEL_CAUSES.find((each) => each === details.cause);
  return cause === undefined ? undefined : { ...NO_PROBLEM, ...details, cause };
}
