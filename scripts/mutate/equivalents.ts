import type { SyntaxNode } from './mutants.ts';

/** Options whose values only people read. */
const WORDS = new Set(['description', 'summary', 'title', 'contact', 'license', 'version', 'tags', 'examples']);

/**
 * Returns true if a mutant has the same meaning for every program: a changed word in a description, a log line or an error's message, or
 * the name of a parameter that is never read.
 *
 * The rules: literals under the options of `WORDS`; texts passed to a logger's method or an error; names that begin with an underscore;
 * names of parameters in the type of a function, as in `(line: string) => void`.
 */
export function isEquivalent(node: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  if (node.type === 'Identifier') return nameOf(node).startsWith('_') || isParameterOfType(node, ancestors);
  if (node.type !== 'Literal') return false;
  return ancestors.some((ancestor, index) => {
    if (ancestor.type === 'Property' && ancestor['key'] !== node) return WORDS.has(nameOf(ancestor['key']));
    if (ancestor.type === 'NewExpression') return ancestors[index - 1]?.type === 'ThrowStatement';
    const isArgument = ancestors[index + 1] === undefined;
    return ancestor.type === 'CallExpression' && isArgument && /\blog$/.test(receiverOf(ancestor['callee']));
  });
}

/** Returns true if a name is a parameter in the type of a function or a method. */
function isParameterOfType(node: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  const parent = ancestors.at(-1);
  const parameters: unknown = parent?.['params'];
  return (
    /^TS(?:FunctionType|MethodSignature)$/.test(parent?.type ?? '') &&
    Array.isArray(parameters) &&
    parameters.includes(node)
  );
}

/** Returns `log` of `request.log.info`. */
function receiverOf(callee: unknown): string {
  const { object } = (callee ?? {}) as { object?: unknown };
  return nameOf((object as { property?: unknown } | undefined)?.property ?? object);
}

function nameOf(node: unknown): string {
  return ((node ?? {}) as { name?: string }).name ?? '';
}
