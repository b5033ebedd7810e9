import { setTimeout as sleep } from 'node:timers/promises';
import type { MikroORM } from '@mikro-orm/core';
import { getCurrentUser, serverOptions, viewset } from '@viewset/core';
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import type { Test } from 'tap';
import { type AccountUser, auth, type AuthOptions, type EmailSender } from '../../src/index.ts';
import { Account, Role } from './entities.ts';

declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}

export const SECRET = 'an application secret of 32 bytes';
export const PASSWORD = 'correct horse';

/** Keeps what it is given instead of sending it. */
export class MailBox implements EmailSender {
  readonly mails: { recipient: string; subject: string; content: string; isHtml: boolean | undefined }[] = [];
  /** Makes the next sends fail. */
  failure: Error | undefined;
  /** The number of sends that failed. */
  failed = 0;
  /** The time that each send takes. */
  delayMs = 0;
  closed = 0;

  async send(recipient: string, subject: string, content: string, isHtml?: boolean): Promise<void> {
    if (this.failure !== undefined) {
      this.failed++;
      throw this.failure;
    }
    if (this.delayMs > 0) await sleep(this.delayMs);
    this.mails.push({ recipient, subject, content, isHtml });
  }

  close(): void {
    this.closed++;
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, never> & { readonly error?: string; readonly code?: string };
  readonly text: string;
}

/** The plugin in an application that listens, and what a client of it does. */
export class TestApp {
  readonly app: FastifyInstance;
  readonly orm: MikroORM;
  readonly mailer = new MailBox();
  /** The routes of the plugin and of the test. */
  readonly routes: RouteOptions[] = [];
  /** The entity of accounts that the plugin was given. */
  #account = Account;
  #url = '';

  constructor(orm: MikroORM) {
    this.orm = orm;
    this.app = fastify(serverOptions());
  }

  async start(options: Partial<AuthOptions>, addRoutes: (app: FastifyInstance) => void): Promise<void> {
    const { app, orm, mailer } = this;
    if (options.account !== undefined) this.#account = options.account as typeof Account;
    await app.register(viewset, { orm });
    app.addHook('onRoute', (route) => void this.routes.push(route));
    const standard = { account: Account, secret: SECRET, bcryptRounds: 4, mailer };
    await app.register(auth, { ...standard, ...options } as AuthOptions);
    app.get('/me', async (request) => ({ user: getCurrentUser(request) }));
    addRoutes(app);
    this.#url = await app.listen({ port: 0, host: '127.0.0.1' });
  }

  async request(
    method: string,
    path: string,
    options: { json?: unknown; body?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const body = options.body ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
    const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers };
    const answer = await fetch(this.#url + path, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: (text === '' ? {} : JSON.parse(text)) as Answer['body'],
    };
  }

  post(path: string, json: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('POST', path, { json, headers });
  }

  get(path: string, token?: string): Promise<Answer> {
    return this.request('GET', path, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  }

  async login(email: string, password: string = PASSWORD): Promise<string> {
    return (await this.post('/auth/login', { email, password })).body['access_token'] as unknown as string;
  }

  /** Asks for a code and reads it from the mail. */
  async code(email: string): Promise<string> {
    await this.post('/auth/send-verification-email', { email });
    return /\b\d{6}\b/.exec(this.mailer.mails.at(-1)?.content ?? '')?.[0] ?? '';
  }

  /** Waits for the mail of this place: some are sent when the answer is out. */
  async mail(place: number): Promise<MailBox['mails'][number]> {
    for (let wait = 0; this.mailer.mails.length <= place && wait < 500; wait++) await sleep(10);
    const mail = this.mailer.mails[place];
    if (mail === undefined) throw new Error(`There is no mail ${place}`);
    return mail;
  }

  /** Waits for the first mail from a place on that has a code, to anybody or to one address, and returns the code. */
  async sentCode(place: number, email?: string): Promise<string> {
    const { recipient, content } = await this.mail(place);
    const code = /\b\d{6}\b/.exec(content)?.[0];
    return code === undefined || recipient !== (email ?? recipient) ? this.sentCode(place + 1, email) : code;
  }

  async addAccount(
    email: string,
    more: { is_active?: boolean; role?: Role | null; password?: string } = {},
  ): Promise<Account> {
    const em = this.orm.em.fork();
    const account = em.create(this.#account, { email, password: PASSWORD, name: 'Ann', is_active: true, ...more });
    await em.persist(account).flush();
    return account;
  }

  async addRole(name: string): Promise<Role> {
    const em = this.orm.em.fork();
    const role = em.create(Role, { name });
    await em.persist(role).flush();
    return role;
  }

  async stored(email: string): Promise<Account | null> {
    return this.orm.em.fork().findOne(this.#account, { email }, { populate: ['role'] });
  }
}

export async function startApp(
  t: Test,
  orm: MikroORM,
  options: Partial<AuthOptions> = {},
  addRoutes: (app: FastifyInstance) => void = () => {},
): Promise<TestApp> {
  const app = new TestApp(orm);
  t.teardown(() => app.app.close());
  await app.start(options, addRoutes);
  return app;
}
