import type { TSchema } from 'typebox';
import { atOnce, isYes } from '../awaitable.ts';
import type { JsonSchema } from './json-schema.ts';
import { REFINE } from './plain-schema.ts';
import { checkKeywords } from './schema-keywords.ts';
import {
  type Judge,
  type Member,
  type Rule,
  isRecord,
  isTooLong,
  itemsRule,
  judgesRule,
  partsRule,
  plainRule,
  scalarRules,
  shortNames,
  unionRule,
  uniqueItems,
} from './schema-rules.ts';

/** The schemas inside a schema as judges of their own. */
export interface SchemaJudges {
  /** Judges by a schema that stands in a place of its own. */
  of(schema: JsonSchema): Member;
  /** Judges by a schema that several others may ask of one value; asks it once, however many do. */
  shared(schema: JsonSchema): Member;
  /** Judges by what a `$ref` refers to, likewise. */
  referred(ref: string): Member;
  /** Tells if properties with a default are filled in when they are absent, so that they need not be there. */
  fillsIn(schema: JsonSchema): boolean;
}

/** Keywords that TypeBox judges as this framework has them. */
const TYPEBOX_KEYWORDS = [
  'type',
  'const',
  'enum',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const;

/**
 * Writes a plain schema as one for TypeBox's compiler. The compiler judges types, bounds, lengths, counts, literals and
 * properties; everything else becomes a rule, in the form of a refinement, which the compiler asks last and only of a
 * value that is otherwise right. docs/architecture.md says what each rule is for.
 *
 * @throws ImproperlyConfigured for a schema with something that validation would have to leave out
 */
export function engineSchema(schema: JsonSchema, judges: SchemaJudges): TSchema {
  checkKeywords(schema);
  const written: Record<string, unknown> = {};
  for (const keyword of TYPEBOX_KEYWORDS) if (keyword in schema) written[keyword] = schema[keyword];
  const rules = [...ownNames(schema, judges), ...scalarRules(schema), ...arrayRules(schema, judges)];
  rules.push(...objectRules(schema, judges), ...combiningRules(schema, judges));
  Object.assign(written, objectKeywords(schema, judges));
  if (schema.allOf !== undefined) written['allOf'] = schema.allOf.map((part) => engineSchema(part, judges));
  if (rules.length > 0) written['~refine'] = rules;
  const refinements = schema[REFINE] as readonly Refinement[] | undefined;
  if (refinements === undefined) return written;
  // Refinements count on a value that all rules have let through.
  return { allOf: [written], '~refine': refinements.map(refinementRule) };
}

/** The compiler looks for a property with `in`, which finds these names on every object. */
function isInherited(name: string): boolean {
  return name in Object.prototype;
}

function isRequired(schema: JsonSchema, name: string, judges: SchemaJudges): boolean {
  const isFilledIn = judges.fillsIn(schema) && schema.properties?.[name]?.['default'] !== undefined;
  return (schema.required ?? []).includes(name) && !isFilledIn;
}

function objectKeywords(schema: JsonSchema, judges: SchemaJudges): object {
  const named = Object.entries(schema.properties ?? {}).filter(([name]) => !isInherited(name));
  const required = (schema.required ?? []).filter((name) => !isInherited(name) && isRequired(schema, name, judges));
  return {
    ...(required.length > 0 && { required }),
    ...(named.length > 0 && {
      properties: Object.fromEntries(named.map(([name, child]) => [name, engineSchema(child, judges)])),
    }),
  };
}

function* ownNames(schema: JsonSchema, judges: SchemaJudges): Generator<Rule> {
  for (const name of Object.keys(schema.properties ?? {}).filter(isInherited)) {
    const judge = judges.of(schema.properties![name]!);
    yield partsRule((value) => (isRecord(value) && Object.hasOwn(value, name) ? [[name, value[name], judge]] : []));
    if (isRequired(schema, name, judges)) yield requiredRule(name);
  }
}

function requiredRule(name: string, unless: (value: object) => boolean = () => false): Rule {
  const missing: Judge = { check: () => false, problems: () => [{ path: '', message: 'is required' }] };
  return partsRule((value) =>
    isRecord(value) && !Object.hasOwn(value, name) && !unless(value) ? [[name, undefined, missing]] : [],
  );
}

function* arrayRules(schema: JsonSchema, judges: SchemaJudges): Generator<Rule> {
  const { items, additionalItems, contains, minContains, maxContains, uniqueItems: isUnique } = schema;
  if (Array.isArray(items)) {
    const first = (items as readonly JsonSchema[]).map((item) => judges.of(item));
    const rest = additionalItems === undefined ? undefined : judges.of(additionalItems);
    yield partsRule(function* (value) {
      if (!Array.isArray(value)) return;
      for (const [index, item] of value.entries()) {
        const judge = first[index] ?? rest;
        if (judge !== undefined) yield [index, item, judge];
      }
    });
  } else if (items !== undefined) {
    yield itemsRule(judges.of(items as JsonSchema));
  }
  if (contains !== undefined) {
    const judge = judges.of(contains as JsonSchema);
    const [least, most] = [(minContains ?? 1) as number, (maxContains ?? Infinity) as number];
    const count = (value: readonly unknown[]): number => value.filter((item) => judge.check(item)).length;
    yield plainRule(
      (value) => !Array.isArray(value) || (count(value) >= least && count(value) <= most),
      most === Infinity
        ? `must contain at least ${least} valid item(s)`
        : `must contain at least ${least} and no more than ${most} valid item(s)`,
    );
  }
  if (isUnique === true) yield uniqueItems();
}

function* objectRules(schema: JsonSchema, judges: SchemaJudges): Generator<Rule> {
  const { patternProperties = {}, additionalProperties, properties = {}, propertyNames } = schema;
  const rest = isRecord(additionalProperties) ? judges.of(additionalProperties) : undefined;
  const patterns = Object.entries(patternProperties).map(
    ([pattern, child]) => [new RegExp(pattern, 'u'), judges.of(child)] as const,
  );
  if (patterns.length > 0 || propertyNames !== undefined) yield shortNames();
  if (patterns.length > 0 || rest !== undefined) {
    yield partsRule(function* (value) {
      if (!isRecord(value)) return;
      for (const [name, part] of Object.entries(value)) {
        const matching = isTooLong(name) ? [] : patterns.filter(([pattern]) => pattern.test(name));
        for (const [, judge] of matching) yield [name, part, judge];
        if (rest !== undefined && matching.length === 0 && !Object.hasOwn(properties, name)) yield [name, part, rest];
      }
    });
  }
  if (propertyNames !== undefined) {
    const judge = judges.of(propertyNames as JsonSchema);
    const wrong = (value: object): string | undefined =>
      Object.keys(value).find((name) => !isTooLong(name) && !judge.check(name));
    yield plainRule(
      (value) => !isRecord(value) || wrong(value) === undefined,
      (value) => `the name of a property ${judge.problems(wrong(value as object))[0]?.message ?? 'is not allowed'}`,
    );
  }
  for (const [name, child] of Object.entries(schema.dependentSchemas ?? {})) {
    const judge = judges.shared(child);
    yield judgesRule((value) => (isRecord(value) && Object.hasOwn(value, name) ? [judge] : []));
  }
  for (const [name, needed] of Object.entries((schema['dependentRequired'] ?? {}) as Record<string, string[]>)) {
    for (const other of needed) yield requiredRule(other, (value) => !Object.hasOwn(value, name));
  }
}

function* combiningRules(schema: JsonSchema, judges: SchemaJudges): Generator<Rule> {
  const { $ref, anyOf, oneOf, not, if: condition } = schema;
  if ($ref !== undefined) {
    const judge = judges.referred($ref);
    yield judgesRule(() => [judge]);
  }
  for (const members of [anyOf, oneOf]) {
    if (members === undefined) continue;
    const shared = members.map((member) => judges.shared(member));
    yield unionRule(shared, members === oneOf);
  }
  if (not !== undefined) {
    const judge = judges.shared(not as JsonSchema);
    yield plainRule((value) => !judge.check(value), 'is not allowed');
  }
  if (condition !== undefined) {
    const holds = judges.shared(condition);
    const consequence = judges.shared(schema.then ?? {});
    const alternative = judges.shared(schema.else ?? {});
    yield judgesRule((value) => [holds.check(value) ? consequence : alternative]);
  }
}

/** The form in which Type.Refine adds a check to a schema. */
interface Refinement {
  readonly check: (value: unknown) => boolean;
  readonly error?: ((value: unknown) => string) | string;
}

/** Makes the rule of a refinement, whose words may be made from the value. */
function refinementRule({ check, error }: Refinement): Rule {
  return plainRule(
    (value) => isYes(atOnce(check(value), 'The check of a Type.Refine()')),
    (value) => {
      const message: unknown =
        typeof error === 'function' ? atOnce(error(value), 'The words of a Type.Refine()') : error;
      return typeof message === 'string' ? message : 'is not valid';
    },
  );
}
