import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Shop } from '../test/support/shop.ts';
import { Arena } from './arena.ts';
import { type Phase, tableOf } from './phase.ts';

/** The stock of a product, as its database has it. */
interface StoredStock {
  readonly id: number;
  readonly stock: number;
}

/** The failures of two shops under a steady load, and how they are observed. */
interface Story {
  readonly start: () => Promise<Shop>;
  /** Extends the time limit of the test before the run begins. */
  readonly whenCalm?: (t: Test, calm: Phase) => void;
  /** Causes the failures, one phase after the other. */
  readonly faults: (
    arena: Arena,
    phase: (name: string, run: (t: Test) => Promise<Phase>) => Promise<void>,
  ) => Promise<void>;
  /** Reads all products once the load has ended. */
  readonly stored: () => Promise<readonly StoredStock[]>;
}

/** Runs the phases of a scenario, of which the first has no failures, and compares the acknowledged writes with the stored records. */
export async function underLoad(suite: Test, { start, whenCalm, faults, stored }: Story): Promise<void> {
  const arena = new Arena([await start(), await start()]);
  await arena.begin();
  const phases: Phase[] = [];
  const phase = async (name: string, run: (t: Test) => Promise<Phase>): Promise<void> => {
    await suite.test(name, async (t) => void phases.push(await run(t)));
  };

  await phase('all is well', async (t) => {
    const calm = await arena.during('all is well', () => sleep(3000));
    calm.holds(t);
    whenCalm?.(t, calm);
    return calm;
  });
  await faults(arena, phase);

  await arena.end();
  await suite.test('no acknowledged write is lost', async (t) => {
    t.ok(arena.ledger.acknowledged > 100, `${arena.ledger.acknowledged} writes were acknowledged`);
    t.same(arena.ledger.losses(await stored()), []);
  });
  suite.same(arena.faults(), [], 'the log of no shop has an error');
  for (const line of tableOf(phases).split('\n')) console.error(line);
  console.error(`${arena.ledger.acknowledged} acknowledged writes, all in the database`);
}
