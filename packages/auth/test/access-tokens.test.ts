import { createHmac } from 'node:crypto';
import { Unauthorized } from '@viewset/core';
import t from 'tap';
import { AccessTokens, AuthorizationHeader, sessionOf, type TokenOptions } from '../src/tokens/access-tokens.ts';
import { checkKeys, secretKeys } from '../src/tokens/signing-keys.ts';
import { makeKeys } from './support/keys.ts';

const secret = 'an application secret of 32 bytes';
const claims = { user_id: 7, username: 'Ann', email: 'ann@example.com', role: 'user' };
const bearer = new AuthorizationHeader('Bearer');
const HS256: TokenOptions = { algorithm: 'HS256', keys: secretKeys([secret]), lifetimeSeconds: 60 };

/** JSON text is taken as it is: `JSON.stringify` writes no 1e999. */
const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const decode = (part: string | undefined): unknown => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

/** A token made by hand, signed with the right secret unless told otherwise. */
function forge(header: object, payload: object | string, key: string = secret, hash = 'sha256'): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`;
}

t.test('a token carries exactly the six claims, and no more', async (t) => {
  const tokens = new AccessTokens(HS256);
  const before = Math.floor(Date.now() / 1000);
  const token = tokens.issue({ ...claims, password: 'x' } as never);
  const [header, payload] = token.split('.');
  t.strictSame(decode(header), { alg: 'HS256', typ: 'JWT', kid: secretKeys([secret])[0]?.id });
  const { iat, exp, ...rest } = decode(payload) as Record<string, number>;
  t.strictSame(rest, claims);
  t.ok(iat! >= before && iat! <= before + 2);
  t.equal(exp! - iat!, 60);
  t.match(tokens.read(token), claims);
});

for (const [algorithm, key] of [
  ['RS256', makeKeys({ type: 'rsa', bits: 2048 })],
  ['ES256', makeKeys({ type: 'ec', curve: 'P-256' })],
  ['EdDSA', makeKeys({ type: 'ed25519' })],
] as const) {
  t.test(`${algorithm} signs with the private key and refuses the public one as an HMAC secret`, async (t) => {
    const tokens = new AccessTokens({ algorithm, keys: checkKeys(algorithm, key), lifetimeSeconds: 60 });
    const token = tokens.issue(claims);
    t.match(decode(token.split('.')[0]), { alg: algorithm });
    t.match(tokens.read(token), claims);
    const now = Math.floor(Date.now() / 1000);
    const confused = forge({ alg: 'HS256', typ: 'JWT' }, { ...claims, iat: now, exp: now + 60 }, key.public);
    t.throws(() => tokens.read(confused), Unauthorized);
    const other = new AccessTokens({ ...HS256 });
    t.throws(() => other.read(token), Unauthorized);
  });
}

t.test('an invalid token returns 401', async (t) => {
  const tokens = new AccessTokens(HS256);
  const now = Math.floor(Date.now() / 1000);
  const live = { ...claims, iat: now, exp: now + 60 };
  const good = tokens.issue(claims);
  t.match(tokens.read(forge({ alg: 'HS256' }, live)), claims, 'the forger’s tools work');
  const [header, payload, signature] = good.split('.') as [string, string, string];
  const bad: Record<string, string> = {
    'no alg': forge({}, live),
    none: `${encode({ alg: 'none' })}.${encode(live)}.`,
    'none, with a signature': forge({ alg: 'none' }, live),
    None: `${encode({ alg: 'None' })}.${encode(live)}.`,
    HS512: forge({ alg: 'HS512' }, live, secret, 'sha512'),
    'another secret': forge({ alg: 'HS256' }, live, `${secret}!`),
    'no signature': `${header}.${payload}.`,
    'two parts': `${header}.${payload}`,
    'four parts': `${good}.x`,
    'changed payload': `${header}.${encode({ ...live, user_id: 1 })}.${signature}`,
    'changed signature': `${header}.${payload}.${signature.slice(0, -4)}AAAA`,
    padded: `${good}=`,
    expired: forge({ alg: 'HS256' }, { ...live, exp: now - 1 }),
    'exp long ago': forge({ alg: 'HS256' }, { ...live, exp: -1e300 }),
    'no exp': forge({ alg: 'HS256' }, { ...claims, iat: now }),
    'exp as text': forge({ alg: 'HS256' }, { ...live, exp: String(now + 60) }),
    'exp null': forge({ alg: 'HS256' }, { ...live, exp: null }),
    'exp endless': forge({ alg: 'HS256' }, JSON.stringify(live).replace(String(live.exp), '1e999')),
    'exp in ages': forge({ alg: 'HS256' }, { ...live, exp: 1e300 }),
    'exp further than any lifetime': forge({ alg: 'HS256' }, { ...live, exp: now + 2 ** 31 + 10 }),
    'exp NaN': forge({ alg: 'HS256' }, { ...live, exp: Number.NaN }),
    'exp a list': forge({ alg: 'HS256' }, { ...live, exp: [now + 60] }),
    'exp true': forge({ alg: 'HS256' }, { ...live, exp: true }),
    'no iat': forge({ alg: 'HS256' }, { ...live, iat: undefined }),
    'iat as text': forge({ alg: 'HS256' }, { ...live, iat: String(now) }),
    'iat as words': forge({ alg: 'HS256' }, { ...live, iat: 'yesterday' }),
    'iat empty': forge({ alg: 'HS256' }, { ...live, iat: '' }),
    'iat null': forge({ alg: 'HS256' }, { ...live, iat: null }),
    'iat true': forge({ alg: 'HS256' }, { ...live, iat: true }),
    'iat a list': forge({ alg: 'HS256' }, { ...live, iat: [now] }),
    'iat an object': forge({ alg: 'HS256' }, { ...live, iat: {} }),
    'iat endless': forge({ alg: 'HS256' }, JSON.stringify(live).replace(`"iat":${now}`, '"iat":1e999')),
    'iat before time': forge({ alg: 'HS256' }, { ...live, iat: -1 }),
    'iat after exp': forge({ alg: 'HS256' }, { ...live, iat: now + 61 }),
    'both endless': forge({ alg: 'HS256' }, JSON.stringify({ ...claims, iat: 0 }).replace('0}', '1e999,"exp":1e999}')),
    'not yet': forge({ alg: 'HS256' }, { ...live, nbf: now + 60 }),
    'payload an array': forge({ alg: 'HS256' }, [1]),
    'unknown crit': forge({ alg: 'HS256', crit: ['x'], x: 1 }, live),
    empty: '..',
    'one dot': '.',
    word: 'x',
    'a page of dots': '.'.repeat(8000),
  };
  for (const [name, token] of Object.entries(bad)) {
    t.throws(() => tokens.read(token), Unauthorized, name);
  }
  t.throws(() => tokens.read(forge({ alg: 'HS256' }, { ...live, exp: now - 1 })), { message: 'The token has expired' });
});

t.test('the scheme is read in any case, with any number of spaces behind it', async (t) => {
  for (const header of ['Bearer a.b.c', 'bearer a.b.c', 'BEARER    a.b.c', '  Bearer a.b.c  ']) {
    t.equal(bearer.token(header), 'a.b.c', header);
  }
});

t.test('a missing header, another scheme and the scheme without a token count as no token', async (t) => {
  for (const header of [undefined, '', 'Basic YTpi', 'Bearer', 'Bearer  ', 'BearerToken', 'a.b.c', 'Token Bearer x']) {
    t.equal(bearer.token(header), undefined, String(header));
  }
});

t.test('anything but one token after the scheme returns 401', async (t) => {
  for (const header of ['Bearer a b', 'Bearer a,Bearer b', 'Bearer "a"', 'Bearer é', 'Bearer a\0', 'Bearer =']) {
    t.throws(() => bearer.token(header), Unauthorized, JSON.stringify(header));
  }
});

t.test('the scheme of the option is accepted as well as Bearer', async (t) => {
  const header = new AuthorizationHeader('Token');
  for (const text of ['Bearer a.b.c', 'Token a.b.c', 'token   a.b.c']) t.equal(header.token(text), 'a.b.c', text);
  for (const text of ['Basic YTpi', 'Tokens a.b.c', 'Token']) t.equal(header.token(text), undefined, text);
  t.throws(() => header.token('Token a b'), Unauthorized);
});

t.test('the session id is in the header of a token, and its claims do not change', async (t) => {
  for (const options of [
    HS256,
    { ...HS256, algorithm: 'EdDSA', keys: checkKeys('EdDSA', makeKeys({ type: 'ed25519' })) } as const,
  ]) {
    const tokens = new AccessTokens(options);
    const token = tokens.issue(claims, 'a-session');
    const [header, payload] = token.split('.');
    t.match(decode(header), { alg: options.algorithm, typ: 'JWT', sid: 'a-session' });
    t.strictSame(Object.keys(decode(payload) as object), [...Object.keys(claims), 'iat', 'exp']);
    t.equal(sessionOf(tokens.read(token)), 'a-session');
    t.equal(sessionOf(tokens.read(tokens.issue(claims))), undefined);
  }
});

t.test('of several keys the first signs, and all verify, with or without a key id', async (t) => {
  const [older, newer, foreign] = ['older', 'newer', 'other'].map(
    (word) => `${word} secret of thirty-two bytes, or so`,
  );
  const of = (...secrets: (string | undefined)[]): AccessTokens =>
    new AccessTokens({ ...HS256, keys: secretKeys(secrets as string[]) });
  const [before, during, after] = [of(older, newer), of(newer, older), of(newer)];
  const [first, second] = [before.issue(claims), during.issue(claims, 'a session')];
  t.not((decode(first.split('.')[0]) as { kid: string }).kid, (decode(second.split('.')[0]) as { kid: string }).kid);
  for (const tokens of [before, during]) {
    t.match(tokens.read(first), claims);
    t.equal(sessionOf(tokens.read(second)), 'a session');
  }
  t.match(after.read(second), claims);
  t.throws(() => after.read(first), Unauthorized, 'the older one is gone');
  const times = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 60 };
  const [newest] = secretKeys([newer!]);
  for (const kid of [undefined, 'unknown', 7, null, newest?.id, '__proto__']) {
    const header = { alg: 'HS256', typ: 'JWT', kid };
    t.match(during.read(forge(header, { ...claims, ...times }, newer)), claims, `kid ${String(kid)}`);
    t.throws(() => during.read(forge(header, { ...claims, ...times }, foreign)), Unauthorized);
  }
  t.throws(() => during.read(forge({ alg: 'HS256', kid: newest?.id }, { ...claims, ...times }, older)), Unauthorized);
  const expired = forge({ alg: 'HS256' }, { ...claims, iat: 1, exp: 2 }, older);
  t.throws(() => during.read(expired), { message: 'The token has expired' });
});

t.test('public keys without private keys can verify', async (t) => {
  const [one, two] = [makeKeys({ type: 'ec', curve: 'P-256' }), makeKeys({ type: 'ec', curve: 'P-256' })];
  const keysOf = (...pairs: object[]): TokenOptions => ({
    algorithm: 'ES256',
    keys: checkKeys('ES256', pairs as never),
    lifetimeSeconds: 60,
  });
  const token = new AccessTokens(keysOf(one)).issue(claims);
  t.match(new AccessTokens(keysOf(two, { public: one.public })).read(token), claims);
  t.throws(() => new AccessTokens(keysOf(two)).read(token), Unauthorized);
});
