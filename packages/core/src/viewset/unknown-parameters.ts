import { InvalidUsage } from '../errors.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import { nearest } from '../nearest.ts';
import { invalidParameter } from '../parameters.ts';

/** More query parameters than this are refused without a look at their names: the answer would name each of them. */
const MAX_PARAMETERS = 100;

/** Throws InvalidUsage, which names every parameter that nothing declares and the nearest that something does. */
export type UnknownParameterCheck = (query: object) => void;

/**
 * Refuses a query parameter that nothing on the view declares: a misspelt filter must never return everything.
 * Undefined where every parameter is to be let pass.
 *
 * @param ignored true: let every parameter pass; names: let these pass
 */
export function unknownParameterCheck(
  declared: readonly string[],
  ignored: boolean | readonly string[],
): UnknownParameterCheck | undefined {
  if (ignored === true) return undefined;
  const known = new Set(declared);
  const passing = new Set(ignored === false ? [] : ignored);
  return (query) => {
    for (const name in query) {
      if (!known.has(name) && !passing.has(name)) return refuse(query, known, passing);
    }
  };
}

function refuse(query: object, known: ReadonlySet<string>, passing: ReadonlySet<string>): void {
  const names = Object.keys(query);
  if (names.length > MAX_PARAMETERS) {
    throw new InvalidUsage(`The query string must not have more than ${MAX_PARAMETERS} parameters`);
  }
  const problems = new InvalidUsageCollector();
  for (const name of names) {
    if (known.has(name) || passing.has(name)) continue;
    problems.attempt(() => {
      throw invalidParameter(name, `is not known here${hint(name, known)}`);
    });
  }
  problems.throwIfAny();
}

function hint(name: string, known: ReadonlySet<string>): string {
  const meant = nearest(name, known);
  if (meant !== undefined) return `; did you mean "${meant}"?`;
  return known.size === 0 ? '; there are no query parameters' : `; known: ${[...known].join(', ')}`;
}
