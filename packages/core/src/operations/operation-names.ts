import type { OperationMethod } from './operation-plan.ts';

/** An operation or an action of a view, which is given a name. */
export interface NamedOperation {
  readonly action: string;
  readonly method: OperationMethod;
  readonly detail: boolean;
  /** `products`, `staff-members`. */
  readonly basename: string;
  /** The name of the view's entity, which tells the singular of the basename. */
  readonly entity: string | undefined;
}

/** The verbs of the five operations in an operationId, and if they speak of all records. */
const VERBS: Readonly<Record<string, readonly [verb: string, words: string]>> = {
  list: ['list', 'List the'],
  create: ['create', 'Create a'],
  retrieve: ['retrieve', 'Retrieve a'],
  replace: ['replace', 'Replace a'],
  update: ['update', 'Update a'],
  destroy: ['destroy', 'Delete a'],
};

/** `listProducts`, `replaceProduct`, `featuredProducts`, `recountProduct`. */
export function operationIdOf(operation: NamedOperation): string {
  const verb = VERBS[verbOf(operation)]?.[0] ?? camelCase(wordsOf(operation.action));
  return verb + pascalCase(subjectOf(operation));
}

/** `List the products`, `Replace a product`, `Featured products`, `Recount product`. */
export function summaryOf(operation: NamedOperation): string {
  const subject = subjectOf(operation).join(' ').toLowerCase();
  const words = VERBS[verbOf(operation)]?.[1];
  const article = words?.endsWith(' a') === true && /^[aeiou]/.test(subject) ? 'n' : '';
  if (words !== undefined) return `${words}${article} ${subject}`;
  const name = wordsOf(operation.action).join(' ').toLowerCase();
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} ${subject}`;
}

function verbOf({ action, method }: NamedOperation): string {
  return action === 'update' && method === 'PUT' ? 'replace' : action;
}

/** The words for the records that an operation is about: one of them, or all. */
function subjectOf({ action, detail, basename, entity }: NamedOperation): string[] {
  const words = wordsOf(basename);
  const isOne = detail || action === 'create';
  return isOne ? [...words.slice(0, -1), singular(words.at(-1) ?? '', wordsOf(entity ?? '').at(-1))] : words;
}

/** The word for one of many. The entity's name decides if it is one of the candidates: `houses` are of a `House`. */
function singular(plural: string, entity: string | undefined): string {
  const candidates = [plural.replace(/s$/, ''), plural.replace(/es$/, ''), plural.replace(/ies$/, 'y')];
  const known = candidates.find((candidate) => candidate.toLowerCase() === entity?.toLowerCase());
  if (known !== undefined) return known;
  if (/(?:ss|us|is|news|series)$/i.test(plural)) return plural;
  if (/[^aeiou]ies$/i.test(plural)) return candidates[2]!;
  return /(?:s|x|z|ch|sh)es$/i.test(plural) ? candidates[1]! : candidates[0]!;
}

/** The words of a name in any spelling: `staff-members`, `mostPopular`, `HTMLPage`, `top_ten`. */
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
