import { defineEntity, p } from '@mikro-orm/core';
import type { AccountUser } from '@viewset/auth';

const RoleSchema = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
export class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);

const AccountSchema = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime().nullable(),
  },
});
export class Account extends AccountSchema.class {}
AccountSchema.setClass(Account);

/** Declares the type of `request.user`. */
declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}
