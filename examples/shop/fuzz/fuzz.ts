/**
 * `pnpm fuzz [--seconds N] [--seed S] [--path P] [--database sqlite|postgresql]`: sends random sequences of requests to a shop on each
 * database and to a model of it. Every response must equal the model's. A sequence that fails is shortened as far as it still fails, and
 * printed with the seed and the path that repeat it.
 */
import { parseArgs } from 'node:util';
import { missingServer, TEST_DATABASES } from '@viewset/testing';
import * as fc from 'fast-check';
import tap from 'tap';
import { story } from './action.ts';
import { Teller } from './teller.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    path: { type: 'string' },
    database: { type: 'string' },
  },
});
const kinds = TEST_DATABASES.filter((kind) => options.database === undefined || options.database === kind);
const secondsEach = Number(options.seconds) / kinds.length;
if (kinds.length === 0 || !(secondsEach > 0)) throw new Error('Usage: pnpm fuzz [--seconds N] [--seed S] [--path P]');

/** To start and stop a shop, and to make a story shorter. */
const PATIENCE_MS = 120_000;
tap.setTimeout(Number(options.seconds) * 1000 + kinds.length * PATIENCE_MS);

for (const kind of kinds) {
  tap.test(
    `on ${kind}, seed ${options.seed}`,
    { skip: missingServer(kind), timeout: secondsEach * 1000 + PATIENCE_MS },
    async (t) => {
      const teller = await Teller.start(t, kind);
      const outcome = await fc.check(
        fc.asyncProperty(story, async ({ products, actions }) => teller.tell(products, actions)),
        {
          seed: Number(options.seed),
          ...(options.path === undefined ? {} : { path: options.path }),
          numRuns: Number.MAX_SAFE_INTEGER,
          plugins: [fc.interruptAfterTimeLimit(secondsEach * 1000)],
        },
      );
      t.comment(`${outcome.numRuns} stories, ${teller.summary()}`);
      const again = `pnpm fuzz --database ${kind} --seed ${outcome.seed} --path ${outcome.counterexamplePath}`;
      t.notOk(outcome.failed, `every answer is the model's`, {
        story: outcome.failed ? (outcome.errorInstance as Error).message.split('\n') : [],
        again,
      });
      t.ok(teller.requests > 0, 'requests were sent');
      t.same(
        teller.shop.process.log.filter(({ level }) => level >= 50),
        [],
        'none was a fault of the server',
      );
    },
  );
}
