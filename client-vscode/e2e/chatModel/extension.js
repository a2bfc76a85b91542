// A language model of the editor that plans the same change for whatever it is asked. Only a journey that sets
// `chatModel.enabled` has it: elsewhere the editor has no model.
const vscode = require("vscode");

const MODEL = {
  id: "journey-1",
  name: "Journey One",
  family: "journey",
  version: "1",
  maxInputTokens: 32000,
  maxOutputTokens: 4000,
  capabilities: { toolCalling: true, imageInput: false },
  isUserSelectable: true,
  isDefault: true,
};
const PLAN = {
  summary: "From the editor's own model.",
  steps: [
    {
      id: "title",
      description: "Correct the title",
      tool: "edit_file",
      args: { path: "README.md", old_text: "A small shop.", new_text: "A tiny shop." },
      dependsOn: [],
    },
  ],
};

exports.activate = (context) => {
  if (vscode.workspace.getConfiguration().get("chatModel.enabled") !== true) return;
  const provider = {
    onDidChangeLanguageModelChatInformation: new vscode.EventEmitter().event,
    provideLanguageModelChatInformation: async () => [MODEL],
    provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
      const asked = JSON.stringify(messages);
      const answer = asked.includes("Answer with the one word") ? "Ready." : JSON.stringify(PLAN);
      progress.report(new vscode.LanguageModelTextPart(answer));
    },
    provideTokenCount: async (_model, text) => Math.ceil(JSON.stringify(text).length / 4),
  };
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider("planloom-test", provider));
};
