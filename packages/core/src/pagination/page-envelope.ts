import { Type, type TSchema } from 'typebox';

/** The schema of `{ count, next, previous, results }`. */
export function pageEnvelope(item: TSchema): TSchema {
  return Type.Object({
    count: Type.Integer({ minimum: 0, description: 'Records in all, on every page together' }),
    next: Type.Boolean({ description: 'Whether a next page exists' }),
    previous: Type.Boolean({ description: 'Whether a previous page exists' }),
    results: Type.Array(item, { description: 'The records of this page' }),
  });
}
