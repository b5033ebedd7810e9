import { isRecord } from '../support/json.ts';
import { mustBe, mustBeOneOf } from './error-details.ts';
import type { AnySchema } from './json-schema.ts';
import { type KeywordContext, isText } from './keyword.ts';
import { type Fault, type Check, type Verdict, unite } from './reading.ts';

/** Validates `allOf`. */
export function allOfCheck(parts: readonly AnySchema[], { fillsIn, node }: KeywordContext): Check {
  const nodes = parts.map((part) => node(part, fillsIn));
  return (value, reading) =>
    nodes.reduce<unknown>((known, each) => unite(value, known, each.read(value, reading)), value);
}

/** Validates a `$ref`. */
export function referenceCheck(ref: string, { referred }: KeywordContext): Check {
  const node = referred(ref);
  return (value, reading) => {
    const { known, faults } = reading.referred(node, value);
    reading.faults.push(...faults);
    return known;
  };
}

/** Validates `not`. */
export function notCheck(schema: AnySchema, { choice }: KeywordContext): Check {
  const refused = choice(schema);
  return (value, reading) => {
    if (reading.attempt(refused, value).faults.length === 0) reading.faults.push(NOT_ALLOWED);
    return value;
  };
}

const NOT_ALLOWED = { path: '', message: 'is not allowed' };

/** Validates `if`, `then` and `else`. */
export function conditionCheck(condition: AnySchema, { schema, node, choice }: KeywordContext): Check {
  const tested = choice(condition);
  const consequence = node((schema['then'] ?? true) as AnySchema);
  const alternative = node((schema['else'] ?? true) as AnySchema);
  return (value, reading) => {
    const { known, faults } = reading.attempt(tested, value);
    if (faults.length > 0) return alternative.read(value, reading);
    return unite(value, known, consequence.read(value, reading));
  };
}

/** Validates `dependentSchemas`: schemas that apply if a property is present. */
export function dependentSchemasCheck(schemas: Readonly<Record<string, AnySchema>>, { node }: KeywordContext): Check {
  const dependents = Object.entries(schemas).map(([name, schema]) => [name, node(schema)] as const);
  return (value, reading) => {
    if (!isRecord(value)) return value;
    const present = dependents.filter(([name]) => Object.hasOwn(value, name));
    return present.reduce<unknown>((known, [, each]) => unite(value, known, each.read(value, reading)), value);
  };
}

/**
 * Validates `anyOf` (any member) or `oneOf` (exactly one). If no member fits, reports the faults of the member that was
 * probably meant.
 */
export function unionCheck(isExclusive: boolean) {
  return (members: readonly AnySchema[], { choice }: KeywordContext): Check => {
    const nodes = members.map(choice);
    return (value, reading) => {
      const verdicts = nodes.map((each) => reading.attempt(each, value));
      const fitting = verdicts.filter(({ faults }) => faults.length === 0);
      // If a member has converted a query string's text, `7` to an integer, other members that keep the text do not
      // count.
      const read = fitting.filter(({ known }) => isText(value) && known !== value);
      const valid = read.length > 0 ? read : fitting;
      if (valid.length === 0) {
        reading.faults.push(...faultsOfTheMeant(verdicts));
      } else if (isExclusive && valid.length > 1) {
        reading.faults.push({ path: '', message: 'must match exactly one of the forms allowed' });
      }
      return valid.reduce<unknown>((known, verdict) => unite(value, known, verdict.known), value);
    };
  };
}

const OTHER_TYPE = 10_000;
const OTHER_LITERAL = 100;

function faultsOfTheMeant(verdicts: readonly Verdict[]): readonly Fault[] {
  const attempts = verdicts.map(({ faults }) => ({ faults, distance: distanceOf(faults) }));
  const [best] = attempts.toSorted((a, b) => a.distance - b.distance);
  if (best === undefined) return [NOT_ALLOWED];
  const faults = verdicts.flatMap((verdict) => verdict.faults);
  if (best.distance >= OTHER_TYPE) return [unknownType(faults)];
  return best.distance >= OTHER_LITERAL ? [unknownLiteral(faults)] : best.faults;
}

/**
 * Measures the distance of a value from a member: the number of wrong properties. A wrong literal counts more, because
 * literals distinguish members.
 */
function distanceOf(faults: readonly Fault[]): number {
  if (faults.some(({ path, types, literals }) => path === '' && types !== undefined && literals === undefined)) {
    return OTHER_TYPE;
  }
  const steps = new Set(faults.map(({ path }) => path.split('/')[1]));
  return faults.filter(distinguishes).length * OTHER_LITERAL + steps.size;
}

/** Reports whether a fault is about a literal: the value itself, or one of its properties, such as `kind`. */
function distinguishes({ path, literals }: Fault): boolean {
  return literals !== undefined && path.lastIndexOf('/') <= 0;
}

/** The fault if no member is meant, because the value has none of their types. */
function unknownType(faults: readonly Fault[]): Fault {
  const types = [...new Set(faults.flatMap((fault) => (fault.path === '' ? (fault.types ?? []) : [])))];
  return { path: '', message: mustBe(types), types };
}

/** The fault if no member is meant, because the distinguishing property (`kind`) has none of their literals. */
function unknownLiteral(faults: readonly Fault[]): Fault {
  const path = faults.find(distinguishes)?.path ?? '';
  const literals = faults
    .filter((fault) => fault.path === path)
    .flatMap((fault) => fault.literals ?? (fault.types?.join() === 'null' ? [null] : []));
  return { path, message: mustBeOneOf([...new Set(literals)]), literals };
}
