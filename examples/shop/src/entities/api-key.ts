import { defineEntity, p } from '@mikro-orm/core';
import { Account } from './account.ts';

const ApiKeySchema = defineEntity({
  name: 'ApiKey',
  properties: {
    id: p.string().length(16).primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade').index(),
    name: p.string().length(100),
    /** Of the secret part of the key; in no read shape. */
    hash: p.string().length(43),
    scopes: p.json<string[]>().nullable(),
    expires_at: p.datetime(3).nullable(),
    last_used_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
  },
});

export class ApiKey extends ApiKeySchema.class {}
ApiKeySchema.setClass(ApiKey);
