import { defineEntity, p } from '@mikro-orm/core';
import { Account } from './account.ts';

const IdentitySchema = defineEntity({
  name: 'Identity',
  properties: {
    id: p.integer().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade').index(),
    provider: p.string().length(50),
    subject: p.string().length(255),
  },
  uniques: [{ properties: ['provider', 'subject'] }],
});

export class Identity extends IdentitySchema.class {}
IdentitySchema.setClass(Identity);
