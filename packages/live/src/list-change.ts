import { defineEntity, p } from '@mikro-orm/core';

const ListChangeSchema = defineEntity({
  name: 'ListChange',
  properties: {
    id: p.string().length(36).primary(),
    entity: p.string().length(255),
  },
});

/**
 * The entity of notes that records of an entity have changed. Each write's transaction adds one, which is removed a
 * moment later. Add it to your ORM together with `ListVersion`, and create a migration for both.
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

/**
 * The entity of versions, one for each entity with live lists. `id` is the entity's name, and `version` a new text
 * after each change.
 */
export class ListVersion extends ListVersionSchema.class {}
ListVersionSchema.setClass(ListVersion);

/** MikroORM options that read from the primary, never a replica, and ignore all filters. */
export const STORED = { connectionType: 'write', filters: false } as const;
