import { defineEntity, p, type InferEntity } from '@mikro-orm/core';

export const Role = defineEntity({
  name: 'Role',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
    description: p.text().nullable(),
  },
});

export type Role = InferEntity<typeof Role>;
