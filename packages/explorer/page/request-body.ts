import type { Operation } from './api-model.ts';

/** The body as the operation takes it: a form, if it has files in it. */
export function bodyOf(operation: Operation, values: Readonly<Record<string, unknown>>): unknown {
  const hasFile = Object.values(values).some((value) => value instanceof File);
  if (!hasFile || operation.body?.type.startsWith('multipart/') !== true) return values;
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) {
    if (value instanceof File) form.append(name, value);
    else if (value !== undefined) form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return form;
}
