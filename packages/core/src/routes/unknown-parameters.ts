import { InvalidUsage } from '../errors/errors.ts';
import { pointerStep } from '../support/json.ts';
import { nearest } from '../errors/nearest.ts';
import { echo, type ParameterWord, PlacedInvalidUsage } from '../http/parameters.ts';

/** The maximum number of query parameters. More are rejected without comparing their names. */
const MAX_PARAMETERS = 100;
/** The number of unknown parameters that get a hint to the nearest declared name. */
const MAX_COMPARED = 10;
/** The maximum number of declared names in a message. */
const MAX_LISTED = 50;

/**
 * Makes the check of a route's query string. A misspelt filter must never return everything, so undeclared parameters
 * are rejected. If there are any, the check returns a function that throws InvalidUsage. The error names them, with the
 * nearest declared names. The work and the size of the response are bounded, whatever a client sends.
 *
 * @param ignored further allowed names
 */
export function unknownParameterCheck(
  declared: readonly string[],
  ignored: readonly string[],
): (names: readonly string[]) => (() => never) | undefined {
  const known = new Set(declared);
  const passing = ignored.length === 0 ? known : new Set([...declared, ...ignored]);
  return (names) => (names.every((name) => passing.has(name)) ? undefined : () => refuse(names, known, passing));
}

function refuse(names: readonly string[], known: ReadonlySet<string>, passing: ReadonlySet<string>): never {
  if (names.length > MAX_PARAMETERS) {
    throw new InvalidUsage(`The query string must not have more than ${MAX_PARAMETERS} parameters`);
  }
  const unknown = names.filter((name) => !passing.has(name));
  const compared = unknown.slice(0, MAX_COMPARED);
  const hints = compared.map((name) => nearest(name, known));
  const more: string[] = [];
  if (unknown.length > MAX_COMPARED) more.push(`and ${unknown.length - MAX_COMPARED} more`);
  if (hints.includes(undefined)) more.push(listOf(known));
  const details = unknown.map((name, at) => ({
    in: 'query' as const,
    path: pointerStep(echo(name)),
    message: `is not known here${hintOf(hints[at])}`,
  }));
  const sentence = (word: ParameterWord): string =>
    [...compared.map((name, at) => `${word} "${echo(name)}" is not known here${hintOf(hints[at])}`), ...more].join(
      '; ',
    );
  throw new PlacedInvalidUsage(sentence, details);
}

function hintOf(meant: string | undefined): string {
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

function listOf(known: ReadonlySet<string>): string {
  if (known.size === 0) return 'there are no query parameters';
  const listed = [...known].slice(0, MAX_LISTED).join(', ');
  return `known: ${listed}${known.size > MAX_LISTED ? ', …' : ''}`;
}
