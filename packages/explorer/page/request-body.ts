import type { Operation } from './api-model.ts';
import { textOf } from './records.ts';

/** The body as the operation takes it: a form, if it has files in it. */
export function bodyOf(operation: Operation, values: Readonly<Record<string, unknown>>): unknown {
  const hasFile = Object.values(values).some((value) => value instanceof File);
  if (!hasFile || operation.body?.type.startsWith('multipart/') !== true) return values;
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) {
    // Lists and objects are JSON in a form, and null is an empty text.
    if (value instanceof File) form.append(name, value);
    else if (value !== undefined) form.append(name, textOf(value));
  }
  return form;
}
