import { FieldValueError, checkFieldJson } from '../fields/field-value.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { lookupsFor, type Lookup } from '../language/lookup.ts';
import { JsonLogicError } from './json-logic-error.ts';

/** @throws JsonLogicError where a field's type does not know this kind of comparison */
export function checkComparable(path: FieldPath, lookup: Lookup, at: string): void {
  if (lookupsFor(path.type.kind).includes(lookup)) return;
  throw new JsonLogicError(`"${path.key}" is of type ${path.type.kind}, which cannot be compared in this way`, at);
}

/** The value to compare a field with, of the field's own type. */
export function checkValue(path: FieldPath, json: unknown, at: string): unknown {
  if (json === null) throw new JsonLogicError('only == and != compare with null', at);
  if (typeof json === 'object') throw new JsonLogicError(`expected a value to compare "${path.key}" with`, at, json);
  if (typeof json === 'string') checkText(json, at);
  try {
    return checkFieldJson(path.type, json);
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    throw new JsonLogicError(`"${path.key}" ${error.message}`, at, json);
  }
}

/** The escapes of JSON say what no query string may, see QueryParameters. */
export function checkText(text: string, at: string): string {
  if (text.includes('\0')) throw new JsonLogicError('a text must not contain a NUL character', at);
  if (!text.isWellFormed()) throw new JsonLogicError('a text must be well-formed Unicode', at);
  return text;
}
