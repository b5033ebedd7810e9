import type { SyntaxNode } from './mutants.ts';

/** Options whose values people read and nothing else. */
const WORDS = new Set(['description', 'summary', 'title', 'contact', 'license', 'version', 'tags', 'examples']);

/**
 * Tells if a mutant means the same to every program: a changed word in a description, a log line or an error's message, or
 * the name of a parameter that nothing reads.
 *
 * The rules: literals under the options of `WORDS`; texts that a logger's method or an error is given; names that begin with an
 * underscore.
 */
export function isEquivalent(node: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  if (node.type === 'Identifier') return nameOf(node).startsWith('_');
  if (node.type !== 'Literal') return false;
  return ancestors.some((ancestor, index) => {
    if (ancestor.type === 'Property' && ancestor['key'] !== node) return WORDS.has(nameOf(ancestor['key']));
    if (ancestor.type === 'NewExpression') return ancestors[index - 1]?.type === 'ThrowStatement';
    const isArgument = ancestors[index + 1] === undefined;
    return ancestor.type === 'CallExpression' && isArgument && /\blog$/.test(receiverOf(ancestor['callee']));
  });
}

/** Returns `log` of `request.log.info`. */
function receiverOf(callee: unknown): string {
  const { object } = (callee ?? {}) as { object?: unknown };
  return nameOf((object as { property?: unknown } | undefined)?.property ?? object);
}

function nameOf(node: unknown): string {
  return ((node ?? {}) as { name?: string }).name ?? '';
}
