// What the commands of a step have printed: while they run as it comes, afterwards each by itself as it is stored.

import { html, nothing } from "lit";

import type { PlanView } from "../../plan/views";
import type { CommandOutput, ExecutedTool, Step } from "../../protocol";
import { t } from "../../words";
import { asking, icon, linkButton, type Panel, shown, type View } from "../ui";

const COMMAND = "run_command";

/** Whether this call runs a command, whose output is drawn here. */
export function isCommand({ tool }: { tool: string }): boolean {
  return tool === COMMAND;
}

/** The key of what a step's commands have printed: another run of the step has other calls. */
function outputKey(planId: string, step: Step): string {
  return `${planId} ${step.stepId} ${commandsOf(step).length}`;
}

/** The commands of a step with their output. What is stored is asked for. */
export function commandOutput(panel: Panel, view: PlanView, step: Step): View {
  const { planId } = view.plan;
  const key = outputKey(planId, step);
  const stored = panel.ui.outputs[key];
  const wants = commandsOf(step).length > 0 && stored === undefined;
  const live = view.printed[step.stepId] ?? "";
  const runs = step.status === "running" || stored === undefined;
  return html`${wants ? html`<span hidden data-asks=${asking({ kind: "output", planId, stepId: step.stepId, key })}></span>` : nothing}
    ${stored?.map((each) => block(panel, planId, step, each)) ?? nothing}
    ${live === "" || !runs ? nothing : printed(live)}`;
}

function commandsOf({ toolsExecuted }: Step): readonly ExecutedTool[] {
  return toolsExecuted.filter(isCommand);
}

function block(panel: Panel, planId: string, step: Step, command: CommandOutput): View {
  const { callId, ok, exitCode, output } = command;
  const where = { planId, stepId: step.stepId, callId };
  return html`<figure class="command-output" data-good=${ok}>
    <figcaption>
      ${ok ? icon("pass", t("succeeded"), "good") : icon("error", t("failed"), "bad")}<code>${shown(command.command)}</code>${
        exitCode === undefined || exitCode === 0
          ? nothing
          : html`<span class="quiet">${t("exit code {0}", exitCode)}</span>`
      }
    </figcaption>
    ${results(command)}
    ${
      output === null
        ? html`<p class="quiet">${t("What it printed was not stored.")}</p>`
        : output.trim() === ""
          ? html`<p class="quiet">${t("It printed nothing.")}</p>`
          : printed(output)
    }
    <div class="actions">
      ${
        output === null || output.trim() === ""
          ? nothing
          : linkButton(t("Show all"), () => panel.post({ kind: "openOutput", ...where }), {
              icon: "go-to-file",
              classes: "open-output",
            })
      }
      ${linkButton(t("Run in terminal"), () => panel.post({ kind: "runInTerminal", ...where }), {
        icon: "terminal",
        classes: "run-in-terminal",
        title: t("Types the command into a terminal; you run it"),
      })}
    </div>
  </figure>`;
}

/** A text as a terminal shows it; a long one is scrolled to its end. */
export function printed(text: string, label = t("Output of the commands")): View {
  return html`<pre class="printed" tabindex="0" aria-label=${label}><span>${shown(text)}</span></pre>`;
}

/** How a test run went, and which tests failed. */
function results({ tests }: CommandOutput): View {
  if (tests == null) return nothing;
  const { words, good, failures, more } = tests;
  return html`<div class="test-results" data-good=${good}>
    ${icon("beaker")}<span>${words}</span>
    ${failures.length === 0 ? nothing : html`<ul>${failures.map((each) => html`<li>${shown(each)}</li>`)}</ul>`}
    ${more == null ? nothing : html`<span class="quiet">${more}</span>`}
  </div>`;
}
