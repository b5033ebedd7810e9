import { parseSync } from 'oxc-parser';
import { isEquivalent } from './equivalents.ts';

/** One change of one name or literal of a file. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly was: string;
  readonly is: string;
  readonly start: number;
  readonly end: number;
  /** True if it changes words for people alone. */
  readonly isEquivalent: boolean;
  /** True if it changes names that the file exports to the rest of the program. */
  readonly isGlobal: boolean;
}

/** A node of the syntax tree, as far as it is looked at. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** Makes the mutants of a file: each name misspelt, each text misspelt, each number and boolean a text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const mutants = new Map<number, Mutant>();
  visit(parseSync(file, text).program as unknown as SyntaxNode, [], (node, ancestors) => {
    const change = changeOf(node, ancestors, text);
    if (change === undefined || mutants.has(change.start)) return;
    const was = text.slice(change.start, change.end);
    const line = text.slice(0, change.start).split('\n').length;
    const isGlobal = ancestors.some(({ type }) => type === 'TSModuleDeclaration');
    mutants.set(change.start, {
      file,
      line,
      was,
      ...change,
      isEquivalent: isEquivalent(node, ancestors),
      isGlobal,
    });
  });
  return [...mutants.values()];
}

type Change = Pick<Mutant, 'start' | 'end' | 'is'>;

function changeOf(node: SyntaxNode, ancestors: readonly SyntaxNode[], text: string): Change | undefined {
  const { type, start, end, value } = node;
  if (type === 'Identifier' || type === 'PrivateIdentifier') {
    const name = node['name'] as string;
    const from = type === 'PrivateIdentifier' ? start + 1 : start;
    return { start: from, end: from + name.length, is: misspelt(name) };
  }
  if (type !== 'Literal' || /^(?:Import|Export)/.test(ancestors.at(-1)?.type ?? '')) return undefined;
  if (typeof value === 'string') {
    return { start: start + 1, end: end - 1, is: misspelt(text.slice(start + 1, end - 1)) };
  }
  return typeof value === 'number' || typeof value === 'boolean' ? { start, end, is: `'${value}'` } : undefined;
}

/** Swaps two letters in the middle, as fingers do; a text without two that differ has one more. */
export function misspelt(name: string): string {
  const middle = Math.max(0, Math.floor(name.length / 2) - 1);
  for (let distance = 0; distance < name.length; distance++) {
    for (const place of [middle + distance, middle - distance]) {
      const [one = '', other = ''] = [name[place], name[place + 1]];
      if (one === other || !/^[a-z]$/i.test(one) || !/^[a-z]$/i.test(other)) continue;
      return name.slice(0, place) + other + one + name.slice(place + 2);
    }
  }
  return `${name}x`;
}

function visit(
  node: SyntaxNode,
  ancestors: readonly SyntaxNode[],
  see: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void,
): void {
  see(node, ancestors);
  const within = [...ancestors, node];
  for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, within, see);
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}
