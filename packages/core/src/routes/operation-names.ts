import type { OperationMethod } from '../view/setup/declared-route.ts';

/** The facts about an operation or action that determine its names. */
export interface NamedOperation {
  readonly action: string;
  readonly variant?: string | undefined;
  /** The first words of its summary, if they are not those of its verb. */
  readonly words?: string | undefined;
  readonly method: OperationMethod;
  readonly detail: boolean;
  /** `products`, `staff-members`. */
  readonly basename: string;
  /** True if the basename is the name of one record. */
  readonly isSingleton: boolean;
  /** The name of the view's entity. It helps to find the singular of the basename. */
  readonly entity: string | undefined;
  /** The parent of a nested view. */
  readonly parent: NamedParent | undefined;
}

interface NamedParent {
  readonly basename: string;
  readonly entity: string;
  readonly outer: NamedParent | undefined;
}

/** The verb of an operation in operationIds, and its words in summaries. Words that end in `a` are about one record. */
const VERBS: Readonly<Record<string, readonly [verb: string, words: string]>> = {
  list: ['list', 'List the'],
  query: ['query', 'Query the'],
  export: ['export', 'Export the'],
  create: ['create', 'Create a'],
  retrieve: ['retrieve', 'Retrieve a'],
  replace: ['replace', 'Replace a'],
  update: ['update', 'Update a'],
  destroy: ['destroy', 'Delete a'],
};

/** `listProducts`, `replaceProduct`, `featuredProducts`, `recountProduct`, `listAuthorBooks`. */
export function operationIdOf(operation: NamedOperation): string {
  const verb = VERBS[verbOf(operation)]?.[0] ?? camelCase(wordsOf(operation.action));
  return verb + pascalCase([...parentsOf(operation).flat(), ...subjectOf(operation), ...formOf(operation)]);
}

/** `List the products`, `Replace a product`, `Featured products`, `Recount product`, `List the books of an author`. */
export function summaryOf(operation: NamedOperation): string {
  const whose = parentsOf(operation).map((parent) => ` of ${withArticle(parent)}`);
  const subject = subjectOf(operation);
  const verb = operation.words ?? VERBS[verbOf(operation)]?.[1] ?? wordsOf(operation.action).join(' ').toLowerCase();
  const words = operation.isSingleton
    ? `the ${phrase(subject)}`
    : isOne(operation)
      ? withArticle(subject)
      : `several ${phrase(subject)}`;
  const sentence = verb.endsWith(' a') ? verb.slice(0, -1) + words : `${verb} ${phrase(subject)}`;
  const form = formOf(operation).map((name) => ` as ${name.toUpperCase()}`);
  return sentence.charAt(0).toUpperCase() + sentence.slice(1) + [...whose.toReversed(), ...form].join('');
}

/** The format of an exported list, as words. */
function formOf({ action, variant }: NamedOperation): string[] {
  return action === 'list' && variant !== undefined ? [variant] : [];
}

function phrase(words: readonly string[]): string {
  return words.join(' ').toLowerCase();
}

/** Adds the article that fits the sound of the words: `an issue`, `a user`, `an upload`. */
function withArticle(words: readonly string[]): string {
  const isVowel = /^[aeiou](?!(?<=u)(?:[^aeiou][aeiou]|rl\b))/i.test(words[0] ?? '');
  return `${isVowel ? 'an' : 'a'} ${phrase(words)}`;
}

/**
 * The words for the parents of a nested view, the outermost first. Empty if the view's basename does not contain the
 * parent's.
 */
function parentsOf({ basename, parent }: Pick<NamedOperation, 'basename' | 'parent'>): string[][] {
  if (parent === undefined || !basename.startsWith(`${parent.basename}-`)) return [];
  const { outer, entity } = parent;
  return [
    ...parentsOf({ basename: parent.basename, parent: outer }),
    oneOf(basenameWords(parent.basename, outer), entity),
  ];
}

/** The words of a basename without the words of its parent's basename. */
function basenameWords(basename: string, parent: NamedParent | undefined): string[] {
  const isBelow = parent !== undefined && basename.startsWith(`${parent.basename}-`);
  return wordsOf(isBelow ? basename.slice(parent.basename.length) : basename);
}

function oneOf(words: readonly string[], entity: string | undefined): string[] {
  return [...words.slice(0, -1), singular(words.at(-1) ?? '', wordsOf(entity ?? '').at(-1))];
}

function verbOf({ action, variant, method }: NamedOperation): string {
  if (action === 'list' && variant !== undefined) return 'export';
  if (action === 'list' && method === 'QUERY') return 'query';
  return action === 'update' && method === 'PUT' ? 'replace' : action;
}

/** The words for the subject of an operation: one record, or all. */
function subjectOf(operation: NamedOperation): string[] {
  const words = basenameWords(operation.basename, operation.parent);
  return isOne(operation) && !operation.isSingleton ? oneOf(words, operation.entity) : words;
}

function isOne({ action, variant, detail }: NamedOperation): boolean {
  return detail || (action === 'create' && variant === undefined);
}

/** The singular of a word. The entity's name decides if it matches a candidate: `houses` are records of `House`. */
function singular(plural: string, entity: string | undefined): string {
  const candidates = [plural.replace(/s$/, ''), plural.replace(/es$/, ''), plural.replace(/ies$/, 'y')];
  const known = candidates.find((candidate) => candidate.toLowerCase() === entity?.toLowerCase());
  if (known !== undefined) return known;
  if (/(?:ss|us|is|news|series)$/i.test(plural)) return plural;
  if (/[^aeiou]ies$/i.test(plural)) return candidates[2]!;
  return /(?:s|x|z|ch|sh)es$/i.test(plural) ? candidates[1]! : candidates[0]!;
}

/** Splits a name in any spelling into words: `staff-members`, `mostPopular`, `HTMLPage`, `top_ten`. */
function wordsOf(name: string): string[] {
  return name.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}\p{N}]+/gu) ?? [];
}

function pascalCase(words: readonly string[]): string {
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join('');
}

function camelCase(words: readonly string[]): string {
  const pascal = pascalCase(words);
  return pascal.charAt(0).toLowerCase() + pascal.slice(1);
}
