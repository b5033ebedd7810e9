import { ImproperlyConfigured } from '@viewset/core';
import t from 'tap';
import * as argon2Library from '@node-rs/argon2';
import { normalizePassword, PasswordHasher } from '../src/passwords/password-hasher.ts';
import { CHANGE_EMAIL_BODY, DELETE_BODY, LOGIN_BODY, PROOF_BODY } from '../src/routes/request-body.ts';
import { watchComparisons } from './support/comparisons.ts';

const hasher = new PasswordHasher({ rounds: 4 });

t.test('a hash is a salted bcrypt hash, and matches only its password', async (t) => {
  const [hash, again] = await Promise.all([hasher.hash('correct horse'), hasher.hash('correct horse')]);
  t.match(hash, /^\$2b\$04\$.{53}$/);
  t.not(hash, again);
  t.equal(await hasher.matches('correct horse', hash), true);
  t.equal(await hasher.matches('correct horsf', hash), false);
  t.equal(await hasher.matches('', hash), false);
});

t.test('every byte of a password counts, including a NUL and the bytes after it', async (t) => {
  const hash = await hasher.hash('pass\0word');
  t.equal(await hasher.matches('pass\0word', hash), true);
  t.equal(await hasher.matches('pass\0other', hash), false);
  t.equal(await hasher.matches('pass', hash), false);
});

t.test('passwords have at most 72 bytes: a longer one is neither hashed nor ever right', async (t) => {
  const longest = 'é'.repeat(36);
  const hash = await hasher.hash(longest);
  t.equal(await hasher.matches(longest, hash), true);
  t.equal(await hasher.matches(`${longest}x`, hash), false);
  await t.rejects(hasher.hash(`${longest}x`), RangeError);
});

t.test('a missing hash and an invalid one match no password', async (t) => {
  for (const stored of [undefined, '', 'plain', '$2b$04$short', '*', '$argon2id$v=19$m=1']) {
    t.equal(await hasher.matches(stored ?? '', stored), false, String(stored));
  }
});

t.test('a comparison without a hash has the same cost as one with a hash', async (t) => {
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

t.test('a hash that bcrypt computes nothing for costs what any other costs', async (t) => {
  const hash = await hasher.hash('correct horse');
  const comparisons = watchComparisons(t);
  for (const stored of [`${hash.slice(0, -1)}B`, `${hash.slice(0, 28)}A${hash.slice(29)}`]) {
    comparisons.length = 0;
    t.equal(await hasher.matches('correct horse', stored), false);
    t.same(comparisons, ['$2b$04$']);
  }
});

t.test('hashes of PHP match', async (t) => {
  const hash = (await hasher.hash('correct horse')).replace('$2b$', '$2y$');
  t.match(await hasher.check('correct horse', hash), { matches: true, isOutdated: false });
  t.equal(await hasher.matches('correct horsf', hash), false);
});

t.test('rounds out of bounds are refused', async (t) => {
  for (const rounds of [3, 21, 4.5, NaN, '12' as never]) {
    t.throws(() => new PasswordHasher({ rounds }), ImproperlyConfigured);
  }
  t.equal(new PasswordHasher().rounds, 12);
});

const argon2 = { library: argon2Library, memoryKiB: 64, passes: 1 };

t.test('with argon2 new hashes are Argon2id, those of bcrypt match and are outdated', async (t) => {
  const moved = new PasswordHasher({ rounds: 4, argon2 });
  const hash = await moved.hash('correct horse');
  t.match(hash, /^\$argon2id\$v=19\$m=64,t=1,p=1\$/);
  t.match(await moved.check('correct horse', hash), { matches: true, isOutdated: false });
  t.match(await moved.check('correct horsf', hash), { matches: false });
  const old = await hasher.hash('correct horse');
  t.match(await moved.check('correct horse', old), { matches: true, isOutdated: true });
  t.match(await moved.check('correct horsf', old), { matches: false });
  t.match(await hasher.check('correct horse', hash), { matches: false }, 'bcrypt alone knows no other hash');
  const dearer = new PasswordHasher({ rounds: 4, argon2: { ...argon2, passes: 2 } });
  t.match(await dearer.check('correct horse', hash), { matches: true, isOutdated: true });
});

t.test('with argon2 every byte of a long password counts', async (t) => {
  const moved = new PasswordHasher({ rounds: 4, argon2 });
  const long = 'x'.repeat(200);
  const hash = await moved.hash(long);
  t.equal(await moved.matches(long, hash), true);
  t.equal(await moved.matches(`${long}y`, hash), false);
  t.equal(await moved.matches(long.slice(1), hash), false);
});

t.test('with argon2 each wrong password costs a comparison of both kinds', async (t) => {
  const verified: string[] = [];
  const library = {
    hash: argon2Library.hash,
    verify: (hash: string, password: string) => (
      verified.push(hash.slice(0, 24)),
      argon2Library.verify(hash, password)
    ),
  };
  const moved = new PasswordHasher({ rounds: 5, argon2: { ...argon2, library } });
  const comparisons = watchComparisons(t);
  for (const stored of [undefined, 'no hash', await hasher.hash('correct horse'), await moved.hash('correct horse')]) {
    verified.length = comparisons.length = 0;
    t.equal(await moved.matches('wrong', stored), false);
    t.strictSame(verified, ['$argon2id$v=19$m=64,t=1,']);
    t.ok(comparisons.length > 0);
  }
});

t.test('wrong options of argon2 are refused', async (t) => {
  for (const wrong of [
    {},
    { library: {} },
    { ...argon2, passes: 0 },
    { ...argon2, memoryKiB: 7.5 },
    { ...argon2, lanes: 2 },
  ]) {
    t.throws(() => new PasswordHasher({ argon2: wrong as never }), ImproperlyConfigured);
  }
});

t.test('the documented length of a sent password holds for every form of Unicode', (t) => {
  const { maxLength } = LOGIN_BODY.properties.password as { readonly maxLength?: number };
  t.equal(maxLength, 4 * 1024);
  // The longest decomposition of one character has four.
  const longest = Array.from('\u1f82'.repeat(1024).normalize('NFD')).length;
  t.equal(longest, maxLength);
  t.equal(Array.from(normalizePassword('\u1f82'.repeat(1024).normalize('NFD'))).length, 1024);
  for (const body of [DELETE_BODY, CHANGE_EMAIL_BODY, PROOF_BODY]) t.match(body.properties.password, { maxLength });
  t.end();
});
