import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { ListChange, ListVersion } from '@viewset/live';

export const Message = defineEntity({
  name: 'Message',
  properties: {
    id: p.integer().primary(),
    room: p.integer(),
    /** When it was written, in milliseconds. */
    at: p.double(),
  },
  indexes: [{ properties: ['room', 'id'] }],
});

export function openMessages(clientUrl: string): Promise<MikroORM> {
  return MikroORM.init({ clientUrl, entities: [Message, ListChange, ListVersion], pool: { max: 10 } });
}
