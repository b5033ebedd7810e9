import { ImproperlyConfigured } from './errors.ts';
import { isPlainRecord, isRecord } from '../support/json.ts';
import { nearest } from './nearest.ts';

/**
 * Throws for unknown options, so that a misspelt one is never silently ignored.
 *
 * @example
 * checkOptionNames('Router', { prefx: 'api' }, ['prefix']);
 * // ImproperlyConfigured: Router: unknown option "prefx"; did you mean "prefix"? Known options: prefix
 */
export function checkOptionNames(owner: string, given: object, known: readonly string[]): void {
  requireOptions(owner, given);
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    if (known.length === 0) throw new ImproperlyConfigured(`${owner}: unknown option "${name}"; it has no options`);
    const meant = nearest(name, known);
    const hint = meant === undefined ? '.' : `; did you mean "${meant}"?`;
    throw new ImproperlyConfigured(`${owner}: unknown option "${name}"${hint} Known options: ${known.join(', ')}`);
  }
}

/** @throws ImproperlyConfigured for options that are no object */
export function requireOptions(owner: string, given: unknown): void {
  if (isRecord(given)) return;
  throw new ImproperlyConfigured(`${owner}: the options must be an object, got ${describe(given)}`);
}

/**
 * Runs a step of the startup. If it fails, puts the owner in front of the error's message.
 *
 * @param separator the text between the owner and the message; a space if both form one sentence
 * @example
 * prefixErrors('BookViewSet.rate', () => compileValidator(Type.Unsafe({ minLenght: 1 }), 'body'));
 * // ImproperlyConfigured: BookViewSet.rate: The body schema cannot be compiled: …
 */
export function prefixErrors<Result>(owner: string, step: () => Result, separator = ': '): Result {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof ImproperlyConfigured)) throw error;
    throw new ImproperlyConfigured(owner + separator + error.message, { cause: error });
  }
}

/** The expected values of an option in words, the test of a value, and for a list the rule of its items. */
export type OptionRule = readonly [expected: string, fits: (value: unknown) => boolean, items?: OptionRule];

/**
 * Rejects a value that is not an object of options, unknown names, and values that do not fit. An undefined option
 * counts as left out; null is a value.
 */
export function checkOptions<Name extends string>(
  owner: string,
  given: { readonly [Option in Name]?: unknown },
  rules: Readonly<Record<Name, OptionRule>>,
): void {
  checkOptionNames(owner, given, Object.keys(rules));
  checkValues(owner, given, rules);
}

/** Checks the values of an object that may contain more than options. */
export function checkValues<Name extends string>(
  owner: string,
  given: { readonly [Option in NoInfer<Name>]?: unknown },
  rules: Readonly<Record<Name, OptionRule>>,
): void {
  for (const [name, [expected, fits, items]] of Object.entries<OptionRule>(rules)) {
    const value = given[name as Name];
    if (value === undefined) continue;
    if (!fits(value)) throw wrongOption(owner, name, expected, value);
    if (items === undefined || !Array.isArray(value)) continue;
    const wrong = value.findIndex((item) => !items[1](item));
    if (wrong !== -1) throw wrongOption(owner, `${name}[${wrong}]`, items[0], value[wrong]);
  }
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
export const isListOf = (value: unknown, isOne: (item: unknown) => boolean): value is unknown[] =>
  Array.isArray(value) && value.every(isOne);

/** Not a Map, whose entries are not properties. */
export const NAMES: OptionRule = ['an object of names', isPlainRecord];
/** The rule of an option that is checked elsewhere. */
export const ANYTHING: OptionRule = ['anything', () => true];
export const BOOLEAN: OptionRule = ['true or false', (value) => typeof value === 'boolean'];
export const FUNCTION: OptionRule = ['a function', (value) => typeof value === 'function'];
export const TEXT: OptionRule = ['a non-empty string', isText];
export const LIST: OptionRule = ['a list', Array.isArray];
export const POSITIVE: OptionRule = [
  'a whole number above 0',
  (value) => Number.isSafeInteger(value) && (value as number) > 0,
];
export const TEXTS: OptionRule = ['a list of texts', (value) => isListOf(value, isText)];
export const TEXTS_BY_NAME: OptionRule = [
  'texts by name',
  (value) => isPlainRecord(value) && Object.values(value).every(isText),
];
export const STORE: OptionRule = ['a Store', (value) => typeof (value as { hit?: unknown } | null)?.hit === 'function'];

/** Makes the error for a wrong value of an option. It names the option, what was expected and what was received. */
export function wrongOption(owner: string, name: string, expected: string, received: unknown): ImproperlyConfigured {
  return new ImproperlyConfigured(`${owner}: option "${name}" must be ${expected}, got ${describe(received)}`);
}

/** Describes a value in a message for programmers. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `the function ${value.name || '(anonymous)'}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `an object of ${value.constructor?.name ?? 'no class'}`;
  return String(value);
}
