import { type FormatError, InvalidUsage, TargetObjectAlreadyExist } from '@viewset/core';
import { Type } from 'typebox';

/** `{ "errors": { "title": ["is required"] } }`. */
export const ERRORS = Type.Object({ errors: Type.Record(Type.String(), Type.Array(Type.String())) });

/** Responds to errors of a request with 422, and lists each error under the name of its field. */
export const formatError: FormatError = (error) => {
  // A parameter may be named as a member that every object inherits.
  const errors = Object.create(null) as Record<string, string[]>;
  for (const { path, message } of error.details ?? []) {
    const field = path === '' ? 'body' : path.slice(path.lastIndexOf('/') + 1);
    (errors[field] ??= []).push(message);
  }
  if (error.details === undefined) errors['body'] = [error.message];
  const isFault = error instanceof InvalidUsage || error instanceof TargetObjectAlreadyExist;
  return { status: isFault ? 422 : error.statusCode, body: { errors } };
};
