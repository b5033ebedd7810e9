import { defineEntity, p } from '@mikro-orm/core';
import { Account } from './account.ts';

const TwoFactorSchema = defineEntity({
  name: 'TwoFactor',
  properties: {
    id: p.integer().primary(),
    account: () => p.oneToOne(Account).deleteRule('cascade'),
    /** Encrypted. */
    secret: p.string().length(100),
    last_step: p.integer().nullable(),
    /** Keyed hashes. */
    recovery_codes: p.string().length(500),
    confirmed_at: p.datetime(3).nullable(),
  },
});

export class TwoFactor extends TwoFactorSchema.class {}
TwoFactorSchema.setClass(TwoFactor);
