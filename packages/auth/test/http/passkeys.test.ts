import { randomBytes } from 'node:crypto';
import { TOTP } from 'otpauth';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { type Answer, PASSWORD, startApp } from '../support/app.ts';
import { Authenticator, byteString, integer, list, map, type Tampering, text } from '../support/authenticator.ts';
import { Browser, cookiesOf } from '../support/browser.ts';
import { Account, Passkey, Role, Session, TwoFactor } from '../support/entities.ts';

const ORIGIN = 'https://example.com';
const passkeys = { entity: Passkey, rpName: 'The Library', rpId: 'example.com' };
const NOBODY = '00000000-0000-4000-8000-000000000000';

function sortedStatuses(answers: readonly Answer[]): number[] {
  return answers.map(({ status }) => status).toSorted((one, other) => one - other);
}

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

forEachDatabase(t, { entities: [Account, Role, Session, Passkey, TwoFactor] }, async (t, orm) => {
  const app = await startApp(t, orm, { sessions: Session, passwords: {}, me: {}, passkeys });
  let accounts = 0;
  /** Somebody who is logged in, in a browser of their own. */
  const newPerson = async (more: { password?: string } = {}) => {
    const email = `ann${++accounts}@example.com`;
    await app.addAccount(email, more);
    const browser = new Browser(app);
    await browser.login(email);
    return { email, browser };
  };
  const optionsToAdd = async (browser: Browser, proof: object = { password: PASSWORD }) =>
    (await browser.send('POST', '/auth/passkeys/options', proof)).body as never;
  const add = async (browser: Browser, key = new Authenticator(ORIGIN), tampering: Tampering = {}) =>
    browser.send('POST', '/auth/passkeys', {
      name: 'Phone',
      passkey: key.create(await optionsToAdd(browser), tampering),
    });
  const newOwner = async () => {
    const person = await newPerson();
    const key = new Authenticator(ORIGIN);
    const added = await add(person.browser, key);
    return { ...person, key, passkey: added.body as unknown as Shown };
  };
  const optionsToLogIn = async (browser: Browser) =>
    (await browser.send('POST', '/auth/login/passkey/options')).body as never;
  const logIn = async (key: Authenticator, tampering: Tampering = {}, browser = new Browser(app)) =>
    browser.send('POST', '/auth/login/passkey', { passkey: key.get(await optionsToLogIn(browser), tampering) });
  const proofOf = async (browser: Browser, key: Authenticator, tampering: Tampering = {}) => {
    const { body } = await browser.send('POST', '/auth/passkeys/proof-options');
    return { passkey: key.get(body as never, tampering) };
  };
  const shown = async (browser: Browser) => (await browser.send('GET', '/auth/passkeys')).body as unknown as Shown[];
  const row = (id: string) => orm.em.fork().findOneOrFail(Passkey, { id });

  t.test('a passkey is added with the password, shown, and logs in without an address', async (t) => {
    const { browser, email } = await newPerson();
    const options = (await optionsToAdd(browser)) as Record<string, never>;
    t.match(options, {
      rp: { id: 'example.com', name: 'The Library' },
      user: { name: email, displayName: 'Ann' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: [],
    });
    const key = new Authenticator(ORIGIN);
    const answer = await browser.send('POST', '/auth/passkeys', {
      name: 'Phone',
      passkey: key.create(options as never),
    });
    t.match(answer, { status: 201, body: { name: 'Phone', last_used_at: null, created_at: /Z$/ } });
    t.strictSame(await shown(browser), [answer.body]);

    const stranger = new Browser(app);
    const asked = await stranger.send('POST', '/auth/login/passkey/options');
    t.match(asked, { status: 200, body: { rpId: 'example.com', userVerification: 'required' } });
    t.strictSame((asked.body as { allowCredentials?: unknown }).allowCredentials ?? [], []);
    const login = await stranger.send('POST', '/auth/login/passkey', { passkey: key.get(asked.body as never) });
    t.match(login, { status: 200, body: { access_token: /\./ } });
    t.strictSame(Object.keys(login.body), ['access_token']);
    t.ok(cookiesOf(login).some(({ name }) => name === 'refresh_token'));
    t.match(await stranger.send('GET', '/me'), { status: 200, body: { user: { email } } });
    t.match(await shown(stranger), [{ name: 'Phone', last_used_at: /Z$/ }]);
  });

  t.test('with "refresh": "body" the refresh token is in the response', async (t) => {
    const { key } = await newOwner();
    const browser = new Browser(app);
    const passkey = key.get(await optionsToLogIn(browser));
    const answer = await browser.send('POST', '/auth/login/passkey', { passkey, refresh: 'body' });
    t.strictSame(Object.keys(answer.body), ['access_token', 'refresh_token']);
  });

  t.test('a passkey is added only after the password or another passkey', async (t) => {
    const { browser, key } = await newOwner();
    const ask = (proof: object) => browser.send('POST', '/auth/passkeys/options', proof);
    t.match(await ask({}), { status: 400, body: { details: [{ path: '/password' }] } });
    t.match(await ask({ password: 'wrong' }), { status: 400, body: { details: [{ path: '/password' }] } });
    t.equal((await ask(await proofOf(browser, key))).status, 200);
    t.match(await ask(await proofOf(browser, new Authenticator(ORIGIN))), {
      status: 400,
      body: { details: [{ path: '/passkey' }] },
    });
    const other = await newOwner();
    t.equal((await ask(await proofOf(browser, other.key))).status, 400, 'somebody else’s');
    const proof = await proofOf(browser, key);
    t.equal((await ask(proof)).status, 200);
    t.equal((await ask(proof)).status, 400, 'once');
    const { status } = await app.post('/auth/passkeys/options', { password: PASSWORD });
    t.equal(status, 401);
  });

  t.test('an invalid response of an authenticator adds no passkey', async (t) => {
    const { browser } = await newPerson();
    const key = () => new Authenticator(ORIGIN);
    const certificate = byteString(Buffer.from('certificate'));
    const packed = map([
      [text('alg'), integer(-7)],
      [text('sig'), byteString(randomBytes(70))],
      [text('x5c'), list([certificate, certificate])],
    ]);
    const forgeries: Record<string, Tampering> = {
      'another challenge': { challenge: randomBytes(32).toString('base64url') },
      'another origin': { origin: 'https://evil.example' },
      'a subdomain': { origin: 'https://evil.example.com' },
      'plain HTTP': { origin: 'http://example.com' },
      'another domain': { rpId: 'evil.example' },
      'a frame in a page of another site': { crossOrigin: true },
      'an assertion': { type: 'webauthn.get' },
      'nobody verified': { isVerified: false },
      'nobody present': { isPresent: false },
      certificates: { attestation: { fmt: 'packed', attStmt: packed } },
      'certificates of Android': { attestation: { fmt: 'android-key', attStmt: packed } },
      'lists without an end': { attestation: { fmt: 'none', attStmt: Buffer.alloc(8000, 0x81) } },
      'a list that says it is long': { attestation: { fmt: 'none', attStmt: Buffer.from('9bffffffffffffff', 'hex') } },
      'a map that says it is long': { attestation: { fmt: 'none', attStmt: Buffer.from('baffffffff', 'hex') } },
    };
    for (const [what, tampering] of Object.entries(forgeries)) {
      t.match(await add(browser, key(), tampering), { status: 400, body: { details: [{ path: '/passkey' }] } }, what);
    }
    const long = new Authenticator(ORIGIN, randomBytes(1024));
    t.equal((await add(browser, long)).status, 400, 'an id beyond the specification');
    t.equal((await add(browser, new Authenticator(ORIGIN, randomBytes(1023)))).status, 201);
    const good = key().create(await optionsToAdd(browser));
    for (const name of ['', 'x'.repeat(101), 'a\0b', '\ud800', 5, null]) {
      t.equal((await browser.send('POST', '/auth/passkeys', { name, passkey: good })).status, 400, String(name));
    }
    const broken = [{}, 'x', null, { ...good, response: {} }, { ...good, id: 'x' }, { ...good, rawId: '+' }];
    const garbled = { ...good, response: { ...good.response, attestationObject: 'AAAA' } };
    const nul = { ...good, response: { ...good.response, clientDataJSON: 'bnVsbA' } };
    for (const passkey of [...broken, garbled, nul]) {
      t.equal(
        (await browser.send('POST', '/auth/passkeys', { name: 'x', passkey })).status,
        400,
        JSON.stringify(passkey),
      );
    }
    t.equal((await shown(browser)).length, 1);
  });

  t.test("a response to another account's challenge, or to a used one, adds no passkey", async (t) => {
    const [ann, bob] = [await newPerson(), await newPerson()];
    const key = new Authenticator(ORIGIN);
    const passkey = key.create(await optionsToAdd(ann.browser));
    const send = (browser: Browser) => browser.send('POST', '/auth/passkeys', { name: 'x', passkey });
    t.equal((await send(bob.browser)).status, 400);
    t.equal((await send(ann.browser)).status, 400, 'the try has used it up');
    const again = key.create(await optionsToAdd(ann.browser));
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => ann.browser.send('POST', '/auth/passkeys', { name: 'x', passkey: again })),
    );
    t.strictSame(sortedStatuses(answers), [201, 400, 400, 400, 400]);
  });

  t.test('a passkey is one account’s, once', async (t) => {
    const { browser, key } = await newOwner();
    const options = (await optionsToAdd(browser)) as { excludeCredentials: unknown };
    t.match(options.excludeCredentials, [{ id: key.id, transports: ['internal'] }]);
    t.equal((await add(browser, key)).status, 409);
    const { browser: other } = await newPerson();
    t.equal((await add(other, key)).status, 409);
  });

  t.test('every invalid assertion is refused with the same error', async (t) => {
    const { key, email } = await newOwner();
    const other = await newOwner();
    const stranger = new Authenticator(ORIGIN);
    const forgeries: Record<string, Tampering> = {
      'another challenge': { challenge: randomBytes(32).toString('base64url') },
      'another origin': { origin: 'https://evil.example' },
      'a subdomain': { origin: 'https://evil.example.com' },
      'another domain': { rpId: 'evil.example' },
      'a frame in a page of another site': { crossOrigin: true },
      'a new passkey': { type: 'webauthn.create' },
      'nobody verified': { isVerified: false },
      'nobody present': { isPresent: false },
      'the id of another passkey': { credentialId: other.key.id },
      'no such id': { credentialId: stranger.id },
      'another account': { userHandle: Buffer.from('x').toString('base64url') },
      'no account': { userHandle: undefined },
    };
    const texts = new Set<string>();
    for (const [what, tampering] of Object.entries(forgeries)) {
      const { status, text } = await logIn(key, tampering);
      t.equal(status, 401, what);
      texts.add(text);
    }
    t.equal(texts.size, 1);
    const browser = new Browser(app);
    const good = key.get(await optionsToLogIn(browser));
    const signature = Buffer.from(good.response.signature, 'base64url');
    signature[10]! ^= 1;
    const bad = { ...good, response: { ...good.response, signature: signature.toString('base64url') } };
    t.equal((await browser.send('POST', '/auth/login/passkey', { passkey: bad })).status, 401, 'the signature');
    for (const passkey of [{}, 'x', null, { ...good, type: 'password' }, { ...good, id: '%' }]) {
      t.equal((await browser.send('POST', '/auth/login/passkey', { passkey })).status, 400);
    }
    t.equal((await browser.send('POST', '/auth/login/passkey')).status, 400);
    t.match(await logIn(key), { status: 200 }, `${email} can still log in`);
  });

  t.test('a challenge is valid for one login, in the browser that requested it', async (t) => {
    const { key, browser: owner } = await newOwner();
    const [browser, other] = [new Browser(app), new Browser(app)];
    await optionsToLogIn(other);
    const log = (at: Browser, passkey: object) => at.send('POST', '/auth/login/passkey', { passkey });
    t.equal((await log(other, key.get(await optionsToLogIn(browser)))).status, 401, 'another browser');
    t.equal((await log(new Browser(app), key.get(await optionsToLogIn(browser)))).status, 401, 'no cookie');
    const passkey = key.get(await optionsToLogIn(browser));
    t.equal((await log(browser, passkey)).status, 200);
    t.equal((await log(browser, passkey)).status, 401, 'replayed');
    const raced = key.get(await optionsToLogIn(browser));
    const answers = await Promise.all(Array.from({ length: 5 }, () => log(browser, raced)));
    t.strictSame(sortedStatuses(answers), [200, 401, 401, 401, 401]);
    const { passkey: proof } = await proofOf(owner, key);
    t.equal((await log(owner, proof)).status, 401, 'a challenge to prove who one is');
    const login = key.get(await optionsToLogIn(owner));
    t.equal(
      (await owner.send('POST', '/auth/passkeys/options', { passkey: login })).status,
      400,
      'and a challenge to log in',
    );
  });

  t.test('two tabs of a browser can both request a challenge, and either can log in', async (t) => {
    const { key } = await newOwner();
    const browser = new Browser(app);
    const [one, two] = [await optionsToLogIn(browser), await optionsToLogIn(browser)];
    for (const options of [one, two]) {
      t.equal((await browser.send('POST', '/auth/login/passkey', { passkey: key.get(options) })).status, 200);
    }
  });

  t.test('a planted cookie cannot log in', async (t) => {
    const { key } = await newOwner();
    const [mine, victim] = [new Browser(app), new Browser(app)];
    const passkey = key.get(await optionsToLogIn(mine));
    await optionsToLogIn(victim);
    const cookie = `passkey=${mine.cookies.get('passkey')}; passkey=${victim.cookies.get('passkey')}`;
    t.equal((await app.post('/auth/login/passkey', { passkey }, { cookie })).status, 401);
    t.equal((await app.post('/auth/login/passkey', { passkey }, { cookie: 'passkey=x' })).status, 401);
  });

  t.test('a client gets so many challenges and no more', async (t) => {
    const one = await startApp(t, orm, { passkeys });
    const ask = () => one.request('POST', '/auth/login/passkey/options');
    for (let time = 0; time < 300; time += 50) await Promise.all(Array.from({ length: 50 }, ask));
    const refused = await ask();
    t.match(refused, { status: 429, body: { code: 'too_many_requests' } });
    t.ok(Number(refused.headers.get('retry-after')) > 250);
  });

  t.test('another address of the same network counts as the same client', async (t) => {
    const { app: one } = await startApp(t, orm, { passkeys });
    const ask = async (remoteAddress: string): Promise<number> =>
      (await one.inject({ method: 'POST', url: '/auth/login/passkey/options', remoteAddress })).statusCode;
    for (let time = 0; time < 300; time += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => ask(`2001:db8::${time + index}`)));
    }
    t.strictSame([await ask('2001:db8::ffff'), await ask('2001:db8:0:1::1')], [429, 200]);
  });

  t.test('the cookie is HttpOnly and limited to the login path', async (t) => {
    const answer = await app.request('POST', '/auth/login/passkey/options');
    t.match(cookiesOf(answer), [
      { name: 'passkey', maxAge: 300, attributes: ['HttpOnly', 'Path=/', 'SameSite=Strict'] },
    ]);
    const secure = await app.request('POST', '/auth/login/passkey/options', {
      headers: { 'x-forwarded-proto': 'https' },
    });
    t.match(cookiesOf(secure), [
      { name: '__Host-passkey', attributes: ['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure'] },
    ]);
  });

  t.test('a counter that goes back is refused; authenticators that do not count are not', async (t) => {
    const { key, passkey } = await newOwner();
    t.equal((await logIn(key, { counter: 4_294_967_290 })).status, 200);
    t.equal((await row(passkey.id)).counter, 4_294_967_290);
    for (const counter of [4_294_967_290, 7, 0]) t.equal((await logIn(key, { counter })).status, 401, String(counter));
    t.equal((await logIn(key, { counter: 4_294_967_295 })).status, 200);
    const other = await newOwner();
    for (let time = 0; time < 3; time++) t.equal((await logIn(other.key, { counter: 0 })).status, 200);
    const copies = await Promise.all(Array.from({ length: 5 }, () => logIn(other.key, { counter: 8 })));
    t.strictSame(sortedStatuses(copies), [200, 401, 401, 401, 401], 'copies at once');
  });

  t.test('a passkey is deleted with the password or a passkey; those of others return 404', async (t) => {
    const { browser, key, passkey } = await newOwner();
    const other = await newOwner();
    const remove = (id: string, proof?: object) => browser.send('DELETE', `/auth/passkeys/${id}`, proof);
    t.equal((await remove(passkey.id)).status, 400);
    t.equal((await remove(passkey.id, { password: 'wrong' })).status, 400);
    for (const id of [other.passkey.id, NOBODY, 'x', '7', '%00']) {
      t.equal((await remove(id, { password: PASSWORD })).status, 404, id);
    }
    t.match(await remove(passkey.id, await proofOf(browser, key)), { status: 204, text: '' });
    t.equal((await logIn(key)).status, 401);
    t.equal((await remove(passkey.id, { password: PASSWORD })).status, 404);
    t.equal((await logIn(other.key)).status, 200);
    t.equal((await app.request('GET', '/auth/passkeys')).status, 401);
    t.equal((await app.request('DELETE', `/auth/passkeys/${other.passkey.id}`)).status, 401);
  });

  t.test('the last passkey of an account without a password that works stays', async (t) => {
    const { browser, key, passkey, email } = await newOwner();
    const second = new Authenticator(ORIGIN);
    const { body } = await add(browser, second);
    await orm.em.fork().nativeUpdate(Account, { email }, { password: 'none' });
    const remove = async (id: string, by: Authenticator) =>
      (await browser.send('DELETE', `/auth/passkeys/${id}`, await proofOf(browser, by))).status;
    const ids = [passkey.id, (body as unknown as Shown).id];
    const answers = await Promise.all([remove(ids[0]!, key), remove(ids[1]!, second)]);
    t.strictSame(new Set(answers), new Set([204, 409]), 'of two at once, one stays');
    const [left, by] = answers[0] === 409 ? [ids[0]!, key] : [ids[1]!, second];
    t.equal(await remove(left, by), 409);
    t.equal((await logIn(by)).status, 200);
  });

  t.test('an account without a password gets one by its address, and can then be deleted', async (t) => {
    const { browser, key, email } = await newOwner();
    await orm.em.fork().nativeUpdate(Account, { email }, { password: 'none' });
    t.equal((await browser.send('DELETE', '/auth/me', { password: 'none' })).status, 400);
    const from = app.mailer.mails.length;
    await app.post('/auth/forgot-password', { email });
    const new_password = 'chosen by the owner';
    const reset = { email, code: await app.sentCode(from, email), new_password };
    t.equal((await app.post('/auth/reset-password', reset)).status, 204);
    const again = new Browser(app);
    const passkey = key.get(await optionsToLogIn(again));
    t.equal((await again.send('POST', '/auth/login/passkey', { passkey })).status, 200, 'the passkey stays');
    t.equal((await again.send('DELETE', '/auth/me', { password: new_password })).status, 204);
    t.equal(await orm.em.fork().count(Passkey, { account: { email } }), 0);
    const late = key.get(await optionsToLogIn(again));
    t.equal((await again.send('POST', '/auth/login/passkey', { passkey: late })).status, 401);
  });

  t.test('if passwords cannot log in, the last passkey stays', async (t) => {
    const { email, key, passkey } = await newOwner();
    const without = await startApp(t, orm, { sessions: Session, passkeys, routes: ['passkeys', 'login-passkey'] });
    const browser = new Browser(without);
    t.equal((await browser.login(email)).status, 404);
    t.equal((await logIn(key, {}, browser)).status, 200);
    const deleted = await browser.send('DELETE', `/auth/passkeys/${passkey.id}`, { password: PASSWORD });
    t.match(deleted, { status: 409, body: { error: /no other way/ } });
  });

  t.test('a disabled account is refused, and a deleted one has no passkeys', async (t) => {
    const { email, key } = await newOwner();
    await orm.em.fork().nativeUpdate(Account, { email }, { is_active: false });
    t.match(await logIn(key), { status: 401, body: { error: 'The account is disabled' } });
    await orm.em.fork().nativeDelete(Account, { email });
    t.match(await logIn(key), { status: 401 });
  });

  t.test('without the option there are no routes, and without sessions a login returns a token', async (t) => {
    const { key } = await newOwner();
    const plain = await startApp(t, orm);
    t.equal((await plain.request('POST', '/auth/login/passkey/options')).status, 404);
    t.equal((await plain.request('GET', '/auth/passkeys')).status, 404);
    const stateless = await startApp(t, orm, { passkeys });
    const answer = await logIn(key, {}, new Browser(stateless));
    t.match(answer, { status: 200, body: { access_token: /\./ } });
  });

  t.test('with two factors a passkey takes the place of a code, and is enough by itself', async (t) => {
    const two = await startApp(t, orm, { sessions: Session, passkeys, twoFactor: TwoFactor });
    const email = `ann${++accounts}@example.com`;
    const { id } = await two.addAccount(email);
    const browser = new Browser(two);
    await browser.login(email);
    const key = new Authenticator(ORIGIN);
    t.equal((await add(browser, key)).status, 201);
    const { body: begun } = await browser.send('POST', '/auth/two-factor');
    const codeOf = (steps: number) =>
      new TOTP({ secret: String(begun['secret']) }).generate({ timestamp: Date.now() + steps * 30_000 });
    t.equal((await browser.send('POST', '/auth/two-factor/confirm', { code: codeOf(-1) })).status, 200);
    const begin = async (at = new Browser(two)) => {
      const { body } = await at.login(email);
      const { two_factor_token } = body as { two_factor_token?: string };
      const { body: options } = await at.send('POST', '/auth/login/two-factor/options', { two_factor_token });
      const end = (second: object) => at.send('POST', '/auth/login/two-factor', { two_factor_token, ...second });
      return { options: options as never, end };
    };
    const { options, end } = await begin();
    t.match(options, { allowCredentials: [{ id: key.id }], userVerification: 'preferred' });
    t.match(await end({}), { status: 400, body: { details: [{ path: '/code' }] } });
    t.equal(
      (await end({ passkey: new Authenticator(ORIGIN).get(options, { userHandle: undefined }) })).status,
      401,
      'a stranger’s',
    );
    const passkey = key.get((await begin()).options, { isVerified: false, userHandle: undefined });
    t.equal((await end({ passkey })).status, 401, 'the challenge of another attempt');
    const last = await begin();
    const answer = key.get(last.options, { isVerified: false, userHandle: undefined });
    t.match(await last.end({ passkey: answer }), { status: 200, body: { access_token: /\./ } });
    t.equal((await last.end({ passkey: answer })).status, 401, 'once');
    t.equal((await (await begin()).end({ code: codeOf(0) })).status, 200, 'a code is as good');
    const wrong = await begin();
    for (let time = 0; time < 5; time++) t.equal((await wrong.end({ passkey: answer })).status, 401);
    t.equal((await wrong.end({ passkey: key.get(wrong.options) })).status, 401, 'after five wrong ones it is too late');
    t.equal((await app.post('/auth/login/two-factor/options', { two_factor_token: 'x' })).status, 404);
    t.equal((await two.post('/auth/login/two-factor/options', { two_factor_token: 'x' })).status, 401);

    t.match(await logIn(key, {}, new Browser(two)), { status: 200, body: { access_token: /\./ } }, 'by itself');
    t.equal((await logIn(key, { isVerified: false }, new Browser(two))).status, 401);
    const ask = (proof: object) => browser.send('POST', '/auth/passkeys/options', proof);
    t.match(await ask({ password: PASSWORD }), { status: 400, body: { details: [{ path: '/code' }] } });
    t.match(await ask({ password: PASSWORD, code: '12' }), { status: 400, body: { details: [{ path: '/code' }] } });
    await orm.em.fork().nativeUpdate(TwoFactor, { account: { id } }, { last_step: null });
    t.equal((await ask({ password: PASSWORD, code: codeOf(0) })).status, 200);
    t.equal((await ask(await proofOf(browser, key))).status, 200);
  });

  t.test('by default passkeys are bound to the host, and to pages of the same origin', async (t) => {
    const { app: local } = await startApp(t, orm, { passkeys: Passkey });
    const { email } = await newPerson();
    const key = new Authenticator('https://library.example:8443');
    const headers: Record<string, string> = {};
    const send = async (url: string, payload: object = {}, host = 'library.example:8443') => {
      const answer = await local.inject({ method: 'POST', url: `/auth${url}`, payload, headers: { ...headers, host } });
      for (const { name, value } of answer.cookies) headers['cookie'] = `${name}=${value}`;
      return { status: answer.statusCode, body: answer.json<Record<string, never>>() };
    };
    const { body } = await send('/login', { email, password: PASSWORD });
    const { body: options } = await send('/passkeys/options', { password: PASSWORD });
    t.match(options, { code: 'unauthorized' });
    headers['authorization'] = `Bearer ${String(body['access_token'])}`;
    const { body: creation } = await send('/passkeys/options', { password: PASSWORD });
    t.match(creation, { rp: { id: 'library.example', name: 'library.example' } });
    const passkey = key.create(creation as never);
    t.equal((await send('/passkeys', { name: 'x', passkey })).status, 201);
    const login = async (tampering: Tampering, host?: string) => {
      const { body: asked } = await send('/login/passkey/options', {}, host);
      const options = { rpId: 'library.example', challenge: asked['challenge']! };
      return (await send('/login/passkey', { passkey: key.get(options, tampering) }, host)).status;
    };
    t.equal(await login({}), 200);
    t.equal(await login({ origin: 'http://library.example:8443' }), 401);
    const origin = 'https://evil.library.example';
    t.equal(await login({ origin }), 401);
    t.equal(await login({ origin }, 'evil.library.example'), 401, 'the host that the client names');
    t.equal(await login({ origin, rpId: 'evil.library.example' }), 401);
  });
});
