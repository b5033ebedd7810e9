import { Type } from 'typebox';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../parameters.ts';

/** The greatest number that a page, a size or an offset may be: what a 32-bit integer holds. */
export const MAX_INTEGER = 2_147_483_647;

const CANONICAL = /^(?:0|[1-9][0-9]{0,9})$/;

/**
 * Reads the integer that a query parameter holds, or undefined if it is absent. Only the canonical decimal form counts:
 * `01`, `+1`, `1.0`, `1e2` and ` 1` are refused, so that two URLs of one page do not differ in silence.
 *
 * @throws InvalidUsage when it is anything else, or not in `minimum` … 2147483647
 */
export function integerParameter(parameters: QueryParameters, name: string, minimum: 0 | 1): number | undefined {
  const text = parameters.one(name);
  if (text === undefined) return undefined;
  const value = CANONICAL.test(text) ? Number(text) : NaN;
  if (value >= minimum && value <= MAX_INTEGER) return value;
  const kind = minimum === 1 ? 'a positive integer' : 'a non-negative integer';
  throw invalidParameter(name, `must be ${kind} up to ${MAX_INTEGER}`);
}

/** Declares a parameter that holds an integer, for documentation. */
export function integerDeclaration(
  name: string,
  bounds: { readonly minimum: 0 | 1; readonly default: number },
  description: string,
): ParameterDeclaration {
  return { name, schema: Type.Integer({ ...bounds, maximum: MAX_INTEGER, description }) };
}
