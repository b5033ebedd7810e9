/** `app.auth.jwt`, without an application: tokens of any purpose, by the keys of the plugin. */
import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { ImproperlyConfigured, Unauthorized } from '@viewset/core';
import t from 'tap';
import { AccessTokens, type TokenOptions } from '../src/tokens/access-tokens.ts';
import { jwtHelpers } from '../src/tokens/jwt-helpers.ts';
import { checkKeys, secretKeys, type TokenKey } from '../src/tokens/signing-keys.ts';
import { makeKeys } from './support/keys.ts';

const [OLD, NEW] = ['an older secret of thirty-two bytes', 'a newer secret of thirty-two bytes'];
const HS256: TokenOptions = { algorithm: 'HS256', keys: secretKeys([NEW]), lifetimeSeconds: 60 };
const claims = { user_id: 7, username: 'Ann', email: 'ann@example.com', role: 'user' };

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const partOf = (token: string, index: 0 | 1): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[index]!, 'base64url').toString()) as Record<string, unknown>;

function forge(header: object, payload: object, key: string): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
}

const RSA = makeKeys({ type: 'rsa', bits: 2048 });
const ALGORITHMS: readonly TokenOptions[] = [
  HS256,
  { ...HS256, algorithm: 'RS256', keys: checkKeys('RS256', RSA) },
  { ...HS256, algorithm: 'ES256', keys: checkKeys('ES256', makeKeys({ type: 'ec', curve: 'P-256' })) },
  { ...HS256, algorithm: 'EdDSA', keys: checkKeys('EdDSA', makeKeys({ type: 'ed25519' })) },
];

t.test('a token of another purpose has the payload, the times and the options, by every algorithm', async (t) => {
  for (const options of ALGORITHMS) {
    const jwt = jwtHelpers(new AccessTokens(options));
    const token = jwt.sign(
      { file: 7 },
      { typ: 'download', expiresIn: 5, aud: ['a', 'b'], iss: 'i', sub: 's', jti: 'j' },
    );
    t.strictSame(partOf(token, 0), { alg: options.algorithm, typ: 'download', kid: options.keys[0]!.id });
    const { iat, exp, ...rest } = jwt.verify(token, { checkTyp: 'download' });
    t.strictSame(rest, { file: 7, aud: ['a', 'b'], iss: 'i', sub: 's', jti: 'j' });
    t.equal(exp - iat, 5);
    const standard = jwt.verify(jwt.sign({}));
    t.equal(standard.exp - standard.iat, 60, 'the lifetime of access tokens');
  }
});

t.test('a token with a purpose is no login, and a login has no other purpose', async (t) => {
  const tokens = new AccessTokens(HS256);
  const jwt = jwtHelpers(tokens);
  const download = jwt.sign(claims, { typ: 'download' });
  t.throws(() => tokens.read(download), Unauthorized);
  t.throws(() => jwt.verify(download), Unauthorized);
  t.throws(() => jwt.verify(download, { checkTyp: 'upload' }), Unauthorized);
  t.throws(() => jwt.verify(tokens.issue(claims), { checkTyp: 'download' }), Unauthorized);
  t.match(jwt.verify(tokens.issue(claims, 'a session')), claims);
  t.match(tokens.read(jwt.sign(claims)), claims);
  const now = Math.floor(Date.now() / 1000);
  const times = { iat: now, exp: now + 60 };
  for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt']) {
    t.match(tokens.read(forge({ alg: 'HS256', typ }, { ...claims, ...times }, NEW)), claims, String(typ));
  }
  for (const typ of ['', 'JWTs', 'x+jwt', 'application/x', null, 7, ['JWT'], {}]) {
    t.throws(
      () => tokens.read(forge({ alg: 'HS256', typ }, { ...claims, ...times }, NEW)),
      Unauthorized,
      JSON.stringify(typ),
    );
  }
});

t.test('a check refuses a token without the claim', async (t) => {
  const jwt = jwtHelpers(new AccessTokens(HS256));
  const token = jwt.sign({}, { aud: 'shop', iss: 'i', sub: 's', jti: 'j' });
  t.match(jwt.verify(token, { allowedAud: ['x', 'shop'], allowedIss: 'i', allowedSub: 's', allowedJti: ['j'] }), {});
  t.match(jwt.verify(token, { maxAge: 60 }), { aud: 'shop' });
  for (const name of ['allowedAud', 'allowedIss', 'allowedSub', 'allowedJti']) {
    t.throws(() => jwt.verify(token, { [name]: 'other' }), Unauthorized, name);
    t.throws(() => jwt.verify(jwt.sign({}), { [name]: 'shop' }), Unauthorized, `${name}, without the claim`);
  }
  const now = Math.floor(Date.now() / 1000);
  const early = forge({ alg: 'HS256' }, { iat: now - 100, exp: now + 60 }, NEW);
  t.match(jwt.verify(early), {});
  t.throws(() => jwt.verify(early, { maxAge: 60 }), { message: 'The token has expired' });
  t.throws(() => jwt.verify(jwt.sign({}, { notBefore: 60 })), Unauthorized);
});

t.test('forged tokens are refused, as those of requests', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const live = { ...claims, iat: now, exp: now + 60 };
  const rsa = new AccessTokens(ALGORITHMS[1]!);
  for (const key of [RSA.public, RSA.public.trim(), RSA.public.replaceAll('\n', '')]) {
    t.throws(() => jwtHelpers(rsa).verify(forge({ alg: 'HS256', typ: 'JWT' }, live, key)), Unauthorized);
  }
  const two = jwtHelpers(new AccessTokens({ ...HS256, keys: secretKeys([NEW, OLD]) }));
  const [newer, older] = secretKeys([NEW, OLD]) as readonly [TokenKey, TokenKey];
  t.match(two.verify(forge({ alg: 'HS256', kid: older.id }, live, OLD)), claims);
  const huge = 'x'.repeat(2_000_000);
  const bad: Record<string, string> = {
    none: `${encode({ alg: 'none' })}.${encode(live)}.`,
    'none with the name of a key': `${encode({ alg: 'none', kid: older.id })}.${encode(live)}.`,
    'the name of another key': forge({ alg: 'HS256', kid: newer.id }, live, OLD),
    'a key of its own': forge({ alg: 'HS256', jwk: { kty: 'oct', k: encode('x') }, kid: 'x' }, live, 'x'),
    crit: forge({ alg: 'HS256', crit: ['exp'] }, live, NEW),
    'crit that is empty': forge({ alg: 'HS256', crit: [] }, live, NEW),
    'crit with a known name': forge({ alg: 'HS256', crit: ['kid'], kid: newer.id }, live, NEW),
    'crit as a text': forge({ alg: 'HS256', crit: 'sid', sid: 'x' }, live, NEW),
    'b64 off': forge({ alg: 'HS256', b64: false, crit: ['b64'] }, live, NEW),
    expired: forge({ alg: 'HS256' }, { ...live, exp: now - 1 }, NEW),
    'not yet': forge({ alg: 'HS256' }, { ...live, nbf: now + 60 }, NEW),
    'a huge signature': `${encode({ alg: 'HS256' })}.${encode(live)}.${huge}`,
    'a huge header': `${huge}.${encode(live)}.x`,
    'huge, forged': forge({ alg: 'HS256' }, { ...live, huge }, 'another secret of thirty-two bytes'),
    empty: '',
  };
  for (const [name, token] of Object.entries(bad)) t.throws(() => two.verify(token), Unauthorized, name);
  for (const token of [undefined, null, 7, {}, Buffer.from('x')]) {
    t.throws(() => two.verify(token as string), Unauthorized, inspect(token));
  }
});

t.test('all keys verify, the first signs, and a key may stand in the list twice', async (t) => {
  const jwtOf = (...secrets: string[]) => jwtHelpers(new AccessTokens({ ...HS256, keys: secretKeys(secrets) }));
  const token = jwtOf(OLD).sign({ file: 7 });
  t.match(jwtOf(NEW, OLD).verify(token), { file: 7 });
  t.match(jwtOf(OLD, OLD).verify(token), { file: 7 });
  t.throws(() => jwtOf(NEW).verify(token), Unauthorized);
  const pair = makeKeys({ type: 'ed25519' });
  const keys = checkKeys('EdDSA', [pair, { public: pair.public }]);
  const jwt = jwtHelpers(new AccessTokens({ ...HS256, algorithm: 'EdDSA', keys }));
  t.match(jwt.verify(jwt.sign({ file: 7 })), { file: 7 });
});

t.test('wrong payloads and options are named, and switch no check off', async (t) => {
  const jwt = jwtHelpers(new AccessTokens(HS256)) as unknown as Record<'sign' | 'verify', (...args: unknown[]) => void>;
  for (const [payload, message] of [
    ['x', /payload must be an object/],
    [null, /payload must be an object/],
    [[1], /payload must be an object/],
    [{ exp: 1 }, /must not have the claim "exp"; use the option "expiresIn"/],
    [{ nbf: 1 }, /"nbf"; use the option "notBefore"/],
    [{ iat: 1 }, /must not have the claim "iat"$/],
  ] as const) {
    t.throws(() => jwt.sign(payload), { name: 'ImproperlyConfigured', message });
  }
  for (const [options, message] of [
    [{ expiresIn: '1h' }, /option "expiresIn" must be a whole number of seconds, at most 2147483647, got "1h"/],
    [{ expiresIn: 0 }, /"expiresIn"/],
    [{ expiresIn: 2 ** 31 }, /"expiresIn"/],
    [{ expiresIn: undefined }, /"expiresIn"/],
    [{ notBefore: -1 }, /"notBefore"/],
    [{ algorithm: 'none' }, /unknown option "algorithm"/],
    [{ key: 'x' }, /unknown option "key"/],
    [{ header: { alg: 'none' } }, /unknown option "header"/],
    [{ typ: '' }, /"typ" must be a text/],
    [{ aud: [] }, /"aud" must be a text or a list of texts/],
    [() => {}, /options must be an object/],
  ] as const) {
    t.throws(() => jwt.sign({}, options), { name: 'ImproperlyConfigured', message });
  }
  for (const [options, message] of [
    [{ algorithms: ['none'] }, /unknown option "algorithms"/],
    [{ ignoreExpiration: true }, /unknown option "ignoreExpiration"/],
    [{ key: 'x' }, /unknown option "key"/],
    [{ cache: true }, /unknown option "cache"/],
    [{ allowedAud: undefined }, /"allowedAud" must be a text or a list of texts, got undefined/],
    [{ allowedIss: '' }, /"allowedIss"/],
    [{ allowedSub: [''] }, /"allowedSub"/],
    [{ allowedJti: /./ }, /"allowedJti"/],
    [{ checkTyp: undefined }, /"checkTyp" must be a text/],
    [{ maxAge: 0 }, /"maxAge"/],
    [() => {}, /options must be an object/],
  ] as const) {
    t.throws(() => jwt.verify('x', options), { name: 'ImproperlyConfigured', message });
  }
  t.throws(() => jwt.sign({}, null), ImproperlyConfigured);
});
