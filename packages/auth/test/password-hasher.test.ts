import { ImproperlyConfigured } from '@viewset/core';
import t from 'tap';
import { PasswordHasher } from '../src/password-hasher.ts';

const hasher = new PasswordHasher({ rounds: 4 });

t.test('a hash is bcrypt’s, salted, and matches its password alone', async (t) => {
  const [hash, again] = await Promise.all([hasher.hash('correct horse'), hasher.hash('correct horse')]);
  t.match(hash, /^\$2b\$04\$.{53}$/);
  t.not(hash, again);
  t.equal(await hasher.matches('correct horse', hash), true);
  t.equal(await hasher.matches('correct horsf', hash), false);
  t.equal(await hasher.matches('', hash), false);
});

t.test('every byte of a password counts, a NUL and what follows it too', async (t) => {
  const hash = await hasher.hash('pass\0word');
  t.equal(await hasher.matches('pass\0word', hash), true);
  t.equal(await hasher.matches('pass\0other', hash), false);
  t.equal(await hasher.matches('pass', hash), false);
});

t.test('72 bytes are the most: a longer password is neither hashed nor ever right', async (t) => {
  const longest = 'é'.repeat(36);
  const hash = await hasher.hash(longest);
  t.equal(await hasher.matches(longest, hash), true);
  t.equal(await hasher.matches(`${longest}x`, hash), false);
  await t.rejects(hasher.hash(`${longest}x`), RangeError);
});

t.test('no hash, and none of bcrypt’s, match nothing', async (t) => {
  for (const stored of [undefined, '', 'plain', '$2b$04$short', '*', '$argon2id$v=19$m=1']) {
    t.equal(await hasher.matches(stored ?? '', stored), false, String(stored));
  }
});

t.test('a comparison with nothing costs what one with a hash costs', async (t) => {
  const slow = new PasswordHasher({ rounds: 9 });
  const hash = await slow.hash('correct horse');
  await slow.prepare();
  const time = async (password: string, stored: string | undefined): Promise<number> => {
    const times: number[] = [];
    for (let round = 0; round < 7; round++) {
      const started = performance.now();
      await slow.matches(password, stored);
      times.push(performance.now() - started);
    }
    return times.toSorted((a, b) => a - b)[3] ?? 0;
  };
  const wrong = await time('wrong', hash);
  for (const [name, spent] of [
    ['unknown', await time('wrong', undefined)],
    ['not a hash', await time('wrong', 'plain')],
    ['too long', await time('x'.repeat(100), hash)],
  ] as const) {
    t.ok(spent > wrong * 0.5 && spent < wrong * 2, `${name}: ${spent.toFixed(1)} ms beside ${wrong.toFixed(1)} ms`);
  }
});

t.test('rounds out of bounds are refused', async (t) => {
  for (const rounds of [3, 21, 4.5, NaN, '12' as never]) t.throws(() => new PasswordHasher({ rounds }), ImproperlyConfigured);
  t.equal(new PasswordHasher().rounds, 12);
});
