import { defineEntity, p } from '@mikro-orm/core';
import { Account } from './account.ts';

const SessionSchema = defineEntity({
  name: 'Session',
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade').index(),
    /** Of the refresh token that is good now; in no read shape. */
    token_hash: p.string().length(43).hidden(),
    created_at: p.datetime(3),
    last_used_at: p.datetime(3),
    expires_at: p.datetime(3).index(),
    ip: p.string().length(45),
    user_agent: p.string().length(255).nullable(),
  },
});

export class Session extends SessionSchema.class {}
SessionSchema.setClass(Session);
