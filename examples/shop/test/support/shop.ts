import { missingServer, TEST_DATABASES, type TestDatabase } from '@viewset/testing';
import t, { type Test } from 'tap';
import { freshDatabase } from './database.ts';
import { HttpClient, type RequestOptions } from './http-client.ts';
import type { RunningShop, Variables } from './running-shop.ts';
import { ShopInside } from './shop-inside.ts';
import { ShopProcess } from './shop-process.ts';

export const ADMIN = { email: 'admin@example.com', password: 'admin-password' };
export const PASSWORD = 'user-password';

/** A shop that listens, with the calls that many tests need. */
export class Shop<Running extends RunningShop = RunningShop> extends HttpClient {
  readonly kind: TestDatabase;
  readonly databaseUrl: string;
  readonly process: Running;

  constructor(url: string, kind: TestDatabase, databaseUrl: string, process: Running) {
    super(url);
    this.kind = kind;
    this.databaseUrl = databaseUrl;
    this.process = process;
  }

  /** A token of the seeded administrator, or of the user with these credentials. */
  async login(credentials: { email: string; password: string } = ADMIN): Promise<string> {
    const answer = await this.post<{ access_token: string }>('/api/auth/login', credentials);
    if (answer.status !== 200) throw new Error(`Login as ${credentials.email}: ${answer.status} ${answer.text}`);
    return answer.body.access_token;
  }

  /** Requests a verification code and reads it from the mail, which is in the log if there is no mail server. */
  async verificationCode(email: string, options: RequestOptions = {}): Promise<string> {
    const before = this.process.log.length;
    const answer = await this.post('/api/auth/send-verification-email', { email }, options);
    if (answer.status !== 200) throw new Error(`Code for ${email}: ${answer.status} ${answer.text}`);
    const line = await this.process.logged(({ mail }) => mail?.recipient === email.trim().toLowerCase(), before);
    return codeIn(line.mail!.content);
  }

  /** Registers an account, which has the role `user`: its id. */
  async register(email: string, name = 'Some User'): Promise<number> {
    const code = await this.verificationCode(email);
    const account = { email, password: PASSWORD, name, code };
    const answer = await this.post<{ user: { id: number } }>('/api/auth/register', account);
    if (answer.status !== 201) throw new Error(`Registration of ${email}: ${answer.status} ${answer.text}`);
    return answer.body.user.id;
  }

  /** A token of a new account with the role `user`. */
  async newUser(email: string): Promise<string> {
    await this.register(email);
    return this.login({ email, password: PASSWORD });
  }
}

/** The six digits of a verification mail. */
export function codeIn(text: string): string {
  const code = /(?<!\d)\d{6}(?!\d)/.exec(text);
  if (code === null) throw new Error(`No code in ${text}`);
  return code[0];
}

export interface ShopOptions {
  kind?: TestDatabase;
  /** Default: a fresh one. */
  databaseUrl?: string;
  variables?: Variables;
}

/** Starts a shop in a separate process, for tests of starts, ends and several processes. */
export async function startShop(t: Test, options: ShopOptions = {}): Promise<Shop<ShopProcess>> {
  const [kind, databaseUrl] = await databaseOf(t, options);
  const process = new ShopProcess(t, { DATABASE_URL: databaseUrl, ...options.variables });
  const { port } = await process.logged((line) => line.msg === 'listening');
  return new Shop(`http://127.0.0.1:${String(port)}`, kind, databaseUrl, process);
}

/**
 * Opens a shop for tests of its responses, in the process of the test, because starting a process would take most of the time of such a
 * test.
 * With `SHOP_PROCESSES=1` it has a separate process. CI sets this for a sample of the tests.
 */
export async function openShop(t: Test, options: ShopOptions = {}): Promise<Shop> {
  if (process.env['SHOP_PROCESSES'] === '1') return startShop(t, options);
  const [kind, databaseUrl] = await databaseOf(t, options);
  const inside = new ShopInside();
  const port = await inside.start(t, { DATABASE_URL: databaseUrl, ...options.variables });
  return new Shop(`http://127.0.0.1:${port}`, kind, databaseUrl, inside);
}

async function databaseOf(t: Test, options: ShopOptions): Promise<readonly [TestDatabase, string]> {
  const kind = options.kind ?? 'sqlite';
  return [kind, options.databaseUrl ?? (await freshDatabase(t, kind))];
}

/** Runs tests against a shop on every kind of database, each with a separate database. */
export function withShop(variables: Variables, tests: (t: Test, shop: Shop) => Promise<void>): void {
  for (const kind of TEST_DATABASES) {
    t.test(`on ${kind}`, { skip: missingServer(kind) }, async (t) => {
      const shop = await openShop(t, { kind, variables });
      await tests(t, shop);
      t.same(faults(shop), [], 'nothing that a client sent was a fault of the server');
    });
  }
}

/** The entries of the log at level error or above. */
function faults(shop: Shop): unknown[] {
  return shop.process.log.filter((line) => line.level >= 50);
}
