import { defineEntity, p } from '@mikro-orm/core';

const ListChangeSchema = defineEntity({
  name: 'ListChange',
  properties: {
    id: p.string().length(36).primary(),
    entity: p.string().length(255),
  },
});

/**
 * The entity of the notes that records of an entity have changed. The transaction of each write adds one, and it is gone a moment after. Give it to
 * your ORM together with `ListVersion`, and make a migration of both.
 *
 * @example
 * const orm = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Product, ListChange, ListVersion] });
 */
export class ListChange extends ListChangeSchema.class {}
ListChangeSchema.setClass(ListChange);

const ListVersionSchema = defineEntity({
  name: 'ListVersion',
  properties: {
    id: p.string().length(255).primary(),
    version: p.string().length(36),
  },
});

/** The entity of the versions of the entities that have live lists: `id` is the name of one, and `version` another text after each change. */
export class ListVersion extends ListVersionSchema.class {}
ListVersionSchema.setClass(ListVersion);

/** Options of MikroORM: rows as the database that is written to has them, not a replica, whatever filters are on. */
export const STORED = { connectionType: 'write', filters: false } as const;
