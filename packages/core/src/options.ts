import { ImproperlyConfigured } from './errors.ts';
import { nearest } from './nearest.ts';

/**
 * Refuses an option that nothing reads, so that a misspelt one is never ignored in silence.
 *
 * @example
 * checkOptionNames('Router', { prefx: 'api' }, ['prefix']);
 * // ImproperlyConfigured: Router: unknown option "prefx"; did you mean "prefix"? Known options: prefix
 */
export function checkOptionNames(owner: string, given: object, known: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
    throw new ImproperlyConfigured(`${owner}: unknown option "${name}"${hint} Known options: ${known.join(', ')}`);
  }
}

/** The error for an option of the wrong value: names the option, what was expected and what came. */
export function wrongOption(owner: string, name: string, expected: string, came: unknown): ImproperlyConfigured {
  return new ImproperlyConfigured(`${owner}: option "${name}" must be ${expected}, but ${describe(came)} came`);
}

/** Says what came, in a message that a programmer reads. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `the function ${value.name || '(anonymous)'}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `an object of ${value.constructor?.name ?? 'no class'}`;
  return String(value);
}
