import { InvalidUsage } from '../errors.ts';
import { pointerStep } from '../json-pointer.ts';
import { nearest } from '../nearest.ts';

/** Throws InvalidUsage, which names every parameter that nothing declares and the nearest declared name. */
export type UnknownParameterCheck = (query: object) => void;

/** More query parameters than this are refused without a look at their names. */
const MAX_PARAMETERS = 100;
/** For so many unknown parameters the nearest declared name is looked for. */
const MAX_COMPARED = 10;
/** More declared names than this are not listed. */
const MAX_LISTED = 50;
/** Characters of a client's name that a message repeats. */
const MAX_ECHO = 64;

/**
 * Refuses a query parameter that the route does not declare: a misspelt filter must never return everything. Undefined if
 * every parameter is to be let pass. The work and the answer are bounded, whatever a client sends.
 *
 * @param ignored true: let every parameter pass; names: let these pass
 */
export function unknownParameterCheck(
  declared: readonly string[],
  ignored: boolean | readonly string[],
): UnknownParameterCheck | undefined {
  if (ignored === true) return undefined;
  const known = new Set(declared);
  const passing = new Set(ignored === false ? known : [...known, ...ignored]);
  return (query) => {
    for (const name in query) {
      if (!passing.has(name)) throw refusal(query, known, passing);
    }
  };
}

function refusal(query: object, known: ReadonlySet<string>, passing: ReadonlySet<string>): InvalidUsage {
  const names = Object.keys(query);
  if (names.length > MAX_PARAMETERS) {
    return new InvalidUsage(`The query string must not have more than ${MAX_PARAMETERS} parameters`);
  }
  const unknown = names.filter((name) => !passing.has(name));
  const compared = unknown.slice(0, MAX_COMPARED);
  const hints = compared.map((name) => nearest(name, known));
  const messages = compared.map((name, at) => `Query parameter "${cut(name)}" is not known here${hintOf(hints[at])}`);
  if (unknown.length > MAX_COMPARED) messages.push(`and ${unknown.length - MAX_COMPARED} more`);
  if (hints.includes(undefined)) messages.push(listOf(known));
  const details = unknown.map((name, at) => ({
    in: 'query' as const,
    path: pointerStep(cut(name)),
    message: `is not known here${hintOf(hints[at])}`,
  }));
  return new InvalidUsage(messages.join('; '), { details });
}

function hintOf(meant: string | undefined): string {
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

function cut(name: string): string {
  return name.length > MAX_ECHO ? `${name.slice(0, MAX_ECHO)}…` : name;
}

function listOf(known: ReadonlySet<string>): string {
  if (known.size === 0) return 'there are no query parameters';
  const listed = [...known].slice(0, MAX_LISTED).join(', ');
  return `known: ${listed}${known.size > MAX_LISTED ? ', …' : ''}`;
}
