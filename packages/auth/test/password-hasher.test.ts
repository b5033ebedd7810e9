import { ImproperlyConfigured } from '@viewset/core';
import t from 'tap';
import { PasswordHasher } from '../src/password-hasher.ts';
import { watchComparisons } from './support/comparisons.ts';

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
  const hasher = new PasswordHasher({ rounds: 5 });
  const hash = await hasher.hash('correct horse');
  const comparisons = watchComparisons(t);
  for (const [password, stored] of [
    ['wrong', hash],
    ['wrong', undefined],
    ['wrong', 'not a hash'],
    ['x'.repeat(100), hash],
  ] as const) {
    comparisons.length = 0;
    t.equal(await hasher.matches(password, stored), false);
    t.same(comparisons, ['$2b$05$']);
  }
});

t.test('rounds out of bounds are refused', async (t) => {
  for (const rounds of [3, 21, 4.5, NaN, '12' as never]) {
    t.throws(() => new PasswordHasher({ rounds }), ImproperlyConfigured);
  }
  t.equal(new PasswordHasher().rounds, 12);
});
