/** The connections by which processes wake each other. */
import { EventEmitter } from 'node:events';
import t from 'tap';
import { postgresWakeUps } from '../src/index.ts';
import { until } from './support/until.ts';

t.test('a connection to PostgreSQL that is on its way when nobody listens any more is ended', async (t) => {
  const connected = Promise.withResolvers<void>();
  const told: string[] = [];
  class Client extends EventEmitter {
    connect(): Promise<void> {
      return connected.promise;
    }
    async query(sql: string): Promise<void> {
      told.push(sql);
    }
    async end(): Promise<void> {
      told.push('end');
    }
  }
  const end = await postgresWakeUps(() => new Client()).listen(() => told.push('woken'));
  await end();
  connected.resolve();
  await until(() => told.includes('end') || told.includes('woken'));
  t.equal(told.at(-1), 'end');
});

t.test('what is told before the connection to PostgreSQL is there wakes others once it is', async (t) => {
  const connected = Promise.withResolvers<void>();
  const sent: string[] = [];
  class Client extends EventEmitter {
    connect(): Promise<void> {
      return connected.promise;
    }
    async query(sql: string): Promise<void> {
      sent.push(sql);
    }
    async end(): Promise<void> {}
  }
  const wakeUps = postgresWakeUps(() => new Client());
  const end = await wakeUps.listen(() => {});
  await wakeUps.tell!();
  t.strictSame(sent, []);
  connected.resolve();
  await until(() => sent.length === 2);
  t.strictSame(sent, ['listen viewset_live', 'notify viewset_live']);
  await end();
});
