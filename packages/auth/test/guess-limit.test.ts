import { MemoryStore, TooManyRequests } from '@viewset/core';
import t from 'tap';
import { codeGuesses, GuessLimit, PASSWORD_GUESSES } from '../src/secrets/guess-limit.ts';
import { KeyRing } from '../src/secrets/key-ring.ts';

const ANN = 'ann@example.com';
const keys = new KeyRing([new Uint8Array(32).fill(7)]);
const MINUTE = 60;

function setUp(guesses = PASSWORD_GUESSES): {
  wrongPasswords: GuessLimit;
  store: MemoryStore;
  wait: (seconds: number) => void;
} {
  let now = 0;
  const store = new MemoryStore({ clock: () => now });
  return {
    wrongPasswords: new GuessLimit(store, keys, guesses),
    store,
    wait: (seconds) => void (now += seconds * 1000),
  };
}

/** The seconds for which an address is held; 0 if it is not. */
async function heldSeconds(wrongPasswords: GuessLimit, address = ANN): Promise<number> {
  try {
    await wrongPasswords.check(address);
    return 0;
  } catch (error) {
    if (!(error instanceof TooManyRequests)) throw error;
    return Number(error.headers['retry-after']);
  }
}

t.test('ten within ten minutes hold an address, each time for longer', async (t) => {
  const { wrongPasswords, wait } = setUp();
  for (const minutes of [2, 4, 8, 16, 32, 60, 60]) {
    for (let wrong = 1; wrong <= 10; wrong++) {
      t.equal(await heldSeconds(wrongPasswords), 0, `not held before wrong password ${wrong}`);
      await wrongPasswords.count(ANN);
    }
    t.equal(await heldSeconds(wrongPasswords), minutes * MINUTE);
    await t.rejects(wrongPasswords.count(ANN), TooManyRequests);
    wait(minutes * MINUTE - 1);
    t.equal(await heldSeconds(wrongPasswords), 1, 'what is tried meanwhile neither prolongs nor ends it');
    wait(1);
  }
  t.equal(await heldSeconds(wrongPasswords, 'bob@example.com'), 0, 'nobody else is held');
});

t.test('a day later the holds start again from the shortest', async (t) => {
  const { wrongPasswords, wait } = setUp();
  const hold = async (): Promise<number> => {
    for (let wrong = 1; wrong <= 10; wrong++) await wrongPasswords.count(ANN);
    return heldSeconds(wrongPasswords);
  };
  t.equal(await hold(), 2 * MINUTE);
  wait(3 * MINUTE);
  t.equal(await hold(), 4 * MINUTE);
  wait(24 * 60 * MINUTE);
  t.equal(await hold(), 2 * MINUTE);
});

t.test('nine wrong passwords, and one more when the first is ten minutes old, do not hold the address', async (t) => {
  const { wrongPasswords, wait } = setUp();
  for (let wrong = 1; wrong <= 100; wrong++) {
    await wrongPasswords.count(ANN);
    wait(67);
  }
  t.equal(await heldSeconds(wrongPasswords), 0);
});

t.test('of many concurrent wrong passwords ten are counted', async (t) => {
  const { wrongPasswords } = setUp();
  const counts = await Promise.allSettled(Array.from({ length: 50 }, async () => wrongPasswords.count(ANN)));
  t.equal(counts.filter(({ status }) => status === 'fulfilled').length, 10);
  t.equal(await heldSeconds(wrongPasswords), 2 * MINUTE);
});

t.test('the store sees no address', async (t) => {
  const { store } = setUp();
  const seen: string[] = [];
  const spy = new Proxy(store, {
    get:
      (target, name: keyof MemoryStore) =>
      (key: string, ...rest: never[]) => {
        seen.push(key);
        return (target[name] as (...args: unknown[]) => unknown).call(target, key, ...rest);
      },
  });
  const wrongPasswords = new GuessLimit(spy, keys, PASSWORD_GUESSES);
  for (let wrong = 1; wrong <= 10; wrong++) await wrongPasswords.count(ANN);
  t.ok(seen.length > 10);
  t.notMatch(seen.join(' '), /ann|example/);
});

t.test('at most a hundred wrong codes are counted in a day, at any pace', async (t) => {
  for (const paceSeconds of [1, 67, 300]) {
    const { wrongPasswords: wrongCodes, wait } = setUp(codeGuesses('codes for registration'));
    let counted = 0;
    for (let second = 0; second < 24 * 60 * MINUTE; second += paceSeconds) {
      if ((await heldSeconds(wrongCodes)) === 0) {
        await wrongCodes.count(ANN);
        counted++;
      }
      wait(paceSeconds);
    }
    t.equal(counted, 100, `a guess each ${paceSeconds} s`);
    t.equal(await heldSeconds(wrongCodes, 'bob@example.com'), 0, 'nobody else is blocked');
    wait(24 * 60 * MINUTE);
    t.equal(await heldSeconds(wrongCodes), 0);
  }
});
