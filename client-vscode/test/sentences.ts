// Reads the sources of the extension: the sentences that are translated, and those that are shown untranslated.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const SOURCES = join(import.meta.dirname, "..", "src");
/** Functions of words.ts and ui.ts that translate, each with the places of its sentences among its arguments. */
const TRANSLATE: Readonly<Record<string, readonly number[]>> = { t: [0], plural: [1, 2], phrase: [0] };
/** Attributes and properties that a person reads. */
const READ = /^(aria-label|title|placeholder|label|heading|alt)$/;
const READ_PROPERTY =
  /^(title|placeholder|placeHolder|prompt|tooltip|openLabel|saveLabel|label|ariaLabel|detail|hint|message|button|description)$/;
/** Functions that show their arguments. */
const SHOWN = /^(show(Information|Warning|Error)Message|notify|linkButton|iconButton|notice)$/;
/** The name of an icon, a level or a method, among the arguments of what is shown. */
const NAME = /^[a-z/-]+$/;
/** A word of a person's language, rather than a name, a number or a sign. */
const WORDS = /\p{L}{2,}/u;

interface Found {
  /** The sentences that are translated. */
  sentences: Set<string>;
  /** Where something is shown that is not translated, or translated at import, when the language is not known yet. */
  faults: string[];
}

/** All sentences and faults of the sources. */
export function read(): Found {
  const found: Found = { sentences: new Set(), faults: [] };
  for (const name of readdirSync(SOURCES, { recursive: true, encoding: "utf8" }))
    if (name.endsWith(".ts") && !name.endsWith("words.ts"))
      readModule(name, readFileSync(join(SOURCES, name), "utf8"), found);
  return found;
}

/** Add the sentences and faults of one module. */
export function readModule(name: string, text: string, found: Found): void {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true);
  const fault = (node: ts.Node, why: string): void => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    found.faults.push(`${name}:${line + 1}: ${why}: ${node.getText().slice(0, 80)}`);
  };
  const visit = (node: ts.Node, inFunction: boolean): void => {
    if (ts.isCallExpression(node)) readCall(node, inFunction);
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === "html") readTemplate(node);
    if (ts.isPropertyAssignment(node) && READ_PROPERTY.test(node.name.getText())) untranslated(node.initializer);
    const within = inFunction || ts.isFunctionLike(node) || ts.isPropertyDeclaration(node);
    ts.forEachChild(node, (child) => visit(child, within));
  };
  const readCall = (call: ts.CallExpression, inFunction: boolean): void => {
    const callee = ts.isPropertyAccessExpression(call.expression)
      ? call.expression.name.text
      : call.expression.getText();
    for (const place of ts.isIdentifier(call.expression) ? (TRANSLATE[callee] ?? []) : []) {
      const argument = call.arguments[place];
      if (argument === undefined) continue;
      if (!ts.isStringLiteral(argument)) fault(call, "the sentence must be written out");
      else if (!inFunction) fault(call, "translated at import");
      else found.sentences.add(argument.text);
    }
    if (SHOWN.test(callee)) for (const argument of call.arguments) untranslated(argument);
  };
  /** Report a text that is shown as it is written here: a literal, or one of a choice. */
  const untranslated = (node: ts.Expression): void => {
    if (ts.isConditionalExpression(node)) {
      untranslated(node.whenTrue);
      untranslated(node.whenFalse);
    } else if (ts.isParenthesizedExpression(node)) untranslated(node.expression);
    else if (ts.isStringLiteral(node) && isSentence(node.text) && !NAME.test(node.text)) fault(node, "not translated");
    else if (ts.isTemplateExpression(node)) {
      const texts = [node.head.text, ...node.templateSpans.map((span) => span.literal.text)];
      if (texts.some(isSentence)) fault(node, "not translated");
    }
  };
  const readTemplate = ({ template }: ts.TaggedTemplateExpression): void => {
    const texts = ts.isNoSubstitutionTemplateLiteral(template)
      ? [template.text]
      : [template.head.text, ...template.templateSpans.map((span) => span.literal.text)];
    // A place in the template is a sign that is in no word and no tag.
    const whole = texts.join("\u0001");
    const outside = whole.replaceAll(/<[^<>]*>/g, "\u0001").split("\u0001");
    for (const each of outside) if (isPhrase(each)) fault(template, `not translated: ${each.trim()}`);
    for (const [, attribute = "", value = ""] of whole.matchAll(/\s([\w-]+)="([^"]*)"/g))
      if (READ.test(attribute) && WORDS.test(value.replaceAll("\u0001", "")))
        fault(template, `not translated: ${value}`);
    if (ts.isTemplateExpression(template)) for (const span of template.templateSpans) readPlace(span.expression);
  };
  const readPlace = (expression: ts.Expression): void => {
    if (ts.isConditionalExpression(expression)) {
      readPlace(expression.whenTrue);
      readPlace(expression.whenFalse);
    } else if (ts.isStringLiteral(expression) && / \p{L}|^\p{Lu}\p{Ll}/u.test(expression.text))
      fault(expression, "not translated");
  };
  visit(source, false);
}

/** A text of a place that is only ever shown: any word counts, unless it is a name in code. */
function isSentence(text: string): boolean {
  return WORDS.test(text) && !/^\$\([\w~-]+\)|^[\w.-]*[._][\w.-]*$|^Planloom:? ?$/.test(text.trim());
}

/** A text between tags. */
function isPhrase(text: string): boolean {
  return WORDS.test(text) && !/^\s*(Alt|Ctrl|Shift)\b/.test(text);
}
