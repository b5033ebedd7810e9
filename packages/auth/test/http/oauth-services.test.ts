import { MemoryStore, serverOptions, viewset } from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { auth, type OAuth2Api, type OAuth2Provider, type OAuthProfile, type OAuthProvider } from '../../src/index.ts';
import { MailBox, SECRET, startApp } from '../support/app.ts';
import { Account, Identity, Role, Session } from '../support/entities.ts';
import { CLIENT, Navigator, TestProvider } from '../support/openid.ts';
import {
  APPLE_KEY,
  OTHER_TENANT,
  STRANGE_KEY,
  TENANT,
  TestApple,
  TestDiscord,
  TestFacebook,
  TestLinkedin,
  TestMicrosoft,
  TestX,
} from '../support/services.ts';

const entities = [Account, Role, Identity, Session];
const MICROSOFT = 'https://login.microsoftonline.com';

interface DiscordUser {
  readonly id: string;
  readonly username: string;
  readonly global_name: string | null;
  readonly email?: string | null;
  readonly verified?: boolean;
}

async function discordProfile({ get }: OAuth2Api, api: string): Promise<OAuthProfile> {
  const user = (await get(`${api}/api/users/@me`)) as DiscordUser;
  const verifiedEmail = user.verified === true ? (user.email ?? undefined) : undefined;
  return { subject: user.id, verifiedEmail, name: user.global_name ?? user.username };
}

forEachDatabase(t, { entities }, async (t, orm) => {
  const microsoft = await new TestMicrosoft().start(t);
  const linkedin = await new TestLinkedin().start(t);
  const apple = await new TestApple().start(t);
  const discord = await new TestDiscord().start(t);
  const facebook = await new TestFacebook().start(t);
  const x = await new TestX().start(t);
  const store = new MemoryStore();
  t.teardown(() => store.close());
  const secret = APPLE_KEY;
  const providers: Record<string, OAuthProvider | OAuth2Provider> = {
    common: { issuer: `${MICROSOFT}/common/v2.0`, ...CLIENT },
    tenants: { issuer: `${MICROSOFT}/organizations/v2.0`, ...CLIENT, tenants: [TENANT.toUpperCase()] },
    tenant: { issuer: `${MICROSOFT}/${TENANT}/v2.0`, ...CLIENT },
    trusted: { issuer: `${MICROSOFT}/${TENANT}/v2.0`, ...CLIENT, trustUnverifiedEmails: ['contoso.com'] },
    linkedin: { kind: 'linkedin', issuer: `${linkedin.url}/oauth`, ...CLIENT },
    strict: { kind: 'linkedin', issuer: `${linkedin.url}/oauth`, ...CLIENT, skipNonce: false },
    apple: { kind: 'apple', issuer: apple.url, clientId: CLIENT.clientId, clientSecret: secret },
    stranger: { kind: 'apple', issuer: apple.url, clientId: CLIENT.clientId, clientSecret: STRANGE_KEY },
    discord: {
      kind: 'oauth2',
      ...discord.endpoints(),
      ...CLIENT,
      scope: 'identify email',
      profile: (api) => discordProfile(api, discord.url),
    },
    facebook: {
      kind: 'oauth2',
      ...facebook.endpoints(),
      ...CLIENT,
      scope: 'public_profile email',
      tokenEndpointAuthMethod: 'client_secret_post',
      async profile({ get }) {
        const { id, name } = (await get(`${facebook.url}/v25.0/me?fields=id,name`)) as { id: string; name: string };
        return { subject: id, name };
      },
    },
    x: {
      kind: 'oauth2',
      ...x.endpoints(),
      ...CLIENT,
      scope: 'tweet.read users.read users.email',
      async profile({ get }) {
        const { data } = (await get(`${x.url}/2/users/me?user.fields=confirmed_email`)) as {
          data: { id: string; name: string; confirmed_email?: string };
        };
        return { subject: data.id, verifiedEmail: data.confirmed_email, name: data.name };
      },
    },
    wrong: {
      kind: 'oauth2',
      ...discord.endpoints(),
      ...CLIENT,
      scope: 'identify',
      profile: () => ({ subject: 7 }) as never,
    },
  };
  const options = { oauth: { identity: Identity, providers }, sessions: Session, passwords: {}, me: {}, store };
  const app = await startApp(t, orm, options);
  const root = app.app.listeningOrigin;
  const pathOf = (name: string): string => `${root}/auth/oauth/${name}`;

  const login = async (name: string, browser = new Navigator()): Promise<Response> =>
    browser.get(await browser.follow(pathOf(name), `${pathOf(name)}/callback`));
  const userOf = async (answer: Response): Promise<Record<string, unknown>> => {
    const { access_token: token } = (await answer.json()) as { access_token?: string };
    return (await app.get('/me', token ?? '')).body['user'] as unknown as Record<string, unknown>;
  };
  const refusal = async (answer: Response, status = 401): Promise<void> => {
    t.equal(answer.status, status);
    t.match(await answer.json(), {
      code: { 401: 'unauthorized', 404: 'not_found', 503: 'service_unavailable' }[status],
    });
  };
  /** Links a service to a logged-in account, up to its callback. */
  const link = async (name: string, email: string): Promise<Response> => {
    const browser = new Navigator();
    const by = { authorization: `Bearer ${await app.login(email)}` };
    const { url } = (await (await browser.post(`${pathOf(name)}/link`, {}, by)).json()) as { url: string };
    return browser.get(await browser.follow(url, `${pathOf(name)}/callback`));
  };

  t.test('Microsoft: an address is verified only by xms_edov (nOAuth)', async (t) => {
    const { id } = await app.addAccount('ann@contoso.com');
    const email = 'ann@contoso.com';
    for (const claims of [
      {},
      { email_verified: true },
      { xms_edov: false, email_verified: true },
      { xms_edov: '0' },
      { xms_edov: 0 },
      { xms_edov: 'false' },
      { xms_edov: null },
      { xms_edov: ['1'] },
      { xms_edov: 'True ' },
      { preferred_username: email, upn: email, email: undefined, xms_edov: true },
    ]) {
      microsoft.person = { sub: 'thief', tid: OTHER_TENANT, email, ...claims };
      await refusal(await login('common'));
    }
    t.equal(await orm.em.fork().count(Identity, { subject: 'thief' }), 0);
    for (const [index, xms_edov] of [true, 'true', 1, '1'].entries()) {
      microsoft.person = { sub: `ann ${index}`, tid: TENANT, email, name: 'Ann', xms_edov };
      t.match(await userOf(await login('common')), { id });
    }
  });

  t.test('Microsoft: a token of a shared issuer is of the tenant that it names', async (t) => {
    const person = { email: 'multi@contoso.com', xms_edov: true };
    microsoft.person = { sub: 'multi', tid: TENANT, ...person };
    const first = await userOf(await login('common'));
    t.match(first, { email: 'multi@contoso.com' });
    for (const iss of [
      `${MICROSOFT}/${OTHER_TENANT}/v2.0`,
      `${MICROSOFT}/{tenantid}/v2.0`,
      `${MICROSOFT}/common/v2.0`,
      `https://sts.windows.net/${TENANT}/`,
      `https://evil.example/${TENANT}/v2.0`,
    ]) {
      microsoft.iss = iss;
      await refusal(await login('common'));
    }
    microsoft.iss = undefined;
    microsoft.person = { sub: 'multi', tid: OTHER_TENANT, ...person };
    await refusal(await login('tenants'));
    await refusal(await login('tenant'));
    microsoft.person = { sub: 'multi', tid: TENANT, ...person };
    t.match(await userOf(await login('tenants')), { id: first['id'] });
    t.match(await userOf(await login('tenant')), { id: first['id'] });
    const asked = microsoft.requests.filter(({ path }) => path === '/common/v2.0/.well-known/openid-configuration');
    t.equal(asked.length, 1, 'one discovery');
  });

  t.test('Microsoft: an issuer’s addresses are trusted in the domains of the option', async (t) => {
    await app.addAccount('ceo@else.com');
    for (const email of [
      'ceo@else.com',
      'ceo@contoso.com.else.com',
      'x@evil.contoso.com',
      'ceo@contoso.com@else.com',
    ]) {
      microsoft.person = { sub: 'admin', tid: TENANT, email };
      await refusal(await login('trusted'));
    }
    microsoft.person = { sub: 'guest', tid: TENANT, email: 'guest@contoso.com', xms_edov: false };
    await refusal(await login('trusted'));
    microsoft.person = { sub: 'bob', tid: TENANT, email: 'Bob@Contoso.com', name: 'Bob' };
    t.match(await userOf(await login('trusted')), { email: 'bob@contoso.com', name: 'Bob' });
    await refusal(await login('tenant'));
  });

  t.test('Microsoft: a user without a verified address links the service while logged in', async (t) => {
    const { id } = await app.addAccount('linked@contoso.com');
    microsoft.person = { sub: 'linked', tid: TENANT };
    await refusal(await login('common'));
    t.equal((await link('common', 'linked@contoso.com')).status, 204);
    t.match(await userOf(await login('common')), { id });
  });

  t.test('LinkedIn: without nonce and PKCE, and with email_verified as text', async (t) => {
    linkedin.person = { sub: 'lin', email: 'lin@example.com', email_verified: 'false', name: 'Lin' };
    await refusal(await login('linkedin'));
    linkedin.person = { ...linkedin.person, email_verified: 'true' };
    t.match(await userOf(await login('linkedin')), { email: 'lin@example.com', name: 'Lin' });
    const { query } = linkedin.requests.findLast(({ path }) => path.endsWith('authorization'))!;
    t.strictSame(Object.keys(query).toSorted(), ['client_id', 'redirect_uri', 'response_type', 'scope', 'state']);
    const browser = new Navigator();
    const callback = await browser.follow(pathOf('linkedin'), `${pathOf('linkedin')}/callback`);
    await refusal(await new Navigator().get(callback));
    await refusal(await browser.get(callback.replace(/state=./, 'state=x')));
    linkedin.cancels = true;
    const back = `${pathOf('linkedin')}?return_to=/page`;
    const cancelled = await browser.get(await browser.follow(back, `${pathOf('linkedin')}/callback`));
    t.equal(cancelled.headers.get('location'), '/page#error=unauthorized');
    linkedin.cancels = false;
    await refusal(await login('strict'));
  });

  /** Begins a login at Apple, and returns its page. */
  const appleForm = async (browser: Navigator, path = pathOf('apple')): Promise<string> => {
    const begun = await browser.get(path);
    const page = await browser.get(begun.headers.get('location') ?? '');
    t.equal(page.status, 200);
    return page.text();
  };
  const appleLogin = async (browser = new Navigator(), path = pathOf('apple')): Promise<Response> =>
    browser.submit(await appleForm(browser, path));

  t.test('Apple: the callback is a form, and the name comes with the first one', async (t) => {
    const begun = await new Navigator().get(pathOf('apple'));
    t.match(
      begun.headers.getSetCookie().join(),
      /oauth_state_\S+; Max-Age=600; Path=\/auth\/oauth; HttpOnly; SameSite=None; Secure$/,
    );
    const { searchParams } = new URL(begun.headers.get('location') ?? '');
    t.match(Object.fromEntries(searchParams), {
      response_mode: 'form_post',
      scope: 'name email',
      nonce: /./,
      code_challenge: /./,
    });
    apple.person = {
      sub: '001.a',
      email: 'a@privaterelay.appleid.com',
      email_verified: 'true',
      is_private_email: 'true',
    };
    const user = { name: { firstName: 'Åse', lastName: 'Dahl' }, email: 'victim@example.com' };
    apple.user = JSON.stringify(user);
    const browser = new Navigator();
    const done = await appleLogin(browser);
    t.equal(done.status, 200);
    t.match(await userOf(done), { email: 'a@privaterelay.appleid.com', name: 'Åse Dahl' });
    t.notOk([...browser.cookies(new URL(root).host).keys()].some((name) => name.startsWith('oauth_state')));
    apple.user = '';
    apple.person = { ...apple.person, email_verified: true };
    t.match(await userOf(await appleLogin()), { name: 'Åse Dahl' });
    for (const [index, wrong] of ['no JSON', 'null', '[]', '{"name":"x"}', '{"name":{"firstName":7}}'].entries()) {
      apple.user = wrong;
      apple.person = { sub: `001.odd.${index}`, email: `odd${index}@example.com`, email_verified: 'true' };
      t.match(await userOf(await appleLogin()), { name: `odd${index}` }, wrong);
    }
    apple.user = JSON.stringify(user);
    for (const email_verified of ['false', false, undefined, 'yes']) {
      apple.person = { sub: '001.b', email: 'victim@example.com', email_verified };
      await refusal(await appleLogin());
    }
    apple.user = '';
  });

  t.test('Apple: only the form of this browser’s login ends it, and only once', async (t) => {
    apple.person = { sub: '001.c', email: 'c@example.com', email_verified: 'true' };
    const browser = new Navigator();
    const form = await appleForm(browser);
    await refusal(await new Navigator().submit(form));
    const { state = '', code = '' } = Object.fromEntries(
      [...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    );
    await refusal(await browser.get(`${pathOf('apple')}/callback?code=${code}&state=${state}`), 404);
    await refusal(await browser.submit(form.replace('</form>', `<input name="state" value="${state}"></form>`)));
    const json = await browser.post(`${pathOf('apple')}/callback`, { state, code }, {});
    t.equal(json.status, 415);
    t.equal((await browser.submit(form)).status, 200);
    await refusal(await browser.submit(form));
    const other = await fetch(`${pathOf('linkedin')}/callback`, {
      method: 'POST',
      body: new URLSearchParams({ state }),
    });
    await refusal(other, 404);
    await refusal(await fetch(`${pathOf('apple')}/callback`, { method: 'POST' }));
    const long = new URLSearchParams({ state: 'x'.repeat(20_000) });
    t.equal((await fetch(`${pathOf('apple')}/callback`, { method: 'POST', body: long })).status, 413);
  });

  t.test('Apple: the form goes back to a page by a GET, also when the person cancels', async (t) => {
    apple.person = { sub: '001.d', email: 'd@example.com', email_verified: 'true' };
    const path = `${pathOf('apple')}?return_to=/page`;
    const done = await appleLogin(new Navigator(), path);
    t.strictSame([done.status, done.headers.get('location')], [303, '/page']);
    apple.cancels = true;
    const cancelled = await appleLogin(new Navigator(), path);
    t.strictSame([cancelled.status, cancelled.headers.get('location')], [303, '/page#error=unauthorized']);
    apple.cancels = false;
    await refusal(await appleLogin(new Navigator(), pathOf('stranger')));
  });

  t.test('Apple: a logged-in user links it', async (t) => {
    const { id } = await app.addAccount('apple-link@example.com');
    apple.person = { sub: '001.link', email: 'else@example.com', email_verified: 'false' };
    await refusal(await appleLogin());
    const browser = new Navigator();
    const by = { authorization: `Bearer ${await app.login('apple-link@example.com')}` };
    const begun = await browser.post(`${pathOf('apple')}/link`, { return_to: '/settings' }, by);
    const { url } = (await begun.json()) as { url: string };
    const done = await browser.submit(await (await browser.get(url)).text());
    t.strictSame([done.status, done.headers.get('location')], [303, '/settings']);
    t.match(await userOf(await appleLogin()), { id });
  });

  t.test('Discord: by its verified address', async (t) => {
    const user = { id: '80351110224678912', username: 'nelly', global_name: 'Nelly', email: 'nelly@example.com' };
    for (const more of [{ verified: false }, {}, { verified: true, email: null }]) {
      discord.user = { ...user, ...more };
      await refusal(await login('discord'));
    }
    discord.user = { ...user, verified: true };
    t.match(await userOf(await login('discord')), { email: 'nelly@example.com', name: 'Nelly' });
    discord.user = { ...user, verified: false, email: 'moved@example.com' };
    t.match(await userOf(await login('discord')), { email: 'nelly@example.com' });
    const browser = new Navigator();
    const callback = new URL(await browser.follow(pathOf('discord'), `${pathOf('discord')}/callback`));
    await refusal(await new Navigator().get(callback.href));
    callback.searchParams.set('iss', 'https://evil.example');
    await refusal(await browser.get(callback.href));
    await refusal(await login('wrong'));
  });

  t.test('Facebook: has no verified address, so that its users must link it', async (t) => {
    const { id } = await app.addAccount('face@example.com');
    facebook.user = { id: '10157', name: 'Fay', email: 'face@example.com' };
    await refusal(await login('facebook'));
    t.equal((await link('facebook', 'face@example.com')).status, 204);
    t.match(await userOf(await login('facebook')), { id });
    const browser = new Navigator();
    const callback = new URL(await browser.follow(pathOf('facebook'), `${pathOf('facebook')}/callback`));
    callback.searchParams.set('code', 'x');
    await refusal(await browser.get(callback.href));
  });

  t.test('X: with PKCE and Basic, by its confirmed address', async (t) => {
    x.user = { id: '2244994945', name: 'Xi', username: 'xi' };
    await refusal(await login('x'));
    x.user = { id: '2244994945', name: 'Xi', username: 'xi', confirmed_email: 'xi@example.com' };
    t.match(await userOf(await login('x')), { email: 'xi@example.com', name: 'Xi' });
  });

  t.test('a service that is down returns 503, and a refusal 401', async () => {
    for (const [service, name] of [
      [discord, 'discord'],
      [linkedin, 'linkedin'],
    ] as const) {
      for (const [outage, status] of [
        [{ status: 500, json: {} }, 503],
        [{ status: 429, json: {} }, 503],
        [{ html: '<p>Maintenance' }, 503],
        [{ status: 400, html: '<p>No' }, 401],
        [{ status: 403, json: {} }, 401],
        [{ json: [] }, 401],
      ] as const) {
        const browser = new Navigator();
        const callback = await browser.follow(pathOf(name), `${pathOf(name)}/callback`);
        service.outage = outage;
        await refusal(await browser.get(callback), status);
        service.outage = undefined;
      }
    }
  });
});

t.test('a wrong issuer is named in the log, and the login a 503', async (t) => {
  const orm = await openSqlite(t, { entities });
  const other = await new TestProvider().start(t);
  const discord = await new TestDiscord().start(t);
  other.serve('http://127.0.0.1/x');
  const page = await new TestDiscord().start(t);
  page.outage = { html: '<p>Welcome' };
  const lines: string[] = [];
  const app = fastify(serverOptions({ logger: { stream: { write: (line: string) => void lines.push(line) } } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const slash = other.issuer.replace('127.0.0.1', 'localhost');
  const providers = {
    mismatch: { issuer: slash, ...CLIENT },
    missing: { issuer: discord.url, ...CLIENT },
    page: { issuer: page.url, ...CLIENT },
  };
  const oauth = { identity: Identity, providers };
  await app.register(auth, { account: Account, secret: SECRET, mailer: new MailBox(), sessions: Session, oauth });
  for (const [name, message] of [
    ['mismatch', `got the metadata of the issuer \\"${other.issuer}\\" for \\"${slash}\\"`],
    ['missing', `got a response with 404 for \\"${discord.url}\\"`],
    ['page', `option \\"providers.page.issuer\\" must be the issuer of an OpenID provider`],
  ] as const) {
    const answer = await app.inject(`/auth/oauth/${name}`);
    t.equal(answer.statusCode, 503, name);
    t.match(answer.json(), { error: 'The login by this service is not set up correctly' });
    t.ok(lines.join('').includes(message), message);
    const back = await app.inject(`/auth/oauth/${name}?return_to=/page`);
    t.equal(back.headers.location, '/page#error=service_unavailable');
  }
  page.outage = undefined;
});

t.test('invalid options of services fail at start', async (t) => {
  const orm = await openSqlite(t, { entities });
  const plain = {
    kind: 'oauth2',
    authorizationEndpoint: 'https://x.com/a',
    tokenEndpoint: 'https://x.com/t',
    ...CLIENT,
  };
  const good = { ...plain, scope: 'a', profile: () => ({ subject: '1' }) };
  const open = { issuer: 'https://id.example.com', ...CLIENT };
  const common = { issuer: `${MICROSOFT}/common/v2.0`, ...CLIENT };
  const appleId = { issuer: 'https://appleid.apple.com', clientId: 'x' };
  const wrong: [object, RegExp][] = [
    [{ ...open, issuer: `${MICROSOFT}/common` }, /"providers.a.issuer" must be of the form .*<tenant>\/v2\.0, got "/],
    [{ ...open, issuer: 'https://www.linkedin.com' }, /must be of the form https:\/\/www\.linkedin\.com\/oauth/],
    [
      { ...open, issuer: `${open.issuer}/.well-known/openid-configuration` },
      /the issuer alone, without \/\.well-known\//,
    ],
    [{ ...common, kind: 'openid' }, /"providers.a.kind" must be microsoft for this issuer, got "openid"/],
    [{ ...common, trustUnverifiedEmails: true }, /left out with the tenant "common", unless the option "tenants"/],
    [{ ...common, trustUnverifiedEmails: ['contoso.com'] }, /left out with the tenant "common"/],
    [{ ...common, tenants: ['contoso.com'] }, /"providers.a.tenants" must be a list of ids of tenants/],
    [{ ...common, tenants: [] }, /a list of ids of tenants/],
    [{ ...open, tenants: [TENANT] }, /left out, because it is for Microsoft/],
    [{ ...open, trustUnverifiedEmails: false }, /must be true or a list of domains in lower case, got false/],
    [{ ...open, trustUnverifiedEmails: ['@contoso.com'] }, /a list of domains/],
    [{ ...open, trustUnverifiedEmails: [] }, /a list of domains/],
    [{ ...open, skipPkce: 'yes' }, /"providers.a.skipPkce" must be true or false/],
    [{ ...open, clientSecret: APPLE_KEY }, /"providers.a.clientSecret" must be a text, got "object"/],
    [{ ...appleId, clientSecret: 7 }, /"providers.a.clientSecret" must be a text, got "number"/],
    [{ ...appleId, clientSecret: { ...APPLE_KEY, privateKey: 'x' } }, /must be the content of a \.p8 file/],
    [{ ...appleId, clientSecret: { ...APPLE_KEY, teamId: '' } }, /"providers.a.clientSecret.teamId" must be a text/],
    [{ ...appleId, clientSecret: 'x', trustUnverifiedEmails: true }, /left out, because apple says/],
    [{ ...open, issuer: 'https://github.com', tenants: [TENANT] }, /"providers.a.tenants" must be left out for GitHub/],
    [{ ...good, scope: undefined }, /"providers.a.scope" must be a text/],
    [{ ...good, profile: undefined }, /"providers.a.profile" must be a function/],
    [{ ...good, tokenEndpoint: 'http://x.com' }, /"providers.a.tokenEndpoint" must be an https: URL/],
    [{ ...good, tokenEndpointAuthMethod: 'none' }, /must be client_secret_basic or client_secret_post/],
    [{ ...good, clientSecret: '' }, /"providers.a.clientSecret" must be a text that is not empty, got ""/],
    [{ ...good, skipNonce: true }, /unknown option "skipNonce"/],
  ];
  for (const [provider, message] of wrong) {
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    const oauth = { identity: Identity, providers: { a: provider } };
    const given = { account: Account, secret: SECRET, mailer: new MailBox(), oauth };
    await t.rejects(async () => app.register(auth, given as never), { name: 'ImproperlyConfigured', message });
    await app.close().catch(() => {});
  }
});
