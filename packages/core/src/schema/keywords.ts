import { requireSync, isYes } from '../support/awaitable.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { getOrMake } from '../support/get-or-make.ts';
import { isOmitted, isRecord } from '../support/json.ts';
import * as combinations from './combinations.ts';
import { type Validated, characters, counted, multipleMessage, mustBe, mustBeOneOf, written } from './error-details.ts';
import { multiplesOf } from '../support/exact-number.ts';
import { UNBOUNDED_FORMATS, formatCheck, formatMessage, isLongerThan, responseFormatCheck } from './formats.ts';
import { type AnySchema, namedTypes, namedValues } from './json-schema.ts';
import * as are from './keyword.ts';
import { type Keyword, type KeywordContext, MAX_CHECKED_LENGTH, Stage, isText, keyword, values } from './keyword.ts';
import * as parts from './parts.ts';
import type { Assertion, Check } from './reading.ts';
import { copyOf } from './scan-input.ts';

/** Makes an assertion with the same message for every value that fails. */
function assertion(holds: (value: unknown) => boolean, message: string, literals?: readonly unknown[]): Assertion {
  return { holds, fault: { path: '', message, ...(literals && { literals }) } };
}

/** Reports whether a value is a number. A response may have a bigint, which compares like one. */
function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Makes a keyword that limits numbers. */
function bound(sign: string, within: (limit: number) => (value: unknown) => boolean): Keyword {
  return keyword(are.NUMBERS, Stage.size, (limit) => assertion(within(limit), `must be ${sign} ${limit}`));
}

/** Makes a keyword that limits the length of texts, or the number of items or properties. */
function size(within: (limit: number) => (value: unknown) => boolean, message: (limit: number) => string): Keyword {
  return keyword(are.COUNTS, Stage.size, (limit) => assertion(within(limit), message(limit)));
}

const OF_TYPE: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map<unknown, (value: unknown) => boolean>([
  ['array', Array.isArray],
  ['boolean', (value) => typeof value === 'boolean'],
  ['integer', Number.isInteger],
  ['null', (value) => value === null],
  ['number', Number.isFinite],
  ['object', isRecord],
  ['string', isText],
]);

/** The types that a response also allows for a bigint, which is sent as a number with all its digits. */
const OF_RESPONSE: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['integer', (value: unknown) => Number.isInteger(value) || typeof value === 'bigint'],
  ['number', (value: unknown) => Number.isFinite(value) || typeof value === 'bigint'],
]);

/** The shared type assertions of schemas without literals. */
const TYPE_ASSERTIONS = new Map<string, Assertion>();

function typeAssertion({ schema, place }: KeywordContext): Assertion {
  const types = namedTypes(schema);
  const literals = namedValues(schema);
  if (literals !== undefined) return typesAssertion(types, place, literals);
  return getOrMake(TYPE_ASSERTIONS, `${place} ${types.join()}`, () => typesAssertion([...types], place));
}

function typesAssertion(types: readonly string[], place: Validated, literals?: readonly unknown[]): Assertion {
  const checks = types.map((type) =>
    place === 'response' ? (OF_RESPONSE.get(type) ?? OF_TYPE.get(type)!) : OF_TYPE.get(type)!,
  );
  const fault = { path: '', message: mustBe(types), types, ...(literals && { literals: copyOf(literals) }) };
  return {
    holds: checks.length === 1 ? checks[0]! : (value) => checks.some((check) => check(value)),
    fault: (value) => {
      if ((place === 'query' || place === 'params') && Array.isArray(value)) {
        return { ...fault, message: 'must be given only once' };
      }
      return value === null && types.length === 1 ? { ...fault, message: 'must not be null' } : fault;
    },
  };
}

function literalAssertion(given: readonly unknown[], message: string): Assertion {
  const literals = copyOf(given);
  const [known, texts] = [new Set(literals), new Set(literals.map(canonicalText))];
  const holds = (value: unknown): boolean =>
    known.has(value) || (typeof value === 'object' && texts.has(canonicalText(value)));
  return assertion(holds, message, literals);
}

/** Writes JSON with the names of each object sorted. */
function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  // A bigint replaces a whole number that JavaScript would round. The scan of the document reports it.
  if (typeof value === 'bigint') return String(value);
  if (!isRecord(value)) return JSON.stringify(value);
  const names = Object.keys(value)
    .filter((name) => !isOmitted(value[name]))
    .toSorted();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`).join()}}`;
}

/** Makes an assertion that may be slow. It tests only texts of limited length. */
function contentAssertion({ schema }: KeywordContext, holds: (value: unknown) => boolean, message: string): Assertion {
  const isBounded = schema['maxLength'] !== undefined || UNBOUNDED_FORMATS.has(schema['format'] as string);
  if (isBounded) return assertion(holds, message);
  const tooLong = `must be at most ${MAX_CHECKED_LENGTH} characters`;
  return {
    holds: (value) => !isTooLong(value) && holds(value),
    fault: (value) => ({ path: '', message: isTooLong(value) ? tooLong : message }),
  };
}

function isTooLong(value: unknown): boolean {
  return isText(value) && value.length > MAX_CHECKED_LENGTH;
}

/** A check that Type.Refine adds to a schema. */
interface Refinement {
  readonly check: (value: unknown) => unknown;
  readonly error?: ((value: unknown) => unknown) | string;
}

function refinementsCheck(refinements: readonly Refinement[]): Check {
  const all = [...refinements];
  return (value, reading) => {
    for (const { check, error } of all) {
      if (isYes(requireSync(check(value), () => 'The check of a Type.Refine()'))) continue;
      const words: unknown =
        typeof error === 'function' ? requireSync(error(value), () => 'The words of a Type.Refine()') : error;
      reading.faults.push({ path: '', message: typeof words === 'string' ? words : 'is not valid' });
    }
    return value;
  };
}

/** Keywords that do not restrict values. */
const ANNOTATIONS =
  '$anchor $comment $defs $dynamicAnchor $id $schema $vocabulary contentEncoding contentMediaType contentSchema definitions deprecated description discriminator example' +
  ' examples externalDocs nullable readOnly title writeOnly xml';

/** All keywords that a schema may have. A keyword without validation is an annotation, or another keyword reads it. */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ...Object.entries<Keyword>({
    type: keyword(
      values('a JSON type, or several', (types) => [types].flat().every((type) => OF_TYPE.has(type))),
      Stage.type,
      (_types, context) => typeAssertion(context),
    ),
    const: keyword(are.JSON_VALUES, Stage.size, (value) => literalAssertion([value], `must be ${written(value)}`)),
    enum: keyword(
      values<unknown[]>('an array of JSON values', (all) => Array.isArray(all) && all.length > 0 && are.isJson(all)),
      Stage.size,
      (all) => literalAssertion(all, mustBeOneOf(all)),
    ),

    minimum: bound('>=', (limit) => (value) => !isNumber(value) || value >= limit),
    maximum: bound('<=', (limit) => (value) => !isNumber(value) || value <= limit),
    exclusiveMinimum: bound('>', (limit) => (value) => !isNumber(value) || value > limit),
    exclusiveMaximum: bound('<', (limit) => (value) => !isNumber(value) || value < limit),
    multipleOf: keyword(
      values<number>('greater than 0', (step) => are.NUMBERS.has(step) && step > 0),
      Stage.content,
      (step) => {
        const isMultiple = multiplesOf(step);
        return assertion((value) => typeof value !== 'number' || isMultiple(value), multipleMessage(step));
      },
    ),

    minLength: size(
      (limit) => (value) => !isText(value) || isLongerThan(value, limit - 1),
      (limit) => (limit === 1 ? 'must not be empty' : `must be at least ${limit} characters`),
    ),
    maxLength: size(
      (limit) => (value) => !isText(value) || !isLongerThan(value, limit),
      (limit) => `must be at most ${characters(limit)}`,
    ),
    pattern: keyword(are.PATTERNS, Stage.content, (pattern, context) => {
      const source = typeof pattern === 'string' ? pattern : pattern.source;
      const regexp = new RegExp(source, 'u');
      const holds = (value: unknown): boolean => !isText(value) || regexp.test(value);
      return contentAssertion(context, holds, `must match pattern "${source}"`);
    }),
    format: keyword(are.TEXTS, Stage.content, (name, context) => {
      const holds = context.place === 'response' ? responseFormatCheck(name) : formatCheck(name);
      if (holds === undefined && context.place === 'response') return undefined;
      if (holds === undefined) throw new ImproperlyConfigured(`unknown format "${name}"`);
      return contentAssertion(context, holds, formatMessage(name));
    }),

    items: keyword(
      values<AnySchema | AnySchema[]>('a schema, or an array of schemas', (all) => [all].flat().every(are.isSchema)),
      Stage.content,
      parts.itemsCheck,
    ),
    additionalItems: keyword(are.SCHEMAS, Stage.type),
    prefixItems: keyword(are.LISTS_OF_SCHEMAS, Stage.content, (first, context) =>
      context.schema.items === undefined ? parts.itemsCheck(first, context) : undefined,
    ),
    minItems: size(
      (limit) => (value) => !Array.isArray(value) || value.length >= limit,
      (limit) => `must have at least ${counted(limit, 'item')}`,
    ),
    maxItems: size(
      (limit) => (value) => !Array.isArray(value) || value.length <= limit,
      (limit) => `must have at most ${counted(limit, 'item')}`,
    ),
    uniqueItems: keyword(are.FLAGS, Stage.content, (isUnique) => {
      const holds = (value: unknown): boolean =>
        !isUnique || !Array.isArray(value) || new Set(value.map(canonicalText)).size === value.length;
      return assertion(holds, 'must not have the same item twice');
    }),
    contains: keyword(are.SCHEMAS, Stage.content, parts.containsCheck),
    minContains: keyword(are.COUNTS, Stage.type),
    maxContains: keyword(are.COUNTS, Stage.type),

    properties: keyword(are.NAMED_SCHEMAS, Stage.size, parts.propertiesCheck),
    required: keyword(are.NAMES, Stage.size, parts.requiredCheck),
    minProperties: size(
      (limit) => (value) => !isRecord(value) || Object.keys(value).length >= limit,
      (limit) => `must NOT have fewer than ${limit} properties`,
    ),
    maxProperties: size(
      (limit) => (value) => !isRecord(value) || Object.keys(value).length <= limit,
      (limit) => `must NOT have more than ${limit} properties`,
    ),
    patternProperties: keyword(are.NAMED_SCHEMAS, Stage.content, parts.matchingPropertiesCheck),
    additionalProperties: keyword(are.SCHEMAS, Stage.content, parts.otherPropertiesCheck),
    unevaluatedProperties: keyword(are.FLAGS, Stage.type),
    propertyNames: keyword(are.SCHEMAS, Stage.content, parts.propertyNamesCheck),
    dependentRequired: keyword(
      values<Record<string, string[]>>('an object of arrays of names', are.isRecordOf(are.NAMES.has)),
      Stage.content,
      (needed, context) => {
        const schemas = Object.entries(needed).map(([name, required]) => [name, { required }] as const);
        return combinations.dependentSchemasCheck(Object.fromEntries(schemas), context);
      },
    ),
    dependentSchemas: keyword(are.NAMED_SCHEMAS, Stage.content, combinations.dependentSchemasCheck),

    allOf: keyword(are.LISTS_OF_SCHEMAS, Stage.size, combinations.allOfCheck),
    anyOf: keyword(are.LISTS_OF_SCHEMAS, Stage.content, combinations.unionCheck(false)),
    oneOf: keyword(are.LISTS_OF_SCHEMAS, Stage.content, combinations.unionCheck(true)),
    not: keyword(are.SCHEMAS, Stage.content, combinations.notCheck),
    if: keyword(are.SCHEMAS, Stage.content, combinations.conditionCheck),
    $ref: keyword(are.TEXTS, Stage.content, combinations.referenceCheck),

    '~refine': keyword(values<Refinement[]>('refinements', Array.isArray), Stage.refinement, refinementsCheck),
    '~codec': keyword(are.ANYTHING, Stage.type, (_codec, { place }) => {
      if (place === 'response') return undefined;
      throw new ImproperlyConfigured(
        'Type.Codec, Type.Decode and Type.Encode do not work in a shape: convert in a hook of the view',
      );
    }),

    default: keyword(are.JSON_VALUES, Stage.type),
  }),
  ['then', keyword(are.SCHEMAS, Stage.type)],
  ['else', keyword(are.SCHEMAS, Stage.type)],
  ...ANNOTATIONS.split(' ').map((name) => [name, keyword(are.ANYTHING, Stage.type)] as const),
]);
