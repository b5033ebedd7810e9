import { defineEntity, p } from '@mikro-orm/core';
import { Role } from './role.ts';

const AccountSchema = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100).index(),
    email: p.string().length(255).unique(),
    /** A bcrypt hash, in no read shape. */
    password: p.string().length(255).hidden(),
    // A role that accounts refer to is not deleted under them (MikroORM's default for a nullable reference is set null).
    role: () => p.manyToOne(Role).nullable().deleteRule('restrict'),
    is_active: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
    created_at: p.datetime(3).onCreate(() => new Date()),
  },
});

export class Account extends AccountSchema.class {}
AccountSchema.setClass(Account);
