import { defineEntity, p } from '@mikro-orm/core';
import { Account } from './account.ts';

const PasskeySchema = defineEntity({
  name: 'Passkey',
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade').index(),
    name: p.string().length(100),
    credential_id: p.string().length(1364).unique(),
    public_key: p.string().length(1024),
    counter: p.bigint('number'),
    transports: p.json<string[]>().nullable(),
    created_at: p.datetime(3),
    last_used_at: p.datetime(3).nullable(),
  },
});

export class Passkey extends PasskeySchema.class {}
PasskeySchema.setClass(Passkey);
