import { nearest } from '../nearest.ts';
import { invalidParameter } from '../parameters.ts';

/**
 * Refuses a query parameter that nothing on the view declares: a misspelt filter must never return everything. Returns
 * undefined where every parameter is to be let pass.
 *
 * @param ignored true: let every parameter pass; names: let these pass
 */
export function unknownParameterCheck(
  declared: readonly string[],
  ignored: boolean | readonly string[],
): ((query: object) => void) | undefined {
  if (ignored === true) return undefined;
  const known = new Set(declared);
  const passing = new Set(ignored === false ? [] : ignored);
  return (query) => {
    for (const name of Object.keys(query)) {
      if (known.has(name) || passing.has(name)) continue;
      throw invalidParameter(name, `is not known here${hint(name, declared)}`);
    }
  };
}

function hint(name: string, declared: readonly string[]): string {
  const meant = nearest(name, declared);
  if (meant !== undefined) return `; did you mean "${meant}"?`;
  return declared.length === 0 ? '; there are no query parameters' : `; known: ${declared.join(', ')}`;
}
