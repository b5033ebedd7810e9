import type { Call } from '../call.ts';
import type { JsonObject } from '../json-schema.ts';
import type { Tool } from '../tool.ts';

const WRITES = { readOnlyHint: false, openWorldHint: false };

/** Stores a new record. It is a separate tool, because it never loses stored data. */
export const create: Tool = {
  name: 'create',
  description: 'Stores a new record. describe has the fields.',
  annotations: { ...WRITES, destructiveHint: false, idempotentHint: false },
  arguments: ['resource', 'parents', 'values', 'key'],
  required: ['resource', 'values'],
  serves: ({ operations }) => operations.has('create'),
  run: (call) => store(call, 'create'),
};

/** Changes a record. */
export const update: Tool = {
  name: 'update',
  description: 'Changes fields of one record; the others stay as they are, unless describe says "replaces".',
  annotations: { ...WRITES, destructiveHint: true, idempotentHint: false },
  arguments: ['resource', 'parents', 'id', 'values', 'etag', 'key'],
  required: ['resource', 'values'],
  serves: ({ operations }) => operations.has('update'),
  run: (call) => store(call, 'update'),
};

/** Deletes a record. */
export const remove: Tool = {
  name: 'delete',
  description: 'Deletes one record.',
  annotations: { ...WRITES, destructiveHint: true, idempotentHint: true },
  arguments: ['resource', 'parents', 'id', 'etag'],
  required: ['resource'],
  serves: ({ operations }) => operations.has('delete'),
  async run(call) {
    const { value, note } = await call.send(await call.operation('delete'), undefined);
    return {
      deleted: true,
      ...(value === undefined ? {} : { answer: value }),
      ...(note === undefined ? {} : { note }),
    };
  },
};

async function store(call: Call, operation: 'create' | 'update'): Promise<JsonObject> {
  const plan = await call.operation(operation);
  const { value, etag, note } = await call.send(plan, call.args.values);
  return {
    ...(note === undefined ? { record: value ?? null } : { note }),
    ...(etag === undefined ? {} : { etag }),
  };
}
