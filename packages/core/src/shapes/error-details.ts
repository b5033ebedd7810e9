import type { ErrorObject } from 'ajv';
import { InvalidUsage, type ErrorDetail } from '../errors.ts';
import { MAX_PROBLEMS, type Problem } from './copy-input.ts';
import { FORMAT_MESSAGES } from './formats.ts';
import { decimalPlaces } from './exact-number.ts';
import { pointerStep } from '../json-pointer.ts';

export type Place = ErrorDetail['in'];

const PLACE_NAMES: Readonly<Record<Place, string>> = { body: 'body', query: 'query', params: 'path' };
/** How many problems the sentence names; `details` names them all. */
const NAMED_IN_SENTENCE = 3;
/** A pointer may hold names that the client chose, at any length. */
const MAX_PATH_LENGTH = 300;

/**
 * The 400 that names every problem: all of them in `details`, the first ones in its sentence.
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

/** What a validation error means to the person who sent the value. */
export function problemOf(error: ErrorObject, place: Place): Problem {
  const missing: unknown = error.params['missingProperty'];
  if (error.keyword === 'required' || error.keyword === 'dependentRequired') {
    return { path: error.instancePath + pointerStep(String(missing)), message: 'is required' };
  }
  return { path: error.instancePath, message: messageOf(error, place) };
}

function messageOf(error: ErrorObject, place: Place): string {
  const { keyword, params, data } = error;
  const { limit, comparison, multipleOf } = params as { limit?: number; comparison?: string; multipleOf?: number };
  switch (keyword) {
    case 'type':
      return typeMessage(error.schema as string | readonly string[], data, place);
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `must be ${comparison} ${limit}`;
    case 'multipleOf':
      return multipleMessage(Number(multipleOf));
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must be at least ${limit} characters`;
    case 'maxLength':
      return `must be at most ${characters(Number(limit))}`;
    case 'minItems':
      return `must have at least ${counted(Number(limit), 'item')}`;
    case 'maxItems':
    case 'additionalItems':
      return `must have at most ${counted(Number(limit), 'item')}`;
    case 'uniqueItems':
      return 'must not have the same item twice';
    case 'format':
      return FORMAT_MESSAGES[String(params['format'])] ?? `must be of the format ${String(params['format'])}`;
    case 'enum':
      return mustBeOneOf(params['allowedValues'] as unknown[]);
    case 'const':
      return `must be ${written(params['allowedValue'])}`;
    case 'not':
    case 'false schema':
      return 'is not allowed';
    case 'oneOf':
      return 'must match exactly one of the forms allowed';
    default:
      return error.message ?? 'is not valid';
  }
}

function typeMessage(expected: string | readonly string[], data: unknown, place: Place): string {
  if (place !== 'body' && Array.isArray(data)) return 'must be given only once';
  const types = typeof expected === 'string' ? [expected] : expected;
  if (data === null && types.length === 1) return 'must not be null';
  return mustBe(types);
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

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

function multipleMessage(step: number): string {
  const places = decimalPlaces(step);
  return step === Number(`1e-${places}`) && places > 0 ? decimalsMessage(places) : `must be a multiple of ${step}`;
}

export function decimalsMessage(places: number): string {
  if (places === 0) return 'must not have decimals';
  return `must have at most ${counted(places, 'decimal')}`;
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
