/** Secrets and keys are replaced while processes with the old ones still run. */
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { MemoryStore } from '@viewset/core';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import type { AuthOptions } from '../../src/index.ts';
import { PASSWORD, startApp, type TestApp } from '../support/app.ts';
import { Browser } from '../support/browser.ts';
import { Account, Role, Session, TwoFactor } from '../support/entities.ts';
import { makeKeys } from '../support/keys.ts';
import { codeOf } from '../support/totp-code.ts';

const OLD = 'the old secret, of more than 32 bytes';
const NEW = 'the new secret, of more than 32 bytes';
interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly two_factor_token: string;
}

forEachDatabase(t, { entities: [Account, Role, Session, TwoFactor] }, async (t, orm) => {
  const store = new MemoryStore();
  t.teardown(() => store.close());
  const common: Partial<AuthOptions> = { sessions: Session, twoFactor: TwoFactor, passwords: {}, store };
  const start = (secret: string | readonly string[]): Promise<TestApp> => startApp(t, orm, { ...common, secret });
  const old = await start(OLD);
  const first = await start([OLD, NEW]);
  const second = await start([NEW, OLD]);
  const fresh = await start(NEW);
  const login = async (at: TestApp, email: string): Promise<Tokens> =>
    (await at.post('/auth/login', { email, password: PASSWORD, refresh: 'body' })).body as unknown as Tokens;
  const bodyOf = async (answer: Promise<{ body: unknown }>): Promise<Tokens> => (await answer).body as Tokens;

  t.test('the processes of each step accept the tokens of the step before and after', async (t) => {
    await old.addAccount('ann@example.com');
    const steps = [old, first, second, fresh];
    for (const [index, at] of steps.entries()) {
      const { access_token, refresh_token } = await login(at, 'ann@example.com');
      const neighbours = [steps[index - 1], at, steps[index + 1]].filter((each) => each !== undefined);
      for (const other of neighbours) {
        t.equal((await other.get('/me', access_token)).status, 200);
        const answer = await other.post('/auth/refresh', { refresh_token });
        t.equal(answer.status, 200);
      }
    }
    const { access_token: last, refresh_token } = await login(old, 'ann@example.com');
    t.equal((await fresh.get('/me', last)).status, 401, 'a secret that was removed');
    t.equal((await fresh.post('/auth/refresh', { refresh_token })).status, 401);
  });

  t.test(
    'refreshes at once in processes of two steps leave one chain, which goes on with the new secret',
    async (t) => {
      await old.addAccount('bob@example.com');
      let token = (await login(first, 'bob@example.com')).refresh_token;
      for (let round = 0; round < 5; round++) {
        const sent = token;
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) =>
            (index % 2 ? first : second).post('/auth/refresh', { refresh_token: sent }),
          ),
        );
        t.ok(answers.every(({ status }) => status === 200));
        token = (answers[round % 2]!.body as unknown as Tokens).refresh_token;
      }
      const last = await bodyOf(second.post('/auth/refresh', { refresh_token: token }));
      t.equal((await fresh.post('/auth/refresh', { refresh_token: last.refresh_token })).status, 200);
    },
  );

  t.test(
    'codes, a second factor, a device cookie and an attempt to log in pass from one step to the next',
    async (t) => {
      const email = 'eve@example.com';
      await old.addAccount(email);
      const reset = { email, code: '', new_password: PASSWORD };
      const from = first.mailer.mails.length;
      await first.post('/auth/forgot-password', { email });
      reset.code = await first.sentCode(from, email);
      t.equal((await second.post('/auth/reset-password', reset)).status, 204);
      const by = { authorization: `Bearer ${(await login(old, email)).access_token}` };
      const { secret } = (await old.post('/auth/two-factor', {}, by)).body as unknown as { secret: string };
      const confirmed = await old.post('/auth/two-factor/confirm', { code: codeOf(secret, -1) }, by);
      const [recovery] = (confirmed.body as unknown as { recovery_codes: string[] }).recovery_codes;
      const attempt = (await login(first, email)).two_factor_token;
      const finish = (at: TestApp, two_factor_token: string, code?: string) =>
        at.post('/auth/login/two-factor', { two_factor_token, code });
      t.equal((await finish(second, attempt, recovery)).status, 200, 'a recovery code');
      const again = (await login(second, email)).two_factor_token;
      t.equal((await finish(second, again, codeOf(secret))).status, 200);
      const later = (await login(fresh, email)).two_factor_token;
      t.equal(
        (await finish(fresh, later, codeOf(secret, 1))).status,
        200,
        'the secret is encrypted with the new key now',
      );
    },
  );

  t.test('limits are counted together by the processes of neighbouring steps', async (t) => {
    const steps = [old, first, second, fresh];
    for (const [index, at] of steps.slice(0, -1).entries()) {
      const next = steps[index + 1]!;
      const email = `limit${index}@example.com`;
      await old.addAccount(email);
      const wrong = (by: TestApp, password: string) => by.post('/auth/login', { email, password });
      for (const by of [at, next]) {
        for (let tries = 0; tries < 5; tries++) t.equal((await wrong(by, 'wrong')).status, 401);
      }
      for (const by of [at, next]) t.equal((await wrong(by, PASSWORD)).status, 429, `the block of step ${index}`);
      const ask = async (by: TestApp): Promise<number> => (await by.post('/auth/forgot-password', { email })).status;
      for (const by of [at, next, at, next, next]) t.equal(await ask(by), 200);
      for (const by of [at, next]) t.equal(await ask(by), 429, `the mails of step ${index}`);
    }
  });

  t.test('a code that was used in one step is no guess in the next', async (t) => {
    for (const [index, [at, next]] of [
      [first, second],
      [second, first],
    ].entries()) {
      const email = `used${index}@example.com`;
      await old.addAccount(email);
      const from = at!.mailer.mails.length;
      await at!.post('/auth/forgot-password', { email });
      const reset = { email, code: await at!.sentCode(from, email), new_password: PASSWORD };
      t.equal((await at!.post('/auth/reset-password', reset)).status, 204);
      for (let tries = 0; tries < 12; tries++) {
        t.equal((await next!.post('/auth/reset-password', reset)).status, 400);
      }
    }
  });

  t.test('a browser that logged in before is still a known device', async (t) => {
    const email = 'dan@example.com';
    await old.addAccount(email);
    const browser = new Browser(old);
    await browser.login(email);
    const at = new Browser(second);
    for (const [name, value] of browser.cookies) at.cookies.set(name, value);
    for (let wrong = 0; wrong < 11; wrong++) await second.post('/auth/login', { email, password: 'wrong' });
    t.equal((await second.post('/auth/login', { email, password: PASSWORD })).status, 429);
    t.equal((await at.login(email)).status, 200);
  });
});

t.test('the public keys are at /.well-known/jwks.json, and verify the tokens that name them', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const kinds = [
    ['RS256', { type: 'rsa', bits: 2048 }],
    ['ES256', { type: 'ec', curve: 'P-256' }],
    ['EdDSA', { type: 'ed25519' }],
  ] as const;
  await orm.em
    .fork()
    .insert(Account, { email: 'x@example.com', password: 'x', name: 'x', is_active: true, created_at: new Date() });
  for (const [algorithm, kind] of kinds) {
    const [one, two] = [makeKeys(kind), makeKeys(kind)];
    const keyOptions = { algorithm, codeSecret: OLD, secret: undefined } as never as Partial<AuthOptions>;
    const before = await startApp(t, orm, { ...keyOptions, keys: one });
    const during = await startApp(t, orm, { ...keyOptions, keys: [two, { public: one.public }] });
    const answer = await during.request('GET', '/.well-known/jwks.json');
    t.equal(answer.status, 200);
    t.match(answer.headers.get('cache-control'), /^public, max-age=\d+$/);
    const { keys } = answer.body as unknown as { keys: (JsonWebKey & { kid: string })[] };
    t.equal(keys.length, 2);
    t.notMatch(answer.text, /"(?:d|p|q)":/, 'no private part');
    t.match(before.app.auth.issueToken({ id: 1, name: 'x', email: 'x@example.com' }), /./);
    for (const at of [before, during]) {
      const token = at.app.auth.issueToken({ id: 1, name: 'x', email: 'x@example.com' });
      const [header = '', payload = '', signature = ''] = token.split('.');
      const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
      const jwk = keys.find((each) => each.kid === kid);
      const key = createPublicKey({ key: jwk!, format: 'jwk' });
      const digest = algorithm === 'EdDSA' ? null : 'sha256';
      const data = Buffer.from(`${header}.${payload}`);
      t.ok(verify(digest, data, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')), algorithm);
      t.equal((await during.get('/me', token)).status, 200, 'the old key verifies');
    }
  }
  const secret = await startApp(t, orm, {});
  t.equal((await secret.request('GET', '/.well-known/jwks.json', {})).status, 404, 'a secret is not shown');
});
