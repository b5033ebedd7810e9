import { ImproperlyConfigured, MemoryStore, TooManyRequests } from '@viewset/core';
import t, { type Test } from 'tap';
import { CODE_LIFETIME_SECONDS, VerificationCodes } from '../src/codes/verification-codes.ts';

const ANN = 'ann@example.com';
const secret = new Uint8Array(32).fill(7);

function setUp() {
  let now = 0;
  const store = new MemoryStore({ clock: () => now });
  return { codes: new VerificationCodes(store, secret), store, wait: (seconds: number) => (now += seconds * 1000) };
}

const wrong = (code: string): string => (code === '000000' ? '000001' : '000000');

t.test('a code is six digits, uniformly, leading zeros kept', async (t) => {
  const { codes } = setUp();
  const leading = new Map<string, number>();
  for (let round = 0; round < 3000; round++) {
    const code = await codes.issue(`${round}@example.com`);
    if (!/^\d{6}$/.test(code)) t.fail(code);
    leading.set(code.slice(0, 1), (leading.get(code.slice(0, 1)) ?? 0) + 1);
  }
  t.equal(leading.size, 10);
  for (const count of leading.values()) t.ok(count > 200 && count < 400, String(count));
});

t.test('the right code is taken once', async (t) => {
  const { codes } = setUp();
  const code = await codes.issue(ANN);
  t.equal(await codes.take('bob@example.com', code), undefined, 'it is one address’s');
  t.ok(await codes.take(ANN, code));
  t.equal(await codes.take(ANN, code), undefined);
});

t.test('of many concurrent attempts with the right code, one uses it', async (t) => {
  const { codes } = setUp();
  const code = await codes.issue(ANN);
  const taken = await Promise.all(Array.from({ length: 20 }, () => codes.take(ANN, code)));
  t.equal(taken.filter((result) => result !== undefined).length, 1);
});

t.test('a code lasts 600 seconds', async (t) => {
  const { codes, wait } = setUp();
  const first = await codes.issue(ANN);
  wait(CODE_LIFETIME_SECONDS - 1);
  t.match(await codes.take(ANN, first), { tries: 0 });
  const second = await codes.issue(ANN);
  wait(CODE_LIFETIME_SECONDS + 1);
  t.equal(await codes.take(ANN, second), undefined);
});

t.test('five wrong attempts void a code; a new code has five attempts again', async (t) => {
  const { codes } = setUp();
  const first = await codes.issue(ANN);
  for (let round = 0; round < 4; round++) t.equal(await codes.take(ANN, wrong(first)), undefined);
  t.match(await codes.take(ANN, first), { tries: 4 }, 'four do not');
  const second = await codes.issue(ANN);
  for (const guess of [wrong(second), 'x', '', wrong(second), '\ud800']) {
    t.equal(await codes.take(ANN, guess), undefined);
  }
  t.equal(await codes.take(ANN, second), undefined);
  const third = await codes.issue(ANN);
  t.match(await codes.take(ANN, third), { tries: 0 });
});

t.test('a new code takes the place of the old one', async (t) => {
  const { codes } = setUp();
  const [first, second] = [await codes.issue(ANN), await codes.issue(ANN)];
  if (first !== second) t.equal(await codes.take(ANN, first), undefined);
  t.ok(await codes.take(ANN, second));
});

t.test('a code that was taken in vain comes back as it was', async (t) => {
  const { codes, wait } = setUp();
  const code = await codes.issue(ANN);
  await codes.take(ANN, wrong(code));
  wait(500);
  const taken = await codes.take(ANN, code);
  t.match(taken, { tries: 1 });
  await codes.restore(ANN, code, taken!);
  wait(99);
  const again = await codes.take(ANN, code);
  t.match(again, { tries: 1 });
  await codes.restore(ANN, code, again!);
  wait(2);
  t.equal(await codes.take(ANN, code), undefined, 'not a second longer than before');
});

t.test('a code that comes back does not replace a newer one', async (t) => {
  const { codes } = setUp();
  const old = await codes.issue(ANN);
  const taken = await codes.take(ANN, old);
  const fresh = await codes.issue(ANN);
  await codes.restore(ANN, old, taken!);
  t.ok(await codes.take(ANN, fresh));
});

t.test('a code that was never delivered is taken back, a newer one is not', async (t) => {
  const { codes } = setUp();
  const undelivered = await codes.issue(ANN);
  await codes.revoke(ANN, undelivered);
  t.equal(await codes.take(ANN, undelivered), undefined);
  const old = await codes.issue(ANN);
  const fresh = await codes.issue(ANN);
  if (old !== fresh) await codes.revoke(ANN, old);
  t.ok(await codes.take(ANN, fresh));
});

t.test('five codes to one address in 600 seconds, all different; a failed one does not count', async (t) => {
  const { codes, wait } = setUp();
  for (let send = 0; send < 5; send++) {
    await codes.countSend(ANN);
    wait(1);
  }
  const refused = await codes.countSend(ANN).catch((error: unknown) => error);
  t.match(refused, { statusCode: 429, headers: { 'retry-after': '595' } });
  await codes.countSend('bob@example.com');
  wait(595);
  const sent = await codes.countSend(ANN);
  await t.rejects(codes.countSend(ANN));
  await codes.uncountSend(ANN, sent);
  await codes.countSend(ANN);
});

t.test('the store sees neither codes nor addresses', async (t) => {
  const seen: unknown[] = [];
  const spy = new Proxy(new MemoryStore(), {
    get: (store, name: keyof MemoryStore) => {
      const member: unknown = store[name];
      return typeof member === 'function'
        ? (...inputs: unknown[]) => (seen.push(inputs), member.apply(store, inputs))
        : member;
    },
  });
  const codes = new VerificationCodes(spy, secret);
  await codes.countSend(ANN);
  const code = await codes.issue(ANN);
  await codes.take(ANN, code);
  await codes.issue('7', ANN);
  t.ok(seen.length >= 4);
  t.notMatch(JSON.stringify(seen), new RegExp(`ann|example|"${code}"`));
});

t.test('a code for one purpose is wrong for every other', async (t) => {
  const { codes } = setUp();
  const resets = codes.for('password-reset');
  const [code, reset] = [await codes.issue(ANN), await resets.issue(ANN)];
  if (code !== reset) t.equal(await resets.take(ANN, code), undefined);
  t.equal(await codes.for('invitation').take(ANN, code), undefined);
  t.ok(await codes.take(ANN, code));
  t.ok(await resets.take(ANN, reset));
  for (const purpose of ['', 'Reset', 'a\nb', 1 as never]) t.throws(() => codes.for(purpose), ImproperlyConfigured);
});

t.test('codes to an address are counted together for all purposes', async (t) => {
  const { codes } = setUp();
  for (let send = 0; send < 5; send++) await codes.for(`purpose-${send}`).countSend(ANN);
  await t.rejects(codes.countSend(ANN), { name: 'TooManyRequests' });
});

t.test('a note is kept with a code, and only the right code brings it', async (t) => {
  const { codes } = setUp();
  const changes = codes.for('email-change');
  const code = await changes.issue('7', 'new@example.com');
  t.equal(await changes.take('7', code), undefined, 'the note is part of what is compared');
  t.equal(await changes.takeNoted('7', wrong(code)), undefined);
  const taken = await changes.takeNoted('7', code);
  t.match(taken, { note: 'new@example.com', tries: 2 });
  t.equal(await changes.takeNoted('7', code), undefined, 'once');
  await changes.restore('7', code, taken!);
  t.match(await changes.takeNoted('7', code), { note: 'new@example.com' });
});

t.test('five wrong tries void a code with a note, and a cancelled code is void', async (t) => {
  const { codes } = setUp();
  const first = await codes.issue('7', 'new@example.com');
  for (let round = 0; round < 5; round++) t.equal(await codes.takeNoted('7', wrong(first)), undefined);
  t.equal(await codes.takeNoted('7', first), undefined);
  const second = await codes.issue('7', 'new@example.com');
  await codes.cancel('7');
  t.equal(await codes.takeNoted('7', second), undefined);
});

async function blocked(t: Test, guess: Promise<unknown>, seconds: string): Promise<void> {
  const error = await guess.catch((thrown: unknown) => thrown);
  t.match(error, { statusCode: 429, event: 'auth.codes_blocked', headers: { 'retry-after': seconds } });
}

t.test('wrong codes are blocked like wrong passwords, by address and purpose, with and without a code', async (t) => {
  const { codes, wait } = setUp();
  const device = 'a known device';
  const resets = codes.for('password-reset');
  for (let text = 0; text < 20; text++) t.equal(await resets.take(ANN, 'x'), undefined, 'no code at all');
  for (let guess = 0; guess < 10; guess++) t.equal(await resets.take(ANN, '000000'), undefined);
  const code = await resets.issue(ANN);
  for (const guess of ['x', code]) {
    await blocked(t, resets.take(ANN, guess), '120');
    await blocked(t, resets.takeNoted(ANN, guess), '120');
  }
  t.equal(await codes.take(ANN, 'x'), undefined, 'another purpose');
  t.equal(await resets.take('bob@example.com', 'x'), undefined, 'another address');
  t.match(await resets.take(ANN, code, device), { tries: 0 }, 'a known device, whose right code no guess has used up');
  wait(120);
  for (let guess = 0; guess < 10; guess++) t.equal(await resets.take(ANN, wrong(code)), undefined);
  await blocked(t, resets.take(ANN, code), '240');
});

t.test(
  'a right code that many concurrent requests send, or that is sent again, does not count as a guess',
  async (t) => {
    const { codes } = setUp();
    const code = await codes.issue(ANN);
    const taken = await Promise.all(Array.from({ length: 40 }, () => codes.take(ANN, code)));
    t.equal(taken.filter((each) => each !== undefined).length, 1);
    t.equal(await codes.take(ANN, code), undefined);
  },
);

t.test('of many concurrent guesses, at most ten learn whether they are right', async (t) => {
  const { codes } = setUp();
  for (let guess = 0; guess < 9; guess++) await codes.take(ANN, `00000${guess}`);
  const last = await codes.issue(ANN);
  const guesses = [wrong(last), last, wrong(last), wrong(last)];
  const results = await Promise.allSettled(guesses.map((guess) => codes.take(ANN, guess)));
  t.ok(
    results.filter(({ status }) => status === 'fulfilled').length <= 2,
    'the tenth wrong one, and a right one before it',
  );
});

t.test('twenty codes go to one address in a day', async (t) => {
  const { codes, wait } = setUp();
  for (let send = 0; send < 20; send++) {
    const sent = await codes.for(`purpose-${send % 3}`).countSend(ANN);
    if (send === 7) {
      await codes.uncountSend(ANN, sent);
      await codes.countSend(ANN);
    }
    wait(121);
  }
  await t.rejects(codes.countSend(ANN), TooManyRequests);
  await codes.countSend('bob@example.com');
  wait(24 * 3600 - 20 * 121);
  await codes.countSend(ANN);
  await t.rejects(codes.countSend(ANN), TooManyRequests);
});

t.test('a code made with one key is valid in processes that have it as a second key', async (t) => {
  const { store } = setUp();
  const newer = new Uint8Array(32).fill(8);
  const [before, during] = [
    new VerificationCodes(store, [secret, newer]),
    new VerificationCodes(store, [newer, secret]),
  ];
  const changes = [before.for('email-change'), during.for('email-change')];
  for (const [from, to] of [
    [before, during],
    [during, before],
  ] as const) {
    const code = await from.issue(ANN);
    t.equal(await to.take(ANN, wrong(code)), undefined);
    t.match(await to.take(ANN, code), { tries: 1 });
    const replaced = await from.issue(ANN);
    const fresh = await to.issue(ANN);
    if (replaced !== fresh) t.equal(await from.take(ANN, replaced), undefined, 'a newer code replaces it');
    t.ok(await from.take(ANN, fresh));
  }
  const noted = await changes[0]!.issue('7', 'new@example.com');
  t.match(await changes[1]!.takeNoted('7', noted), { note: 'new@example.com' });
});

t.test('one network cannot use up the codes of an address, and nobody those of its known devices', async (t) => {
  const { codes, wait } = setUp();
  const send = async (network: string, device?: string): Promise<number> => {
    wait(121);
    const refused = await codes.countSend(ANN, { network, device }).catch((error: unknown) => error);
    return refused instanceof TooManyRequests ? 429 : 200;
  };
  const sends = async (count: number, network: string, device?: string): Promise<number> => {
    let sent = 0;
    for (let each = 0; each < count; each++) if ((await send(network, device)) === 200) sent++;
    return sent;
  };
  t.equal(await sends(10, '192.0.2.1'), 7, 'one network');
  t.equal(await sends(3, '192.0.2.2'), 3, 'another one still gets codes');
  t.equal(await sends(10, '192.0.2.3'), 5, 'all unknown devices together: fifteen');
  t.equal(await sends(10, '192.0.2.4'), 0);
  t.equal(await sends(10, '192.0.2.4', 'known'), 5, 'a known device has five of its own');
  t.equal(await sends(5, '192.0.2.5', 'another'), 0, 'twenty in all');
  await t.resolves(codes.countSend('bob@example.com', { network: '192.0.2.1' }));
});

t.test(
  'five codes within 600 seconds of strangers refuse no known device, which may use those of all as well',
  async (t) => {
    const { codes } = setUp();
    for (let send = 0; send < 5; send++) await codes.countSend(ANN, { network: '192.0.2.1' });
    await t.rejects(codes.countSend(ANN, { network: '192.0.2.2' }), TooManyRequests);
    const sent = await codes.countSend(ANN, { network: '192.0.2.2', device: 'known' });
    await codes.uncountSend(ANN, sent);
    for (let send = 0; send < 5; send++) await codes.countSend(ANN, { network: '192.0.2.2', device: 'known' });
    await t.rejects(codes.countSend(ANN, { network: '192.0.2.2', device: 'known' }), TooManyRequests);
    for (let send = 0; send < 10; send++) {
      const limited = codes.countSend('bob@example.com', { network: '192.0.2.2', device: 'known' });
      await t.resolves(limited, 'five of its own, then five of all');
    }
  },
);
