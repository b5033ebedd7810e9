import { defineEntity, p } from '@mikro-orm/core';

const HistoryEntrySchema = defineEntity({
  name: 'HistoryEntry',
  properties: {
    id: p.string().length(36).primary(),
    entity: p.string().length(255),
    record: p.string().length(255),
    kind: p.enum(['created', 'updated', 'deleted'] as const),
    written_at: p.datetime().length(3),
    user: p.string().length(255).nullable(),
    request: p.string().length(255).nullable(),
    values: p.json().$type<Readonly<Record<string, unknown>>>(),
    values_before: p.json().$type<Readonly<Record<string, unknown>>>().nullable(),
  },
  indexes: [{ properties: ['entity', 'record', 'id'] }, { properties: ['written_at'] }],
});

/**
 * The entity of the writes that the history keeps. Give it to your ORM, and make a migration of it.
 *
 * - `id` is a UUID of version 7, by which the entries of a record are in the order of its writes. `written_at` is the time in it.
 * - `entity` and `record` are the name of the entity and the primary key, as a text.
 * - `user` and `request` are the ids of the user and the request that wrote.
 * - `values` are those of the record after the write, or of a deleted one before it, by properties. `values_before` are those that an update has
 *   changed, as they were before.
 *
 * @example
 * const orm = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Product, HistoryEntry] });
 */
export class HistoryEntry extends HistoryEntrySchema.class {}
HistoryEntrySchema.setClass(HistoryEntry);

/** Options of MikroORM: rows as they are, whatever filters are on, and apart from the entities of the request. */
export const AS_STORED = { filters: false, disableIdentityMap: true } as const;
