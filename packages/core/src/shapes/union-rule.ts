import { mustBe, mustBeOneOf } from './error-details.ts';
import { namedTypes, type JsonSchema } from './json-schema.ts';
import type { Problem } from './scan-input.ts';
import type { Judge, Rule } from './schema-rules.ts';

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
