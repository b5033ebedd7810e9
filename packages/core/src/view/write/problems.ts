import { ImproperlyConfigured } from '../../errors/errors.ts';
import { pointerStep } from '../../support/json.ts';
import type { Problem } from '../../schema/scan-input.ts';

/**
 * The problems of a body. The option `validate` adds to them. The client gets them together with the problems of the
 * schemas.
 *
 * @example
 * const validate = (data: { stock?: number }, problems: Problems<'stock'>) => {
 *   if (data.stock === 0) problems.add('/stock', 'must be above 0');
 * };
 */
export class Problems<Field extends string = string> {
  readonly #found: Problem[] = [];
  readonly #fields: readonly string[];

  /** @internal */
  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  /** @internal */
  get found(): readonly Problem[] {
    return this.#found;
  }

  /**
   * Adds a problem. Throws ImproperlyConfigured for a path that leads to no field of the body.
   *
   * @param path a JSON pointer to the value, `/price`; empty for the body as a whole
   * @param message the end of a sentence that begins with the field, `must be above 0`
   */
  add(path: '' | `/${Field}` | `/${Field}/${string}`, message: string): void {
    const leadsThere = path === '' || this.#fields.some((field) => `${path}/`.startsWith(`${pointerStep(field)}/`));
    if (!leadsThere) {
      const known = this.#fields.map(pointerStep).join(', ');
      throw new ImproperlyConfigured(`problems.add() takes the path of a field, one of ${known}, got "${path}"`);
    }
    this.#found.push({ path, message });
  }
}
