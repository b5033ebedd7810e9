import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Configuration, Provider } from 'oidc-provider';
import type { Test } from 'tap';

export const CLIENT = { clientId: 'shop', clientSecret: 'a secret of the shop' };

/** Made once: it takes its time. */
const KEYS = ['one', 'two'].map((kid) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', kid };
});

/** The person who is logged in at the service. */
export interface Person {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
}

/** A real OpenID provider on loopback, at which one person is logged in and agrees to everything. */
export class TestProvider {
  person: Person = { sub: 'p1' };
  /** The requests that it got, by path. */
  readonly requests: string[] = [];
  issuer = '';
  #server: Server | undefined;
  #handler: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined;
  readonly #redirectUris: string[] = [];
  readonly #keys = [...KEYS];

  async start(t: Test): Promise<this> {
    this.#server = createServer((request, response) => {
      this.requests.push((request.url ?? '').split('?')[0] ?? '');
      void this.#handler(request, response);
    });
    await new Promise<void>((resolve) => this.#server!.listen(0, '127.0.0.1', resolve));
    t.teardown(() => this.stop());
    this.issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** Serves with another key than before, and forgets everything else. */
  serve(redirectUri: string): void {
    this.#redirectUris.push(redirectUri);
    this.#keys.push(this.#keys.shift()!);
    const [key] = this.#keys;
    const configuration: Configuration = {
      clients: [
        { client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, redirect_uris: [...this.#redirectUris] },
      ],
      jwks: { keys: [key!] },
      cookies: { keys: ['a key of cookies'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ ...this.person, sub }) }),
    };
    const provider = new Provider(this.issuer, configuration);
    const callback = provider.callback();
    this.#handler = (request, response) =>
      request.url?.startsWith('/interaction/') === true
        ? this.#agree(provider, request, response)
        : callback(request, response);
  }

  async #agree(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const accountId = this.person.sub;
    const grant = new provider.Grant({ accountId, clientId: CLIENT.clientId });
    grant.addOIDCScope('openid email profile');
    const result = { login: { accountId }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }
}

/** A service that speaks OAuth 2 as GitHub does, with the PKCE that it checks. */
export class TestGithub {
  issuer = '';
  user: object = { id: 1, login: 'ann', name: null };
  emails: readonly object[] = [];
  #server: Server | undefined;
  readonly #challenges = new Map<string, string>();

  async start(t: Test): Promise<this> {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => this.#server!.listen(0, '127.0.0.1', resolve));
    t.teardown(() => {
      this.#server?.closeAllConnections();
      this.#server?.close();
    });
    this.issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.issuer);
    const json = (body: unknown): void =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    const query = Object.fromEntries(url.searchParams);
    if (url.pathname === '/login/oauth/authorize') {
      const code = randomBytes(8).toString('hex');
      this.#challenges.set(code, query['code_challenge'] ?? '');
      const back = new URL(query['redirect_uri'] ?? '');
      back.search = new URLSearchParams({ code, state: query['state'] ?? '' }).toString();
      response.writeHead(302, { location: back.href }).end();
      return;
    }
    if (url.pathname === '/login/oauth/access_token') {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const body = Object.fromEntries(new URLSearchParams(text));
      const challenge = createHash('sha256')
        .update(body['code_verifier'] ?? '')
        .digest('base64url');
      const isRight =
        challenge === this.#challenges.get(body['code'] ?? '') && body['client_secret'] === CLIENT.clientSecret;
      this.#challenges.delete(body['code'] ?? '');
      json(isRight ? { access_token: 'gho_1', token_type: 'bearer', scope: '' } : { error: 'bad_verification_code' });
      return;
    }
    if (request.headers.authorization !== 'Bearer gho_1') response.writeHead(401).end();
    else json(url.pathname === '/api/v3/user' ? this.user : this.emails);
  }
}

/** A browser: it keeps cookies by host and follows redirects by itself no further than it is told. */
export class Navigator {
  readonly #jars = new Map<string, Map<string, string>>();
  /** The cookies that are also sent with forms of other sites. */
  readonly #crossSite = new Set<string>();

  /** Sends one GET. */
  async get(url: string): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.#jars.get(host) ?? new Map<string, string>();
    this.#jars.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } });
    for (const each of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (each.split(';')[0] ?? '').split(/=(.*)/s);
      if (value === '' || /max-age=0/i.test(each)) jar.delete(name);
      else jar.set(name, value);
      if (each.endsWith('; SameSite=None; Secure')) this.#crossSite.add(name);
    }
    return answer;
  }

  /** Sends the form of another site's page, as its script does. */
  async submit(page: string): Promise<Response> {
    const action = /action="([^"]+)"/.exec(page)?.[1] ?? '';
    const inputs = page.matchAll(/name="([^"]+)" value="([^"]*)"/g);
    const fields = new URLSearchParams();
    for (const [, name = '', value = ''] of inputs) {
      fields.append(name, value.replaceAll('&quot;', '"').replaceAll('&amp;', '&'));
    }
    const jar = this.cookies(new URL(action).host);
    const sent = [...jar].filter(([name]) => this.#crossSite.has(name)).map(([name, value]) => `${name}=${value}`);
    const answer = await fetch(action, {
      method: 'POST',
      redirect: 'manual',
      body: fields,
      headers: { cookie: sent.join('; '), origin: 'https://appleid.apple.com', 'sec-fetch-site': 'cross-site' },
    });
    for (const each of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (each.split(';')[0] ?? '').split(/=(.*)/s);
      if (value === '' || /max-age=0/i.test(each)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  /** Sends one POST with a JSON body, as a page does. */
  async post(url: string, body: object, headers: Record<string, string>): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.#jars.get(host) ?? new Map<string, string>();
    this.#jars.set(host, jar);
    const json = { 'content-type': 'application/json', ...headers };
    const answer = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) });
    for (const each of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (each.split(';')[0] ?? '').split(/=(.*)/s);
      jar.set(name, value);
      if (each.endsWith('; SameSite=None; Secure')) this.#crossSite.add(name);
    }
    return answer;
  }

  /** Follows redirects up to the first address that has `until` in it, which is not asked for. */
  async follow(url: string, until: string): Promise<string> {
    let address = url;
    for (let hops = 0; hops < 10; hops++) {
      const answer = await this.get(address);
      const location = answer.headers.get('location');
      if (location === null) throw new Error(`${address} answered ${answer.status}: ${await answer.text()}`);
      address = new URL(location, address).href;
      if (address.includes(until)) return address;
    }
    throw new Error(`no ${until} after ten redirects`);
  }

  /** The cookies of a host, to be taken to another browser. */
  cookies(host: string): Map<string, string> {
    return this.#jars.get(host) ?? new Map<string, string>();
  }
}
