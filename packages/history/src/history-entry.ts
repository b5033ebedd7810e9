import { defineEntity, p } from '@mikro-orm/core';

const HistoryEntrySchema = defineEntity({
  name: 'HistoryEntry',
  properties: {
    id: p.string().length(36).primary(),
    entity: p.string().length(255),
    record: p.string().length(255),
    kind: p.enum(['created', 'updated', 'deleted'] as const),
    action: p.string().length(255).nullable(),
    written_at: p.datetime().length(3),
    user: p.string().length(255).nullable(),
    request: p.string().length(255).nullable(),
    values: p.json().$type<Readonly<Record<string, unknown>>>(),
    values_before: p.json().$type<Readonly<Record<string, unknown>>>().nullable(),
  },
  indexes: [{ properties: ['entity', 'record', 'id'] }, { properties: ['written_at'] }],
});

/**
 * The entity of the writes in the history. Add it to your ORM and create a migration for it.
 *
 * - `id` is a UUID of version 7, which sorts the entries of a record in the order of its writes. `written_at` is the
 *   time in `id`.
 * - `entity` is the name of the entity, `record` the primary key as a string.
 * - `action` is the operation or the action that made the write, such as `update` or `approve`. Entries from before the
 *   column existed have null.
 * - `user` and `request` are the ids of the user and the request that made the write.
 * - `values` holds all stored values of the record by property, except hidden ones: after the write, or before a delete.
 *   `values_before` holds the previous values of the properties that an update has changed.
 *
 * @example
 * const orm = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Product, HistoryEntry] });
 */
export class HistoryEntry extends HistoryEntrySchema.class {}
HistoryEntrySchema.setClass(HistoryEntry);

/** MikroORM options that read rows without any filters, and apart from the request's entities. */
export const AS_STORED = { filters: false, disableIdentityMap: true } as const;
