import { defineEntity, p } from '@mikro-orm/core';

const RoleSchema = defineEntity({
  name: 'Role',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
    description: p.text().nullable(),
  },
});

export class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);
