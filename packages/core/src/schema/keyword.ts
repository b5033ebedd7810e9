import { ImproperlyConfigured } from '../errors/errors.ts';
import { isRecord } from '../support/json.ts';
import type { Validated } from './error-details.ts';
import type { AnySchema, JsonSchema } from './json-schema.ts';
import type { Assertion, Check, SchemaNode } from './reading.ts';

/** A keyword of JSON Schema: its allowed values, and its validation. */
export interface Keyword {
  readonly stage: Stage;
  /** @throws ImproperlyConfigured for a wrong value of the keyword */
  compile(name: string, argument: unknown, context: KeywordContext): Assertion | Check | undefined;
}

/** A stage runs only if the earlier ones pass. For example, a pattern is tested only on a text of the right length. */
export const Stage = { type: 0, size: 1, content: 2, refinement: 3 } as const;
export type Stage = (typeof Stage)[keyof typeof Stage];

/** The schema that contains a keyword, and the compiler for schemas in it. */
export interface KeywordContext {
  readonly schema: JsonSchema;
  readonly place: Validated;
  /** True if absent properties get their defaults. */
  readonly fillsIn: boolean;
  /** True if a schema without further properties rejects them. Otherwise they are dropped. */
  readonly isClosed: boolean;
  /** Compiles a schema of a property or an item. @param fillsIn default: false */
  readonly node: (schema: AnySchema, fillsIn?: boolean) => SchemaNode;
  /** Compiles a schema that a value may fail without being invalid: a member of a union, a condition. */
  readonly choice: (schema: AnySchema) => SchemaNode;
  /** Compiles the target of a `$ref`. */
  readonly referred: (ref: string) => SchemaNode;
}

/**
 * The longest text, in UTF-16 units, that is tested against a format or pattern, unless the schema declares a maximum
 * length.
 */
export const MAX_CHECKED_LENGTH = 4_096;

/** The allowed values of a keyword, and their description. */
export interface Values<Argument> {
  readonly name: string;
  readonly has: (value: unknown) => value is Argument;
}

export function values<Argument>(name: string, has: (value: unknown) => boolean): Values<Argument> {
  return { name, has: has as Values<Argument>['has'] };
}

export const ANYTHING = values<unknown>('anything', () => true);
export const NUMBERS = values<number>('a number', Number.isFinite);
export const COUNTS = values<number>('a whole number from 0 on', (it) => Number.isSafeInteger(it) && Number(it) >= 0);
export const TEXTS = values<string>('a text', isText);
export const FLAGS = values<boolean>('true or false', (it) => typeof it === 'boolean');
export const JSON_VALUES = values<unknown>('JSON', isJson);
export const PATTERNS = values<string | RegExp>('a regular expression', isPattern);
export const NAMES = values<readonly string[]>('an array of names', isListOf(isText));
export const SCHEMAS = values<AnySchema>('a schema', isSchema);
export const LISTS_OF_SCHEMAS = values<readonly AnySchema[]>('an array of schemas', isListOf(isSchema));
export const NAMED_SCHEMAS = values<Record<string, AnySchema>>('an object of schemas', isRecordOf(isSchema));

/** Describes a keyword. @param compile makes its validation. Omit it for a keyword without its own validation */
export function keyword<Argument>(
  { name: expected, has }: Values<Argument>,
  stage: Stage,
  compile?: (argument: Argument, context: KeywordContext) => Assertion | Check | undefined,
): Keyword {
  return {
    stage,
    compile: (name, given, context) => {
      const argument = typeof given === 'bigint' ? Number(given) : given;
      if (has(argument)) return compile?.(argument, context);
      const received = isJson(argument) ? JSON.stringify(argument) : String(argument);
      throw new ImproperlyConfigured(`${name} must be ${expected}, not ${received}`);
    },
  };
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isSchema(value: unknown): boolean {
  return isRecord(value) || typeof value === 'boolean';
}

export function isListOf(isItem: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => Array.isArray(value) && value.every(isItem);
}

export function isRecordOf(isPart: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => isRecord(value) && Object.values(value).every(isPart);
}

export function isPattern(value: unknown): boolean {
  try {
    return value instanceof RegExp || (isText(value) && new RegExp(value, 'u') instanceof RegExp);
  } catch {
    return false;
  }
}

/**
 * Reports whether a value can be JSON. A request cannot contain undefined, a bigint, a function, or a value that
 * contains itself.
 */
export function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
