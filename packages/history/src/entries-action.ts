import { type Action, action, type HistoryView, type KeptField, type KeptValues } from '@viewset/core';
import { type TSchema, Type } from 'typebox';
import { AS_STORED, HistoryEntry } from './history-entry.ts';
import { entriesOf } from './record-key.ts';

const DEFAULT_PAGE_SIZE = 10;
const MAX_PAGE_SIZE = 100;
const MAX_PAGE = 2_147_483_647;

const QUERY = Type.Object({
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1, description: 'The number of the page' }),
  ),
  page_size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE,
      description: 'The number of entries on a page',
    }),
  ),
});

/** Makes the action that lists the writes of a record, newest first. */
export function entriesAction(view: HistoryView): Action {
  const options = { detail: true, querystring: QUERY, response: pageSchema(view.fields) } as const;
  return action(options, async (request) => {
    const { page = 1, page_size: size = DEFAULT_PAGE_SIZE } = request.query;
    const { em } = request;
    const { key, shown } = await view.find(request);
    const where = await entriesOf(em, view, key);
    const [entries, count] = await em.findAndCount(HistoryEntry, where, {
      orderBy: { id: 'desc' },
      limit: size,
      offset: (page - 1) * size,
      ...AS_STORED,
    });
    return {
      count,
      next: page * size < count,
      previous: page > 1,
      results: entries.map((entry) => shownEntry(entry, shown)),
    };
  });
}

function shownEntry(
  { id, kind, action: name, written_at, user, values, values_before: before }: HistoryEntry,
  shown: readonly KeptField[],
): object {
  return {
    id,
    kind,
    action: name,
    written_at,
    user,
    changes: fieldsOf(before ?? {}, shown, (from, { property, show = same }) => ({
      from: show(from),
      to: show(values[property]),
    })),
    record: fieldsOf(values, shown, (value, { show = same }) => show(value)),
  };
}

function same(value: unknown): unknown {
  return value;
}

/** Picks the values that a request may see, by their names in its read shape. */
function fieldsOf(
  values: KeptValues,
  shown: readonly KeptField[],
  make: (value: unknown, field: KeptField) => unknown,
): object {
  return Object.fromEntries(
    shown.flatMap((field) =>
      Object.hasOwn(values, field.property) ? [[field.name, make(values[field.property], field)]] : [],
    ),
  );
}

function pageSchema(shown: readonly KeptField[]): TSchema {
  const fields = (make: (schema: TSchema) => TSchema): TSchema =>
    Type.Object(Object.fromEntries(shown.map(({ name, schema }) => [name, Type.Optional(make(schema))])));
  const entry = Type.Object({
    id: Type.String({ description: 'The id of the entry' }),
    kind: Type.Enum(['created', 'updated', 'deleted']),
    action: Type.Union([Type.String(), Type.Null()], {
      description: 'The operation or the action that wrote, such as "update"; null: not known',
    }),
    written_at: Type.String({ format: 'date-time' }),
    user: Type.Union([Type.String(), Type.Null()], {
      description: 'The id of the user who wrote; null: nobody was logged in',
    }),
    changes: fields((schema) => Type.Object({ from: schema, to: schema })),
    record: fields((schema) => schema),
  });
  return Type.Object({
    count: Type.Integer(),
    next: Type.Boolean(),
    previous: Type.Boolean(),
    results: Type.Array(entry),
  });
}
