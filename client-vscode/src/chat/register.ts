// Offers plans to the editor's chat, where the editor has one: a participant, and tools for language models.

import * as vscode from "vscode";

import { errorData } from "../connection/client";
import { isFile } from "../connection/workspaceFiles";
import type { Ctx } from "../ctx";
import { explanation } from "../models/mends";
import type { ExplicitAttachment } from "../protocol";
import { t } from "../words";
import { answer, type Planner, TOOLS, type Tool } from "./handlers";

const PARTICIPANT = "planloom.chat";

/** The part of the editor's interface for tools that is used here; editors before 1.95 lack it. */
interface ToolInterface {
  lm: {
    registerTool?(
      name: string,
      tool: {
        invoke(options: { input: Record<string, unknown> }): Promise<unknown>;
        prepareInvocation(options: { input: Record<string, unknown> }): { invocationMessage: string };
      },
    ): vscode.Disposable;
  };
  LanguageModelToolResult: new (parts: readonly unknown[]) => unknown;
  LanguageModelTextPart: new (text: string) => unknown;
}

export function registerChat(ctx: Ctx): vscode.Disposable[] {
  const planner: Planner = {
    request: async (method, params) => {
      if (!ctx.isRunning) await ctx.start();
      return ctx.request(method, params);
    },
    listen: (planId, hear) => {
      const listening = ctx.happened.event((event) => {
        if (event.planId === planId) hear(event);
      });
      return () => listening.dispose();
    },
  };
  return [() => participant(ctx, planner), () => tools(planner)].flatMap((offer) => {
    try {
      return offer();
    } catch (error) {
      // An editor may refuse it, such as one whose chat is switched off; all else works without.
      ctx.log.warn(`The editor's chat does not take plans: ${errorData(error).message}`);
      return [];
    }
  });
}

function participant(ctx: Ctx, planner: Planner): vscode.Disposable[] {
  // Editors without a chat, such as those built from the open sources alone, may lack the whole name space.
  if (typeof vscode.chat?.createChatParticipant !== "function") return [];
  const chat = vscode.chat.createChatParticipant(PARTICIPANT, async (request, _context, stream, token) => {
    const cancelled = new AbortController();
    const listening = token.onCancellationRequested(() => cancelled.abort());
    try {
      await answer(
        planner,
        { text: request.prompt, attachments: attachments(request.references) },
        {
          progress: (text) => stream.progress(text),
          markdown: (text) => stream.markdown(text),
          review: (planId) =>
            stream.button({
              command: "planloom.ui.focus",
              title: t("Review and start in the panel"),
              arguments: [planId],
            }),
        },
        cancelled.signal,
      );
      return {};
    } catch (error) {
      const failure = errorData(error);
      ctx.log.warn(`Chat: ${failure.message}`);
      const { message, explained } = failure;
      return { errorDetails: { message: explained === undefined ? message : explanation(explained) } };
    } finally {
      listening.dispose();
    }
  });
  chat.iconPath = vscode.Uri.joinPath(ctx.extension.extensionUri, "media", "icon.png");
  return [chat];
}

/** The files and lines that were attached in the chat; other kinds of references are not known here. */
function attachments(references: readonly vscode.ChatPromptReference[]): readonly ExplicitAttachment[] {
  return references.flatMap(({ value }): readonly ExplicitAttachment[] => {
    if (value instanceof vscode.Uri) return isFile(value) ? [{ uri: value.toString() }] : [];
    if (!(value instanceof vscode.Location) || !isFile(value.uri)) return [];
    const { start, end } = value.range;
    const place = ({ line, character }: vscode.Position) => ({ line, character });
    return [{ uri: value.uri.toString(), range: { start: place(start), end: place(end) } }];
  });
}

function tools(planner: Planner): vscode.Disposable[] {
  const api = vscode as unknown as ToolInterface;
  const { registerTool } = api.lm;
  if (registerTool === undefined) return [];
  const result = (text: string) => new api.LanguageModelToolResult([new api.LanguageModelTextPart(text)]);
  const said = (tool: Tool, input: Record<string, unknown>): Promise<string> =>
    tool(planner, input).catch((error: unknown) => `It failed: ${errorData(error).message}`);
  return Object.entries(TOOLS).map(([name, tool]) =>
    registerTool.call(api.lm, name, {
      prepareInvocation: () => ({ invocationMessage: t("Asking Planloom") }),
      invoke: async ({ input }) => result(await said(tool, input)),
    }),
  );
}

/** Show the panel, with a plan if one is named; it is reviewed and started there. */
export async function reviewPlan(ctx: Ctx, planId: unknown): Promise<void> {
  if (typeof planId === "string") await ctx.show(planId);
  await ctx.panel.reveal();
}
