// Lets the server use the editor's language model, if the editor has one and the user agrees.

import * as vscode from "vscode";

import type {
  ChatCall,
  ChatMessage,
  EditorCompleteParams,
  EditorCompleteResult,
  JsonObject,
  ModelEntry,
} from "../protocol";
import { t } from "../words";

/** The editor's models by name and size; the editor asks for the user's consent at the first request to one. */
export async function editorModels(): Promise<readonly ModelEntry[]> {
  const models = await vscode.lm.selectChatModels().then(
    (found) => found,
    () => [],
  );
  return models.map(({ id, name, maxInputTokens }) => ({
    provider: "editor",
    name: id,
    title: name === id ? t("Editor") : t("Editor: {0}", name),
    contextTokens: maxInputTokens,
    reachable: true,
  }));
}

export async function hasModels(): Promise<boolean> {
  return (await editorModels()).length > 0;
}

export async function answerWithModel(
  request: EditorCompleteParams,
  token: vscode.CancellationToken,
): Promise<EditorCompleteResult> {
  const models = await vscode.lm.selectChatModels();
  const wanted = request.model ?? "";
  const model =
    models.find((each) => each.id === wanted || each.name === wanted || each.family === wanted) ?? models[0];
  if (model === undefined)
    throw new Error(t("The editor has no language model. Choose another in the Planloom panel."));
  const messages = request.messages.map(toMessage);
  const response = await model.sendRequest(
    messages,
    { justification: t("Planloom plans and carries out your request."), ...toolOptions(request) },
    token,
  );
  const answer = await read(response);
  const count = (text: string): Thenable<number> => model.countTokens(text, token);
  const [promptTokens, completionTokens] = await Promise.all([
    count(request.messages.map(({ text }) => text).join("\n")),
    count(answer.text + JSON.stringify(answer.toolCalls ?? [])),
  ]);
  return { ...answer, usage: { promptTokens, completionTokens, requests: 1 } };
}

/** The editor's models know only the roles user and assistant, so system and tool messages are sent as the user's. */
function toMessage({ role, text, toolCalls }: ChatMessage): vscode.LanguageModelChatMessage {
  if (role === "assistant") {
    const calls = (toolCalls ?? [])
      .map((call) => JSON.stringify({ name: call.name, arguments: call.arguments }))
      .join("\n");
    return vscode.LanguageModelChatMessage.Assistant([text, calls].filter((part) => part !== "").join("\n"));
  }
  return vscode.LanguageModelChatMessage.User(role === "tool" ? `Tool result:\n${text}` : text);
}

function toolOptions(request: EditorCompleteParams): object {
  const tools = request.tools ?? [];
  if (tools.length === 0) return {};
  return {
    tools: tools.map((tool) => ({ name: tool.name, description: tool.description, inputSchema: tool.parameters })),
  };
}

async function read(response: vscode.LanguageModelChatResponse): Promise<EditorCompleteResult> {
  const toolCalls: ChatCall[] = [];
  let text = "";
  const parts: AsyncIterable<unknown> =
    "stream" in response ? (response.stream as AsyncIterable<unknown>) : response.text;
  for await (const part of parts) {
    if (typeof part === "string") text += part;
    else if (typeof part === "object" && part !== null && "value" in part && typeof part.value === "string")
      text += part.value;
    else if (typeof part === "object" && part !== null && "name" in part && "input" in part) {
      const callId = "callId" in part ? String(part.callId) : `call_${toolCalls.length + 1}`;
      toolCalls.push({ callId, name: String(part.name), arguments: (part.input ?? {}) as JsonObject });
    }
  }
  return { text, ...(toolCalls.length === 0 ? {} : { toolCalls }) };
}
