/**
 * `pnpm test:faults`: two shops on one MongoDB, under a steady load, while it is killed, started again and held up. What is
 * promised of each fault is asserted; the figures are printed at the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startMongo } from '../../../scripts/servers.ts';
import { inMongo } from '../test/support/database.ts';
import { type Shop, startShop } from '../test/support/shop.ts';
import { Arena } from './arena.ts';
import { databaseFault } from './database-fault.ts';
import { type Phase, tableOf } from './phase.ts';

/** The longest command, so that a server that is silent for longer is told from a slow one. */
const STATEMENT_SECONDS = 3;
/** So that on a busy machine too a request begins and ends while the server is away. */
const SILENT_MS = 9000;

const mongo = await startMongo();
const skip = mongo === undefined && process.env['CI'] !== 'true' ? 'MongoDB cannot be had: no fault was tried' : false;

t.test('faults of MongoDB', { skip }, async (t) => {
  if (mongo === undefined) throw new Error('MongoDB must be there under CI');
  t.teardown(() => mongo.stop());
  const url = new URL(mongo.url);
  url.pathname = '/shop';
  const databaseUrl = url.href;
  const variables = { THROTTLE_IP: '1000000/5', DATABASE_STATEMENT_TIMEOUT: String(STATEMENT_SECONDS) };
  const start = (): Promise<Shop> => startShop(t, { kind: 'mongodb', databaseUrl, variables });
  const arena = new Arena([await start(), await start()]);
  await arena.begin();
  const phases: Phase[] = [];
  const phase = async (name: string, run: (t: Test) => Promise<Phase>): Promise<void> => {
    await t.test(name, async (t) => void phases.push(await run(t)));
  };

  await phase('all is well', async (t) => {
    const calm = await arena.during('all is well', () => sleep(3000));
    calm.holds(t);
    return calm;
  });
  for (const name of ['MongoDB is killed', 'MongoDB is killed again']) {
    const crash = { downMs: SILENT_MS, down: () => mongo.kill('SIGKILL'), up: () => mongo.restart() };
    await phase(name, (t) => databaseFault(t, arena, name, { check: 'mongodb', ...crash }));
  }
  await phase('MongoDB is silent', (t) => {
    const silence = {
      downMs: SILENT_MS,
      down: () => mongo.signal('SIGSTOP'),
      up: () => mongo.signal('SIGCONT'),
    };
    return databaseFault(t, arena, 'MongoDB is silent', { check: 'mongodb', ...silence });
  });

  await arena.end();
  await t.test('no acknowledged write is lost', async (t) => {
    t.ok(arena.ledger.acknowledged > 100, `${arena.ledger.acknowledged} writes were acknowledged`);
    const documents = await inMongo(databaseUrl, (database) => database.collection('product').find().toArray());
    t.same(arena.ledger.losses(documents.map(({ _id, stock }) => ({ id: Number(_id), stock: Number(stock) }))), []);
  });
  t.same(arena.faults(), [], 'the log of no shop has an error');
  for (const line of tableOf(phases).split('\n')) console.error(line);
  console.error(`${arena.ledger.acknowledged} acknowledged writes, all in the database`);
});
