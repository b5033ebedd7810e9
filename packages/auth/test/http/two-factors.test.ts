import { defineEntity, p } from '@mikro-orm/core';
import { type HitResult, MemoryStore, serverOptions, viewset } from '@viewset/core';
import fastify from 'fastify';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { auth } from '../../src/index.ts';
import { type Answer, MailBox, PASSWORD, SECRET, startApp } from '../support/app.ts';
import { Browser } from '../support/browser.ts';
import { Account, ApiKey, Role, TwoFactor } from '../support/entities.ts';
import { codeOf, STEP_MS } from '../support/totp-code.ts';

const entities = [Account, Role, TwoFactor, ApiKey];

/** Waits for the next time step if this one ends within seconds. */
async function awayFromStep(): Promise<void> {
  const left = STEP_MS - (Date.now() % STEP_MS);
  if (left < 6000) await sleep(left);
}

function wrongCodeOf(secret: string): string {
  const near = new Set([-1, 0, 1].map((steps) => codeOf(secret, steps)));
  return ['000000', '111111', '222222', '333333'].find((code) => !near.has(code)) ?? '';
}

forEachDatabase(t, { entities }, async (t, orm) => {
  const store = new MemoryStore();
  t.teardown(() => store.close());
  const options = { twoFactor: TwoFactor, apiKeys: ApiKey, passwords: {}, store };
  const app = await startApp(t, orm, options);
  const by = (token: string) => ({ authorization: `Bearer ${token}` });
  const login = (name: string): Promise<Answer> =>
    app.post('/auth/login', { email: `${name}@example.com`, password: PASSWORD });
  const second = (token: unknown, code: string): Promise<Answer> =>
    app.post('/auth/login/two-factor', { two_factor_token: token, code });
  const attempt = async (name: string): Promise<string> => String((await login(name)).body['two_factor_token']);
  const remove = (token: string, body: object): Promise<Answer> =>
    app.request('DELETE', '/auth/two-factor', { json: body, headers: by(token) });
  /** Forgets which code was used last. */
  const rewind = async (account: number): Promise<void> => {
    await orm.em.fork().nativeUpdate(TwoFactor, { account: { id: account } }, { last_step: null });
  };
  const enrol = async (name: string, { rewinds = true } = {}) => {
    const { id } = await app.addAccount(`${name}@example.com`);
    const token = await app.login(`${name}@example.com`);
    const begun = await app.request('POST', '/auth/two-factor', { headers: by(token) });
    t.equal(begun.status, 200, begun.text);
    const { secret, uri } = begun.body as unknown as { secret: string; uri: string };
    const confirmed = await app.post('/auth/two-factor/confirm', { code: codeOf(secret) }, by(token));
    t.equal(confirmed.status, 200, confirmed.text);
    if (rewinds) await rewind(id);
    const { recovery_codes: codes } = confirmed.body as unknown as { recovery_codes: string[] };
    return { id, token, secret, uri, codes };
  };

  t.test('two recovery codes at the same time are both right', async (t) => {
    const { codes } = await enrol('both');
    const tokens = [await attempt('both'), await attempt('both'), await attempt('both')];
    const answers = await Promise.all(tokens.map((token, index) => second(token, codes[index]!)));
    t.same(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    const [again, other] = [await attempt('both'), await attempt('both')];
    const twice = await Promise.all([second(again, codes[3]!), second(other, codes[3]!)]);
    t.same(new Set(twice.map(({ status }) => status)), new Set([200, 401]), 'one code at the same time is not');
    t.equal((await second(await attempt('both'), codes[0]!)).status, 401);
  });

  t.test('an account without two factors logs in as before', async (t) => {
    await app.addAccount('plain@example.com');
    const answer = await login('plain');
    t.strictSame(Object.keys(answer.body), ['access_token']);
  });

  t.test('once confirmed, a login needs a code, which works once', async (t) => {
    await awayFromStep();
    const { id, token, secret, uri, codes } = await enrol('ann', { rewinds: false });
    t.equal((await second(await attempt('ann'), codeOf(secret))).status, 401, 'the code that confirmed is used up');
    await rewind(id);
    t.match(secret, /^[A-Z2-7]{32}$/);
    t.match(uri, /^otpauth:\/\/totp\//);
    t.match(uri, `secret=${secret}`);
    t.match(new URL(uri).pathname, /ann/);
    t.equal(codes.length, 10);
    t.equal(new Set(codes).size, 10);
    t.equal((await app.get('/me', token)).status, 200, 'tokens that are there stay good');
    const first = await login('ann');
    t.equal(first.status, 200);
    t.strictSame(Object.keys(first.body), ['two_factor_token']);
    const done = await second(first.body['two_factor_token'], codeOf(secret));
    t.equal(done.status, 200, done.text);
    t.strictSame(Object.keys(done.body), ['access_token']);
    t.match(await app.get('/me', String(done.body['access_token'])), { status: 200, body: { user: { id } } });
    t.equal((await second(first.body['two_factor_token'], codeOf(secret, 1))).status, 401, 'so does the attempt');
    t.match(await second(await attempt('ann'), codeOf(secret)), { status: 401, body: { code: 'unauthorized' } });
    await rewind(id);
    t.equal((await second(await attempt('ann'), codeOf(secret, 1))).status, 200, 'clocks may differ by a step');
    t.equal((await second(await attempt('ann'), codeOf(secret, -1))).status, 401, 'an earlier one is too late then');
    await rewind(id);
    t.equal((await second(await attempt('ann'), codeOf(secret, 2))).status, 401);
    t.equal((await second(await attempt('ann'), codeOf(secret, -2))).status, 401);
  });

  t.test('of many concurrent requests with one code, one logs in', async (t) => {
    const other = await startApp(t, orm, options);
    const winners = async (name: string, code: string): Promise<number> => {
      const tokens = await Promise.all(Array.from({ length: 6 }, () => attempt(name)));
      const apps = [app, other];
      const answers = await Promise.all(
        tokens.map((token, index) =>
          apps[index % 2]!.post('/auth/login/two-factor', { two_factor_token: token, code }),
        ),
      );
      return answers.filter(({ status }) => status === 200).length;
    };
    // The wrong tries of one race may hold the account, so that each has one of its own.
    const { secret } = await enrol('race');
    t.equal(await winners('race', codeOf(secret)), 1);
    const { codes } = await enrol('race2');
    t.equal(await winners('race2', codes[0] ?? ''), 1);
  });

  t.test('a recovery code works once, however it is written', async (t) => {
    const { codes } = await enrol('lost');
    const [code = '', next = ''] = codes;
    t.equal((await second(await attempt('lost'), code)).status, 200);
    t.equal((await second(await attempt('lost'), code)).status, 401);
    t.equal((await second(await attempt('lost'), ` ${next.toUpperCase().replace('-', ' ')}`)).status, 200);
    t.equal((await second(await attempt('lost'), 'aaaaa-aaaaa')).status, 401);
    const { codes: others } = await enrol('finder');
    t.equal((await second(await attempt('lost'), others[0] ?? '')).status, 401, 'another account’s is none');
  });

  t.test('a login that waits for its code ends with a new password', async (t) => {
    const { codes } = await enrol('victim');
    const [waiting, linked] = [await attempt('victim'), await attempt('victim')];
    const from = app.mailer.mails.length;
    await app.post('/auth/forgot-password', { email: 'victim@example.com' });
    const code = await app.sentCode(from, 'victim@example.com');
    const reset = { email: 'victim@example.com', code, new_password: 'battery staple' };
    t.equal((await app.post('/auth/reset-password', reset)).status, 204);
    for (let wrong = 0; wrong < 6; wrong++) {
      t.match(await second(waiting, 'aaaaa-aaaaa'), { status: 401, body: { error: /login is over/ } });
    }
    t.equal((await second(linked, codes[0]!)).status, 401);
    const again = await app.post('/auth/login', { email: 'victim@example.com', password: 'battery staple' });
    t.equal((await second(again.body['two_factor_token'], codes[0]!)).status, 200, 'the code is not used up');
  });

  t.test('codes for a secret that nobody has begun count nothing, and those of a setup block no login', async (t) => {
    const { token, codes } = await enrol('owner');
    const confirm = (by_: string): Promise<Answer> => app.post('/auth/two-factor/confirm', { code: '000000' }, by(by_));
    for (let tries = 0; tries < 12; tries++) {
      t.match(await confirm(token), { status: 400, body: { error: 'There is no secret to confirm' } });
    }
    t.equal((await second(await attempt('owner'), codes[0]!)).status, 200, 'the thief of a token blocks nobody');
    await app.addAccount('beginner@example.com');
    const beginner = await app.login('beginner@example.com');
    const begun = await app.request('POST', '/auth/two-factor', { headers: by(beginner) });
    const { secret } = begun.body as unknown as { secret: string };
    const wrong = (): Promise<Answer> =>
      app.post('/auth/two-factor/confirm', { code: wrongCodeOf(secret) }, by(beginner));
    for (let tries = 0; tries < 10; tries++) t.equal((await wrong()).status, 400);
    t.equal((await wrong()).status, 429, 'the secret itself is not guessed');
    const { id } = (await app.stored('beginner@example.com'))!;
    await orm.em.fork().nativeUpdate(TwoFactor, { account: { id } }, { confirmed_at: new Date() });
    t.equal((await second(await attempt('beginner'), codeOf(secret))).status, 200);
  });

  t.test('wrong codes of others do not block a browser that has logged in before', async (t) => {
    const { codes } = await enrol('regular');
    const browser = new Browser(app);
    const email = 'regular@example.com';
    const login = async (code: string): Promise<number> => {
      const { body } = await browser.login(email);
      return (
        await browser.send('POST', '/auth/login/two-factor', { two_factor_token: body['two_factor_token'], code })
      ).status;
    };
    t.equal(await login(codes[0]!), 200);
    for (let tries = 0; tries < 10; tries++) await second(await attempt('regular'), 'aaaaa-aaaaa');
    t.equal((await second(await attempt('regular'), codes[1]!)).status, 429);
    t.equal(await login(codes[1]!), 200);
    for (let tries = 0; tries < 10; tries++) t.equal(await login('aaaaa-aaaaa'), 401);
    t.equal(await login(codes[2]!), 429, 'it has a limit of its own');
  });

  t.test('five wrong codes end the attempt', async (t) => {
    const { secret } = await enrol('eve');
    const token = await attempt('eve');
    for (let tries = 0; tries < 5; tries++) {
      const wrong = await second(token, wrongCodeOf(secret));
      t.match(wrong, { status: 401, body: { error: 'The code is not correct' } });
    }
    t.match(await second(token, codeOf(secret)), { status: 401, body: { error: /begin it again/ } });
    t.equal((await second(await attempt('eve'), codeOf(secret, 1))).status, 200, 'a new attempt goes on');
  });

  t.test("ten wrong codes hold the account's second factor, over all attempts", async (t) => {
    const { secret } = await enrol('held');
    for (let tries = 0; tries < 10; tries++) {
      if (tries % 5 === 0) await attempt('held');
      await second(await attempt('held'), wrongCodeOf(secret));
    }
    const held = await second(await attempt('held'), codeOf(secret));
    t.match(held, { status: 429, body: { code: 'too_many_requests' } });
    t.ok(held.headers.get('retry-after'));
  });

  t.test('a right code that was compared when ten wrong ones had come is too late, and stays good', async (t) => {
    const begun = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    let isHeldUp = false;
    // The first answer comes when the ten have come.
    class SlowStore extends MemoryStore {
      override peek(...args: Parameters<MemoryStore['peek']>): HitResult {
        const result = super.peek(...args);
        if (!isHeldUp || !args[0].startsWith('auth:wrong:')) return result;
        isHeldUp = false;
        begun.resolve();
        return late.promise.then(() => result) as unknown as HitResult;
      }
    }
    const slow = new SlowStore();
    t.teardown(() => slow.close());
    const { secret, codes } = await enrol('late');
    const other = await startApp(t, orm, { ...options, store: slow });
    const begin = async (): Promise<string> =>
      String(
        (await other.post('/auth/login', { email: 'late@example.com', password: PASSWORD })).body['two_factor_token'],
      );
    const send = (two_factor_token: string, code: string): Promise<Answer> =>
      other.post('/auth/login/two-factor', { two_factor_token, code });
    const token = await begin();
    isHeldUp = true;
    const right = send(token, codes[0]!);
    await begun.promise;
    for (let tries = 0; tries < 10; tries++) t.equal((await send(await begin(), wrongCodeOf(secret))).status, 401);
    late.resolve();
    t.match(await right, { status: 429, body: { code: 'too_many_requests' } });
    t.equal((await second(await attempt('late'), codes[0]!)).status, 200, 'it was not used up');
  });

  t.test('a token of another attempt, a changed one and anything else is refused', async (t) => {
    const { secret } = await enrol('forger');
    const token = await attempt('forger');
    const [content = '', signature = ''] = token.split('.');
    const forged = Buffer.from(content, 'base64url')
      .toString()
      .replace(/"account":\d+/, '"account":1');
    const bad = [
      `${Buffer.from(forged).toString('base64url')}.${signature}`,
      content,
      `${content}.`,
      `${token}.x`,
      '',
      'x',
      await app.login('plain@example.com'),
    ];
    for (const each of bad) t.match(await second(each, codeOf(secret)), { status: 401 }, each);
    t.equal((await app.get('/me', token)).status, 401, 'it is no access token');
    for (const body of [{}, { two_factor_token: token }, { two_factor_token: 5, code: '1' }, { code: '123456' }]) {
      t.equal((await app.post('/auth/login/two-factor', body)).status, 400);
    }
  });

  t.test('a disabled account does not come in by its second factor', async (t) => {
    const { id, secret } = await enrol('disabled');
    const token = await attempt('disabled');
    await orm.em.fork().nativeUpdate(Account, { id }, { is_active: false });
    t.match(await second(token, codeOf(secret)), { status: 401, body: { error: 'The account is disabled' } });
  });

  t.test('a secret counts once it is confirmed', async (t) => {
    await app.addAccount('begun@example.com');
    const token = await app.login('begun@example.com');
    const begin = async (): Promise<string> =>
      String((await app.request('POST', '/auth/two-factor', { headers: by(token) })).body['secret']);
    const confirm = (code: unknown): Promise<Answer> => app.post('/auth/two-factor/confirm', { code }, by(token));
    t.equal((await confirm('123456')).status, 400, 'nothing is to be confirmed');
    const old = await begin();
    t.strictSame(Object.keys((await login('begun')).body), ['access_token']);
    const secret = await begin();
    t.not(old, secret);
    t.match(await confirm(codeOf(old)), { status: 400, body: { details: [{ path: '/code' }] } });
    t.match(await confirm(wrongCodeOf(secret)), { status: 400 });
    t.equal((await confirm(5)).status, 400);
    t.equal((await confirm(codeOf(secret))).status, 200);
    t.equal((await confirm(codeOf(secret, 1))).status, 400, 'once');
    t.match(await app.request('POST', '/auth/two-factor', { headers: by(token) }), {
      status: 409,
      body: { code: 'conflict' },
    });
  });

  t.test('removing two factors needs the password and a code', async (t) => {
    const { token, secret, codes } = await enrol('off');
    t.match(await remove(token, { password: 'wrong', code: codeOf(secret) }), {
      status: 400,
      body: { details: [{ path: '/password' }] },
    });
    t.match(await remove(token, { password: PASSWORD, code: wrongCodeOf(secret) }), {
      status: 400,
      body: { details: [{ path: '/code' }] },
    });
    t.equal((await remove(token, { password: PASSWORD })).status, 400);
    t.strictSame(Object.keys((await login('off')).body), ['two_factor_token']);
    const done = await remove(token, { password: PASSWORD, code: codes[0] });
    t.match(done, { status: 204, text: '' });
    t.strictSame(Object.keys((await login('off')).body), ['access_token']);
    const again = await app.request('POST', '/auth/two-factor', { headers: by(token) });
    t.equal(again.status, 200, 'and they can be switched on again');
  });

  t.test('anonymous users and API keys cannot access the second factor', async (t) => {
    const { token, secret } = await enrol('keys');
    const { key } = (await app.post('/auth/api-keys', { name: 'x' }, by(token))).body as unknown as { key: string };
    for (const [headers, status] of [
      [{}, 401],
      [by(key), 403],
    ] as const) {
      t.equal((await app.request('POST', '/auth/two-factor', { headers })).status, status);
      t.equal((await app.post('/auth/two-factor/confirm', { code: codeOf(secret) }, headers)).status, status);
      const body = { password: PASSWORD, code: codeOf(secret) };
      t.equal((await app.request('DELETE', '/auth/two-factor', { json: body, headers })).status, status);
    }
  });

  t.test('the database stores neither the secret nor a recovery code in plain text', async (t) => {
    const { id, secret, codes } = await enrol('stored');
    const stored = await orm.em.fork().findOneOrFail(TwoFactor, { account: { id } });
    const text = JSON.stringify([stored.secret, stored.recovery_codes, Buffer.from(stored.secret, 'base64url')]);
    t.notOk(text.includes(secret));
    for (const code of codes) t.notOk(text.includes(code) || text.includes(code.replace('-', '')));
    const { id: other } = await enrol('thief');
    await orm.em.fork().nativeUpdate(TwoFactor, { account: { id: other } }, { secret: stored.secret });
    t.equal((await second(await attempt('thief'), codeOf(secret))).status, 401, 'a copied secret is of no use');
  });
});

t.test('second factors leave audit lines, without a code', async (t) => {
  const orm = await openSqlite(t, { entities });
  const lines: string[] = [];
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) });
  const app = fastify(serverOptions({ logger: { stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const options = { account: Account, secret: SECRET, bcryptRounds: 4, mailer: new MailBox() };
  await app.register(auth, { ...options, twoFactor: { entity: TwoFactor, issuer: 'My shop' } });
  const em = orm.em.fork();
  const email = 'ann@example.com';
  const account = em.create(Account, { email, password: PASSWORD, name: 'Ann', is_active: true });
  await em.flush();
  const { id } = account;
  const send = async (method: 'POST' | 'DELETE', url: string, payload: object, token?: string) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return (await app.inject({ method, url: `/auth${url}`, payload, headers })).json<Record<string, string>>();
  };
  const token = (await send('POST', '/login', { email, password: PASSWORD }))['access_token'] ?? '';
  const { secret = '', uri = '' } = await send('POST', '/two-factor', {}, token);
  t.match(uri, /issuer=My%20shop/);
  const confirmed = await send('POST', '/two-factor/confirm', { code: codeOf(secret) }, token);
  const codes = confirmed['recovery_codes'] as unknown as string[];
  const attempt = async () => (await send('POST', '/login', { email, password: PASSWORD }))['two_factor_token'];
  await send('POST', '/login/two-factor', { two_factor_token: await attempt(), code: wrongCodeOf(secret) });
  await send('POST', '/login/two-factor', { two_factor_token: await attempt(), code: codes[0] });
  await app.inject({
    method: 'DELETE',
    url: '/auth/two-factor',
    payload: { password: PASSWORD, code: codes[1] },
    headers: { authorization: `Bearer ${token}` },
  });
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ event }) => event);
  t.match(events, [
    { event: 'auth.login', account: id },
    { event: 'auth.two_factor_on', account: id },
    { event: 'auth.two_factor_asked', account: id },
    { event: 'auth.two_factor_failed', account: id },
    { event: 'auth.two_factor_asked', account: id },
    { event: 'auth.recovery_code_used', account: id },
    { event: 'auth.login', account: id },
    { event: 'auth.two_factor_off', account: id },
  ]);
  t.equal(events.length, 8);
  t.notOk(lines.some((line) => line.includes(secret) || codes.some((code) => line.includes(code))));
});

t.test('an entity that cannot be the second factor fails at start', async (t) => {
  const fields = {
    id: p.integer().primary(),
    account: () => p.oneToOne(Account).deleteRule('cascade'),
    secret: p.string().length(100),
    last_step: p.integer().nullable(),
    recovery_codes: p.string().length(500),
    confirmed_at: p.datetime().nullable(),
  };
  const entity = (name: string, properties: object): never => defineEntity({ name, properties } as never) as never;
  const wrong: [object, RegExp][] = [
    [{ twoFactor: entity('A', { id: fields.id }) }, /option "twoFactor" must have the properties/],
    [{ twoFactor: entity('B', { ...fields, account: () => p.manyToOne(Account).deleteRule('cascade') }) }, /unique/],
    [{ twoFactor: entity('C', { ...fields, secret: p.string().length(50) }) }, /room for an encrypted secret/],
    [{ twoFactor: entity('D', { ...fields, account: () => p.oneToOne(Account) }) }, /deleteRule\('cascade'\)/],
    [{ twoFactor: entity('E', { ...fields, last_step: p.integer() }) }, /"last_step" nullable/],
    [{ twoFactor: { entity: TwoFactor, issuer: 'a:b' } }, /option "twoFactor" must be an entity, or/],
    [{ twoFactor: { entity: TwoFactor, isuer: 'a' } }, /unknown option "isuer"/],
    [{ routes: ['login', 'two-factor'] }, /the route "two-factor" needs the option "twoFactor"/],
  ];
  for (const [options, message] of wrong) {
    const { twoFactor } = options as { twoFactor?: { entity?: never } };
    const known = twoFactor === undefined || twoFactor.entity !== undefined ? TwoFactor : twoFactor;
    const orm = await openSqlite(t, { entities: [Account, Role, known as never] });
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    const given = { account: Account, secret: SECRET, mailer: new MailBox(), ...options };
    await t.rejects(async () => app.register(auth, given as never), { name: 'ImproperlyConfigured', message });
    await app.close().catch(() => {});
  }
});
