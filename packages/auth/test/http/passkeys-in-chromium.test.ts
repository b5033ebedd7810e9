/** Passkeys in a real browser, with its virtual authenticator: by the API of WebAuthn itself, without a library on the page. */
import type { AddressInfo } from 'node:net';
import type { CDPSession, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { openBrowser, openPage, skipWithoutBrowser } from '../../../explorer/test/support/browser.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Passkey, Role, Session } from '../support/entities.ts';

/** What a page of an application does. */
const SCRIPT = `
  let token = '';
  async function send(method, path, json) {
    const headers = { ...(token && { authorization: 'Bearer ' + token }), ...(json && { 'content-type': 'application/json' }) };
    const answer = await fetch('/auth/' + path, { method, headers, body: json && JSON.stringify(json) });
    const body = answer.status === 204 ? {} : await answer.json();
    if (body.access_token) token = body.access_token;
    return { status: answer.status, body };
  }
  async function create(options) {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return (await navigator.credentials.create({ publicKey })).toJSON();
  }
  async function get(options) {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return (await navigator.credentials.get({ publicKey })).toJSON();
  }
  async function addPasskey(name, proof) {
    const { status, body } = await send('POST', 'passkeys/options', proof);
    return status === 200 ? send('POST', 'passkeys', { name, passkey: await create(body) }) : { status, body };
  }
  async function logIn() {
    const { body } = await send('POST', 'login/passkey/options');
    return send('POST', 'login/passkey', { passkey: await get(body) });
  }
`;

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Runs JavaScript with the functions of SCRIPT at hand. */
async function run(page: Page, expression: string): Promise<Answer> {
  return page.evaluate<Answer>(expression);
}

/** A phone that knows its owner by the finger. */
async function addAuthenticator(page: Page): Promise<{ devTools: CDPSession; authenticatorId: string }> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('WebAuthn.enable');
  const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devTools, authenticatorId };
}

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await openBrowser(t);
  forEachDatabase(t, { entities: [Account, Role, Session, Passkey] }, async (t, orm) => {
    const app = await startApp(t, orm, { sessions: Session, passkeys: Passkey }, (scope) => {
      scope.get('/', { config: { public: true } }, (_request, reply) =>
        reply.type('text/html').send(`<!doctype html><title>Library</title><script>${SCRIPT}</script>`),
      );
    });
    const { port } = app.app.server.address() as AddressInfo;
    const open = async (t: Test): Promise<Page> => {
      const page = await openPage(t, browser, { baseURL: `http://localhost:${port}` });
      await page.goto('/');
      return page;
    };
    const login = (email: string) => `send('POST', 'login', ${JSON.stringify({ email, password: PASSWORD })})`;
    const proof = JSON.stringify({ password: PASSWORD });

    t.test('a person adds a passkey, logs in with it without an address, and deletes it', async (t) => {
      await app.addAccount('ann@example.com');
      const page = await open(t);
      const { devTools, authenticatorId } = await addAuthenticator(page);
      t.match(await run(page, login('ann@example.com')), { status: 200 });
      t.match(await run(page, `addPasskey('Phone', {})`), { status: 400 });
      const added = await run(page, `addPasskey('Phone', ${proof})`);
      t.match(added, { status: 201, body: { name: 'Phone', last_used_at: null } });
      const { credentials } = await devTools.send('WebAuthn.getCredentials', { authenticatorId });
      t.match(credentials, [{ isResidentCredential: true, rpId: 'localhost', userName: 'ann@example.com' }]);
      await t.rejects(run(page, `addPasskey('Again', ${proof})`), /InvalidStateError|already/, 'the same phone');

      await page.reload();
      t.match(await run(page, `send('GET', 'passkeys')`), { status: 401 });
      t.match(await run(page, 'logIn()'), { status: 200, body: { access_token: /\./ } });
      t.match(await run(page, 'logIn()'), { status: 200 }, 'and again');
      const listed = await run(page, `send('GET', 'passkeys')`);
      t.match(listed.body, [{ name: 'Phone', last_used_at: /Z$/ }]);

      const asked = `send('POST', 'passkeys/proof-options')`;
      const remove = `${asked}.then(async ({ body }) => send('DELETE', 'passkeys/${String(added.body['id'])}', { passkey: await get(body) }))`;
      t.match(await run(page, remove), { status: 204 });
      t.match(await run(page, 'logIn()'), { status: 401 });
    });

    t.test('a phone that does not know its owner logs nobody in', async (t) => {
      await app.addAccount('bob@example.com');
      const page = await open(t);
      const { devTools, authenticatorId } = await addAuthenticator(page);
      await run(page, login('bob@example.com'));
      t.match(await run(page, `addPasskey('Phone', ${proof})`), { status: 201 });
      await devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
      await t.rejects(run(page, 'logIn()'), /NotAllowedError/, 'the browser refuses');
      const unverified = `send('POST', 'login/passkey/options').then(async ({ body }) =>
        send('POST', 'login/passkey', { passkey: await get({ ...body, userVerification: 'discouraged' }) }))`;
      t.match(await run(page, unverified), { status: 401 }, 'and the server, if a page asks for less');
      await devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
      t.match(await run(page, 'logIn()'), { status: 200 });
    });

    t.test('a copy of an authenticator is noticed by its counter', async (t) => {
      await app.addAccount('eve@example.com');
      const page = await open(t);
      const { devTools, authenticatorId } = await addAuthenticator(page);
      await run(page, login('eve@example.com'));
      await run(page, `addPasskey('Phone', ${proof})`);
      const [copy] = (await devTools.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
      t.match(await run(page, 'logIn()'), { status: 200 });
      await devTools.send('WebAuthn.clearCredentials', { authenticatorId });
      await devTools.send('WebAuthn.addCredential', { authenticatorId, credential: copy! });
      t.match(await run(page, 'logIn()'), { status: 401 });
    });
  });
});
