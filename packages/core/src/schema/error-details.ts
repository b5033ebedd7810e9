import { InvalidUsage, type ErrorDetail } from '../errors/errors.ts';
import { MAX_PROBLEMS, type Problem } from './scan-input.ts';
import { decimalPlaces } from '../support/exact-number.ts';

export type Place = ErrorDetail['in'];

/** What a schema validates: a part of a request, or a response. */
export type Validated = Place | 'response';

const PLACE_NAMES: Readonly<Record<Place, string>> = { body: 'body', query: 'query', params: 'path' };
/** The most problems in the sentence. `details` has more of them. */
const NAMED_IN_SENTENCE = 3;
/** The longest JSON pointer, because it may contain names of any length that the client chose. */
const MAX_PATH_LENGTH = 300;

/**
 * Makes the 400 for a list of problems. `details` has the first 50, the sentence the first three.
 *
 * @example
 * invalidInput('body', [{ path: '/price', message: 'must be > 0' }]).message;   // 'Invalid body: price must be > 0'
 */
export function invalidInput(place: Place, problems: readonly Problem[]): InvalidUsage {
  const details = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => ({ in: place, path: shortened(path), message }));
  const named = details.slice(0, NAMED_IN_SENTENCE).map(({ path, message }) => `${nameOf(path, place)} ${message}`);
  const more = problems.length - named.length;
  if (more > 0) named.push(`and ${more} more`);
  return new InvalidUsage(`Invalid ${PLACE_NAMES[place]}: ${named.join('; ')}`, { details });
}

function nameOf(path: string, place: Place): string {
  if (path === '') return `the ${PLACE_NAMES[place]}`;
  return path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}

function shortened(path: string): string {
  return path.length <= MAX_PATH_LENGTH ? path : `${path.slice(0, MAX_PATH_LENGTH).toWellFormed()}…`;
}

/** `must be a string, an integer or null` */
export function mustBe(types: readonly string[]): string {
  const names = types.map((type) => (type === 'null' ? type : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`));
  const last = names.pop() ?? '';
  return names.length === 0 ? `must be ${last}` : `must be ${names.join(', ')} or ${last}`;
}

/** `must be one of: draft, published` */
export function mustBeOneOf(values: readonly unknown[]): string {
  return `must be one of: ${values.map(written).join(', ')}`;
}

/** `1 character`, `200 characters` */
export function characters(count: number): string {
  return counted(count, 'character');
}

/** `1 item`, `2 items` */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** `must have at most 2 decimals`, `must be a multiple of 5` */
export function multipleMessage(step: number): string {
  const places = decimalPlaces(step);
  return step === Number(`1e-${places}`) && places > 0 ? decimalsMessage(places) : `must be a multiple of ${step}`;
}

export function decimalsMessage(places: number): string {
  if (places === 0) return 'must not have decimals';
  return `must have at most ${counted(places, 'decimal')}`;
}

/** Writes a JSON value for a message. */
export function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
