/**
 * A process that starts copies of the shop, one after the other, and sends each the same requests: the first of everything that it
 * declares. It receives a path from its parent, and replies with the responses of the shop, or the reason why it did not start.
 */

import { pathToFileURL } from 'node:url';
import type { buildApp } from '../../examples/shop/src/app.ts';
import { readSettings } from '../../examples/shop/src/settings.ts';

type Shop = Awaited<ReturnType<typeof buildApp>>;
type Answer = Awaited<ReturnType<Shop['inject']>>;

/** The outcome of a copy: its responses, or the error message of its start. */
export type Outcome = { readonly answers: readonly string[] } | { readonly refused: string };

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
type Probe = readonly [method: Method, url: string, body?: object];

const ADMIN = { email: 'admin@example.com', password: 'admin-password' };
const filter = (field: string, value: unknown): string =>
  `/api/products?filter=${encodeURIComponent(JSON.stringify({ '==': [{ var: field }, value] }))}`;

const PROBES: readonly Probe[] = [
  ['GET', '/'],
  ['GET', '/api'],
  ['GET', '/health/'],
  ['OPTIONS', '/api/products'],
  ['GET', '/api/products'],
  ...['search=chair', 'min_price=50&max_price=90', 'min_stock=5', 'name=Oak%20Chair', 'page_size=3', 'nmae=x'].map(
    (query): Probe => ['GET', `/api/products?${query}`],
  ),
  ...['id', 'name', 'price', 'stock'].map((name): Probe => ['GET', `/api/products?sort=-${name}`]),
  ['GET', filter('id', 3)],
  ['GET', filter('name', 'Oak Chair')],
  ['GET', filter('price', 89)],
  ['GET', filter('stock', 7)],
  ['GET', '/api/products/featured'],
  ['GET', '/api/products/search?q=chair'],
  ['GET', '/api/products/1'],
  ['POST', '/api/products', { name: 'Tea', price: 4.5 }],
  ['POST', '/api/products', { name: '', price: -1, stock: -1 }],
  ['PUT', '/api/products/1', { name: 'Tea', price: 4.5, stock: 3 }],
  ['PATCH', '/api/products/2', { stock: 1 }],
  ['DELETE', '/api/products/3'],
  ['GET', '/api/roles?search=adm'],
  ['GET', '/api/roles?sort=-name'],
  ['GET', '/api/roles?sort=-id'],
  ['POST', '/api/roles', { name: 'clerk', description: 'sells' }],
  ['POST', '/api/roles', { name: 'clerk' }],
  ['PATCH', '/api/roles/1', { name: 'root' }],
  ['PATCH', '/api/roles/3', { name: 'seller', description: null }],
  ['DELETE', '/api/roles/1'],
  ['DELETE', '/api/roles/3'],
  ['GET', '/api/accounts'],
  ...['role=admin', 'is_active=true', 'search=Ada', 'search=user@', 'sort=-id', 'sort=name', 'sort=email'].map(
    (query): Probe => ['GET', `/api/accounts?${query}`],
  ),
  ['GET', '/api/accounts/2'],
  ['POST', '/api/accounts', { name: 'x' }],
  ['PATCH', '/api/accounts/1', { is_active: false }],
  ['PATCH', '/api/accounts/2', { role: 'admin', name: 'Ada L.' }],
  ['PATCH', '/api/accounts/2', { role: 'nobody', email: 'wrong' }],
  ['PUT', '/api/accounts/2', { name: 'Ada', email: 'ADA@example.com', is_active: true, role: null }],
  ['DELETE', '/api/accounts/2'],
  ['DELETE', '/api/accounts/1'],
  ['POST', '/api/auth/send-verification-email', { email: 'new@example.com' }],
  ['POST', '/api/auth/register', { email: 'new@example.com', password: 'x'.repeat(9), name: 'New', code: '000000' }],
];

/** The headers that depend on the shop's files. */
const HEADERS = [
  'location',
  'allow',
  'vary',
  'cache-control',
  'content-security-policy',
  'referrer-policy',
  'ratelimit-limit',
];

process.on('message', (entry: string) => {
  void outcomeOf(entry).then((outcome) => process.send?.(outcome));
});

async function outcomeOf(entry: string): Promise<Outcome> {
  let app: Shop | undefined;
  try {
    const copy = (await import(pathToFileURL(entry).href)) as { readonly buildApp: typeof buildApp };
    app = await copy.buildApp(settings());
    await app.ready();
  } catch (error) {
    return { refused: String(error) };
  }
  try {
    return { answers: await answersOf(app) };
  } finally {
    await app.close().catch(() => undefined);
  }
}

function settings() {
  return readSettings({
    DATABASE_URL: 'sqlite::memory:',
    BCRYPT_ROUNDS: '4',
    SECRET_KEY: 'a secret of at least thirty-two bytes',
    JWT_SECRET: 'another secret of thirty-two bytes',
    THROTTLE_IP: '100000/60',
    THROTTLE_USER: '100000/60',
  });
}

/** Sends every request three times: without a login, with an account without a role, and as the administrator. */
async function answersOf(app: Shop): Promise<string[]> {
  const answers: string[] = [];
  const login = async (credentials: object): Promise<string | undefined> => {
    const response = await app.inject({ method: 'POST', url: '/api/auth/login', payload: credentials });
    answers.push(`login ${response.statusCode} ${summaryOf(response)}`);
    return safely(() => response.json<{ access_token?: string }>())?.access_token;
  };
  const admin = await login(ADMIN);
  const connection = app.viewset.orm.em.getConnection();
  const copied = `insert into account (name, email, password, is_active, created_at)
    select 'Ada', 'user@example.com', password, 1, created_at from account where id = 1`;
  await connection.execute(copied).catch(() => undefined);
  const user = await login({ ...ADMIN, email: 'user@example.com' });
  const home = await app.inject({ url: '/', headers: { accept: 'text/html' } });
  answers.push(`a browser ${home.statusCode} ${summaryOf(home)}`);
  for (const token of [undefined, user, admin]) {
    for (const [method, url, payload] of PROBES) {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const response = await app.inject({ method, url, headers, ...(payload && { payload }) });
      answers.push(`${method} ${url} ${response.statusCode} ${summaryOf(response)}`);
    }
  }
  return answers;
}

/** Returns the parts of a response that are the same for every request. */
function summaryOf({ headers, body }: Answer): string {
  const said = HEADERS.map((name) => `${name}: ${String(headers[name])}`).join('; ');
  const changing = /"(?:access_token|duration_ms|last_login|created_at|expires_in)":(?:"[^"]*"|[\d.]+)/g;
  return `${said} ${body.replaceAll(changing, '')}`;
}

function safely<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
