/** A process whose worker never ends the delivery of an event. */
import { MikroORM } from '@mikro-orm/sqlite';
import { LIBRARY } from '../../../core/test/support/library.ts';
import { OutboxEvent, startOutbox } from '../../src/index.ts';

const orm = await MikroORM.init({ dbName: process.argv[2]!, entities: [...LIBRARY, OutboxEvent] });
startOutbox(orm, {
  leaseMs: 2000,
  handlers: {
    kill: async () => {
      process.send!('delivering');
      await new Promise(() => {});
    },
  },
});
