/** A process whose worker never ends the delivery of an event. */
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import { MongoExtension } from '../../../mongodb/src/index.ts';
import { OutboxEvent, startOutbox } from '../../src/index.ts';

const [, , database, place = ''] = process.argv;
const entities = [OutboxEvent];
const orm =
  database === 'sqlite'
    ? await SqliteORM.init({ dbName: place, entities })
    : database === 'postgresql'
      ? await PostgreSqlORM.init({ clientUrl: place, entities })
      : await MongoORM.init({ clientUrl: place, entities, extensions: [MongoExtension] });
startOutbox(orm, {
  leaseMs: 3000,
  handlers: {
    kill: async () => {
      process.send!('delivering');
      await new Promise(() => {});
    },
  },
});
