import { Type, type TSchema } from 'typebox';
import type { Counting } from '../language/counting.ts';

/** The schema of `{ count, next, previous, results }`. */
export function pageEnvelope(item: TSchema, counting: Counting = 'exact'): TSchema {
  return Type.Object({
    count: COUNT_SCHEMAS[counting],
    next: Type.Boolean({ description: 'Whether a next page exists' }),
    previous: Type.Boolean({ description: 'Whether a previous page exists' }),
    results: Type.Array(item, { description: 'The records of this page' }),
  });
}

const COUNT_SCHEMAS: Readonly<Record<Counting, TSchema>> = {
  exact: Type.Integer({ minimum: 0, description: 'Records in all, on every page together' }),
  estimated: Type.Integer({
    minimum: 0,
    description:
      'Records in all, on every page together: an estimate where counting is expensive; ' +
      'never fewer than the pages up to this one show, and exact on the last page',
  }),
  none: Type.Null({ description: 'Records are not counted; follow next' }),
};
