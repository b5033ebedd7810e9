import { pointerStep } from '../json-pointer.ts';
import { multipleMessage, mustBe, mustBeOneOf } from './error-details.ts';
import { multiplesOf } from './exact-number.ts';
import { UNBOUNDED_FORMATS, formatMessage, isOfFormat } from './formats.ts';
import { type JsonSchema, namedTypes } from './json-schema.ts';
import { MAX_PROBLEMS, type Problem } from './scan-input.ts';

/** Judges a value by one part of a schema. */
export interface Judge {
  check(value: unknown): boolean;
  /** Says what is wrong with a value that `check` refuses, by pointers that begin at the value. */
  problems(value: unknown): readonly Problem[];
}

/** A requirement that TypeBox does not have or judges otherwise, as a refinement: TypeBox asks it last of a schema. */
export interface Rule extends Judge {
  /** Asked for by TypeBox; the words are those of `problems`. */
  error(): string;
}

/** A text that declares no greatest length is put to no format and no pattern beyond this many UTF-16 units. */
const MAX_JUDGED_LENGTH = 4_096;

/** Makes a rule that says one thing of a value as a whole. */
export function plainRule(check: (value: unknown) => boolean, message: string | ((value: unknown) => string)): Rule {
  const problems = (value: unknown): Problem[] => [
    { path: '', message: typeof message === 'function' ? message(value) : message },
  ];
  return { check, problems, error };
}

/** Makes a rule that puts each of some parts of a value to a judge of its own. */
export function partsRule(
  partsOf: (value: object) => Iterable<readonly [step: string | number, part: unknown, Judge]>,
): Rule {
  return {
    check: (value) => {
      if (typeof value !== 'object' || value === null) return true;
      for (const [, part, judge] of partsOf(value)) if (!judge.check(part)) return false;
      return true;
    },
    problems: (value) => {
      const problems: Problem[] = [];
      for (const [step, part, judge] of partsOf(value as object)) {
        if (problems.length >= MAX_PROBLEMS) break;
        if (!judge.check(part)) problems.push(...within(pointerStep(step), judge.problems(part)));
      }
      return problems;
    },
    error,
  };
}

/** Makes the rule of a list whose items are all judged alike. */
export function itemsRule(judge: Judge): Rule {
  const parts = partsRule((value) =>
    [...(value as readonly unknown[]).entries()].map(([step, item]) => [step, item, judge]),
  );
  return { ...parts, check: (value) => !Array.isArray(value) || value.every((item) => judge.check(item)) };
}

/** Makes a rule that puts the value itself to judges that depend on it. */
export function judgesRule(judgesOf: (value: unknown) => readonly Judge[]): Rule {
  const failing = (value: unknown): Judge[] => judgesOf(value).filter((judge) => !judge.check(value));
  return {
    check: (value) => judgesOf(value).every((judge) => judge.check(value)),
    problems: (value) => failing(value).flatMap((judge) => judge.problems(value)),
    error,
  };
}

export function within(path: string, problems: readonly Problem[]): Problem[] {
  return problems.map((problem) => ({ path: path + problem.path, message: problem.message }));
}

function error(): string {
  return '';
}

/** The rules about a text or a number: `pattern`, `format` and `multipleOf`. */
export function* scalarRules(schema: JsonSchema): Generator<Rule> {
  const { pattern, format, multipleOf, maxLength } = schema as {
    readonly pattern?: string;
    readonly format?: string;
    readonly multipleOf?: number;
    readonly maxLength?: number;
  };
  const isBounded = maxLength !== undefined || UNBOUNDED_FORMATS.has(format ?? '');
  if (!isBounded && (pattern ?? format) !== undefined) {
    yield plainRule((value) => !isTooLong(value), `must be at most ${MAX_JUDGED_LENGTH} characters`);
  }
  // A declared length has been judged before; beyond either bound nothing else is asked.
  const isSkipped = isBounded ? (): boolean => false : isTooLong;
  if (pattern !== undefined) {
    const regexp = new RegExp(pattern, 'u');
    const matches = (value: unknown): boolean => typeof value !== 'string' || isSkipped(value) || regexp.test(value);
    yield plainRule(matches, `must match pattern "${pattern}"`);
  }
  if (format !== undefined) {
    yield plainRule((value) => isSkipped(value) || isOfFormat(format, value), formatMessage(format));
  }
  if (multipleOf !== undefined) {
    const isMultiple = multiplesOf(multipleOf);
    yield plainRule((value) => typeof value !== 'number' || isMultiple(value), multipleMessage(multipleOf));
  }
}

/** Makes the rule that names which a pattern is to judge are no longer than what patterns are put to. */
export function shortNames(): Rule {
  return plainRule(
    (value) => !isRecord(value) || !Object.keys(value).some(isTooLong),
    `the name of a property must be at most ${MAX_JUDGED_LENGTH} characters`,
  );
}

/** Tells a text that no pattern is put to, unless it declares a greatest length of its own. */
export function isTooLong(value: unknown): boolean {
  return typeof value === 'string' && value.length > MAX_JUDGED_LENGTH;
}

/** Makes the rule of `uniqueItems`: items are compared by their canonical text, in one pass. */
export function uniqueItems(): Rule {
  return plainRule(
    (value) => !Array.isArray(value) || new Set(value.map(canonicalText)).size === value.length,
    'must not have the same item twice',
  );
}

/** Writes JSON with the names of each object in one order. */
function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const names = Object.keys(value).toSorted();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`).join()}}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One thing that a schema has against a value. */
export interface Fault {
  /** `type`, `required`, `minimum`, … */
  readonly keyword: string;
  /** The pointer from the value that was judged to the part of it at fault. */
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A member of a union, which can say what speaks against a value without going into the unions inside it. */
export interface Member extends Judge {
  readonly schema: JsonSchema;
  faults(value: unknown): readonly Fault[];
}

/** Makes the rule of `anyOf` (any member) and `oneOf` (exactly one): its problems are those of the member that was meant. */
export function unionRule(members: readonly Member[], isExclusive: boolean): Rule {
  return {
    check: (value) => {
      if (!isExclusive) return members.some((member) => member.check(value));
      return members.filter((member) => member.check(value)).length === 1;
    },
    problems: (value) =>
      members.some((member) => member.check(value))
        ? [{ path: '', message: 'must match exactly one of the forms allowed' }]
        : problemsOfTheMeant(members, value),
    error: () => '',
  };
}

const OTHER_TYPE = 10_000;
const OTHER_LITERAL = 100;

function problemsOfTheMeant(members: readonly Member[], value: unknown): readonly Problem[] {
  const attempts = members.map((member) => {
    const faults = member.faults(value);
    return { member, faults, distance: faults.reduce((sum, fault) => sum + distanceOf(fault), 0) };
  });
  const [best] = attempts.toSorted((a, b) => a.distance - b.distance);
  if (best === undefined) return [{ path: '', message: 'is not allowed' }];
  if (best.distance >= OTHER_TYPE) {
    return [{ path: '', message: mustBe([...new Set(members.flatMap(({ schema }) => namedTypes(schema)))]) }];
  }
  if (best.distance >= OTHER_LITERAL) return [unknownLiteral(attempts.flatMap(({ faults }) => faults))];
  return best.member.problems(value);
}

/** Measures how far a fault speaks against a member of a union being the one that was meant. */
function distanceOf({ keyword, path, params }: Fault): number {
  if (keyword === 'type' && path === '') return OTHER_TYPE;
  if (keyword === 'required') return (params['requiredProperties'] as readonly string[]).length;
  return keyword === 'const' || keyword === 'enum' ? OTHER_LITERAL : 1;
}

/** No member is meant: what tells them apart (`kind`) is none of the literals that they ask for. */
function unknownLiteral(faults: readonly Fault[]): Problem {
  const literals = faults.filter(({ keyword }) => keyword === 'const' || keyword === 'enum');
  const path = literals[0]?.path ?? '';
  const allowed = literals
    .filter((fault) => fault.path === path)
    .flatMap(({ params }) => (params['allowedValues'] ?? [params['allowedValue']]) as unknown[]);
  return { path, message: mustBeOneOf([...new Set(allowed)]) };
}
