/**
 * `pnpm test:faults`: two shops on one MongoDB, under a steady load, while it is killed, started again and delayed. The guarantees for each
 * failure are asserted; the figures are printed at the end.
 */
import t from 'tap';
import { startMongo } from '../../../scripts/servers.ts';
import { Product } from '../src/entities/product.ts';
import { pastShop } from '../test/support/database.ts';
import { type Shop, startShop } from '../test/support/shop.ts';
import { databaseFault } from './database-fault.ts';
import { underLoad } from './under-load.ts';

/** The time limit of a command, so that a server that is unresponsive for longer can be distinguished from a slow one. */
const STATEMENT_SECONDS = 3;
/** So that on a busy machine too a request begins and ends while the server is away. */
const SILENT_MS = 9000;

const mongo = await startMongo();
const skip = mongo === undefined && process.env['CI'] !== 'true' ? 'MongoDB cannot be had: no fault was tried' : false;

t.test('failures of MongoDB', { skip }, async (t) => {
  if (mongo === undefined) throw new Error('MongoDB must be there under CI');
  t.teardown(() => mongo.stop());
  const url = new URL(mongo.url);
  url.pathname = '/shop';
  const databaseUrl = url.href;
  const variables = { THROTTLE_IP: '1000000/5', DATABASE_STATEMENT_TIMEOUT: String(STATEMENT_SECONDS) };
  const start = (): Promise<Shop> => startShop(t, { kind: 'mongodb', databaseUrl, variables });
  await underLoad(t, {
    start,
    faults: async (arena, phase) => {
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
    },
    stored: () => pastShop(databaseUrl, (em) => em.find(Product, {})),
  });
});
