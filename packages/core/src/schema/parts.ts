import { ImproperlyConfigured } from '../errors/errors.ts';
import { isOmitted, isRecord, pointerStep } from '../support/json.ts';
import { type AnySchema, namedTypes } from './json-schema.ts';
import { type KeywordContext, MAX_CHECKED_LENGTH, isPattern } from './keyword.ts';
import { prefixErrors } from '../errors/options.ts';
import { type Fault, type Check, Reading, type SchemaNode, unite } from './reading.ts';
import { copyOf, isUnsafeName } from './scan-input.ts';

/** Validates declared properties. Required ones must be present; absent ones get their defaults. */
export function propertiesCheck(properties: Readonly<Record<string, AnySchema>>, context: KeywordContext): Check {
  const { schema, fillsIn, node, place } = context;
  const isGiven = presenceIn(place);
  const rules = Object.entries(properties).map(([name, child]) => {
    if (isUnsafeName(name)) {
      throw new ImproperlyConfigured(
        `A schema may not declare a property named "${name}": it is dropped from every request`,
      );
    }
    const owner = `property "${name}"`;
    const compiled = prefixErrors(owner, () => node(child, fillsIn));
    const given = fillsIn && typeof child === 'object' ? copyOf(child['default']) : undefined;
    if (given !== undefined) checkDefault(owner, compiled, given);
    return { name, node: compiled, given, isRequired: schema.required?.includes(name) ?? false };
  });
  return (value, reading) => {
    if (!isRecord(value)) return value;
    const known: Record<string, unknown> = {};
    for (const { name, node: child, given, isRequired } of rules) {
      if (isGiven(value, name)) known[name] = reading.part(child, name, value[name]);
      else if (given !== undefined) known[name] = reading.attempt(child, copyOf(given)).known;
      else if (isRequired) reading.faults.push(missing(name));
    }
    return known;
  };
}

/** @throws ImproperlyConfigured for a default that the schema rejects, because it is filled in without validation */
function checkDefault(owner: string, node: SchemaNode, given: unknown): void {
  // In the form of documents, in which a Date is a text, and a bigint a number.
  const json = JSON.stringify(given, (_name, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
  const [fault] = new Reading(1).attempt(node, JSON.parse(json)).faults;
  if (fault === undefined) return;
  const place = fault.path === '' ? '' : ` at ${fault.path}`;
  throw new ImproperlyConfigured(`${owner}: the default ${json} ${fault.message}${place}`);
}

/** Validates required names that are not declared properties. The properties validate their own names. */
export function requiredCheck(names: readonly string[], { schema, place }: KeywordContext): Check | undefined {
  const { properties } = schema;
  const isGiven = presenceIn(place);
  const others = names.filter((name) => properties === undefined || !Object.hasOwn(properties, name));
  if (others.length === 0) return undefined;
  if (properties !== undefined && namedTypes(schema).includes('object') && place !== 'response') {
    throw new ImproperlyConfigured(`required names "${others[0]}", which is none of the properties`);
  }
  return (value, reading) => {
    if (isRecord(value)) reading.faults.push(...others.filter((name) => !isGiven(value, name)).map(missing));
    return value;
  };
}

/**
 * Returns the test whether an object has a property. The object of a response may be an instance of a class, with
 * getters, methods and undefined values.
 */
function presenceIn(place: KeywordContext['place']): (object: Record<string, unknown>, name: string) => boolean {
  if (place !== 'response') return Object.hasOwn;
  return (object, name) => !isOmitted(object[name]);
}

function missing(name: string): Fault {
  return { path: pointerStep(name), message: 'is required' };
}

/** Validates `patternProperties`: each property by the schemas of the patterns that match its name. */
export function matchingPropertiesCheck(
  patterns: Readonly<Record<string, AnySchema>>,
  { node }: KeywordContext,
): Check {
  const wrong = Object.keys(patterns).find((pattern) => !isPattern(pattern));
  if (wrong !== undefined) throw new ImproperlyConfigured(`"${wrong}" of patternProperties is no regular expression`);
  const matching = Object.entries(patterns).map(([pattern, child]) => [new RegExp(pattern, 'u'), node(child)] as const);
  return namedPartsCheck((name) => {
    const nodes = matching.filter(([pattern]) => pattern.test(name)).map(([, child]) => child);
    return nodes.length === 0 ? undefined : nodes;
  });
}

/** Validates `additionalProperties`: each property that no other keyword covers. */
export function otherPropertiesCheck(rest: AnySchema, { schema, node, isClosed }: KeywordContext): Check | undefined {
  // An object keeps only the properties that its schema names. Unknown ones are dropped, unless they decide which
  // member of a union fits.
  if (rest === false && !isClosed) return undefined;
  const named = new Set(Object.keys(schema.properties ?? {}));
  const patterns = Object.keys(schema.patternProperties ?? {}).map((pattern) => new RegExp(pattern, 'u'));
  const nodes = [node(rest)];
  return namedPartsCheck((name) => (named.has(name) || patterns.some((each) => each.test(name)) ? undefined : nodes));
}

/** Validates each property by the nodes for its name. Undefined for an unknown name. */
function namedPartsCheck(nodesOf: (name: string) => readonly SchemaNode[] | undefined): Check {
  return (value, reading) => {
    if (!hasShortNames(value, reading)) return value;
    const known: Record<string, unknown> = {};
    for (const [name, part] of Object.entries<unknown>(value)) {
      const nodes = isUnsafeName(name) ? undefined : nodesOf(name);
      if (nodes === undefined || isOmitted(part)) continue;
      known[name] = nodes.reduce<unknown>((some, child) => unite(part, some, reading.part(child, name, part)), part);
    }
    return known;
  };
}

/** Validates `propertyNames`. Reports only the first wrong name. */
export function propertyNamesCheck(names: AnySchema, { node }: KeywordContext): Check {
  const check = node(names);
  return (value, reading) => {
    if (!hasShortNames(value, reading)) return value;
    for (const name of Object.keys(value)) {
      const [fault] = reading.attempt(check, name).faults;
      if (fault === undefined) continue;
      reading.faults.push({ path: '', message: `the name of a property ${fault.message}` });
      break;
    }
    return value;
  };
}

/** Reports whether a value is an object with names that are short enough for patterns. Adds a fault for long names. */
function hasShortNames(value: unknown, reading: Reading): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  if (Object.keys(value).every((name) => name.length <= MAX_CHECKED_LENGTH)) return true;
  const message = `the name of a property must be at most ${MAX_CHECKED_LENGTH} characters`;
  reading.faults.push({ path: '', message });
  return false;
}

/** Validates `items`. A list of schemas, or draft 2020's `prefixItems`, applies to the first items. */
export function itemsCheck(items: AnySchema | readonly AnySchema[], { schema, fillsIn, node }: KeywordContext): Check {
  const isTuple = Array.isArray(items);
  const prefix = (isTuple ? items : (schema['prefixItems'] ?? [])) as readonly AnySchema[];
  const first = prefix.map((item) => node(item));
  const others = isTuple ? (schema.additionalItems ?? true) : (items as AnySchema);
  const rest = node(others, fillsIn && !isTuple);
  return (value, reading) => {
    if (!Array.isArray(value)) return value;
    // Unlike map(), this reads the holes of an array, which a response may have.
    return Array.from(value as unknown[], (item, index) => reading.part(first[index] ?? rest, index, item));
  };
}

/** Validates `contains`: a number of items must match a schema. */
export function containsCheck(item: AnySchema, { schema, choice }: KeywordContext): Check {
  const check = choice(item);
  const { minContains: least = 1, maxContains: most = Infinity } = schema as Readonly<Record<string, number>>;
  const upTo = most === Infinity ? '' : ` and no more than ${most}`;
  const fault = { path: '', message: `must contain at least ${least}${upTo} valid item(s)` };
  return (value, reading) => {
    if (!Array.isArray(value)) return value;
    const found = value.filter((each) => reading.attempt(check, each).faults.length === 0).length;
    if (found < least || found > most) reading.faults.push(fault);
    return value as unknown;
  };
}
