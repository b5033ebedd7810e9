/**
 * Two companies and random requests. A response to one never has a key or a text of the other, the stored records of the other never
 * change, and a key of the other acts like one that no record has.
 */
import type { MikroORM } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { ALL_TENANTS } from '../../src/index.ts';
import { IdempotencyKeys } from '../../../idempotency/src/index.ts';
import { HistoryEntry } from '../../../history/src/index.ts';
import { OutboxEvent } from '../../../outbox/src/index.ts';
import { EventStream } from '../../../live/test/support/event-stream.ts';
import { Dice } from '../query/random-conditions.ts';
import { PNG } from '../support/bucket.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';
import {
  bucket,
  companies,
  companiesApp,
  Company,
  entities,
  Label,
  Member,
  Project,
  router,
  storedOf,
  Task,
} from './companies.ts';

const SEED = Number(process.env['TEST_SEED'] ?? 44);
const COUNT = Number(process.env['TEST_COUNT'] ?? 120);
const NAMES = ['members', 'labels', 'projects', 'tasks'] as const;
type Name = (typeof NAMES)[number];

interface Sent {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly payload?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Writes requests of one company, with keys and texts of both. */
class Requests {
  readonly #dice: Dice;
  /** The keys of both companies by resource, with the company. */
  keys: { readonly name: Name; readonly key: string; readonly company: number }[] = [];
  /** Tags, cursors, links and ids of entries that responses of either have shown. */
  readonly seen: string[] = ['"none"'];
  readonly entries: string[] = [randomUUID()];
  #made = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Writes the first records of a company. */
  first(company: number): Sent[] {
    const named = (name: Name): Sent => ({ method: 'POST', url: `/${name}`, payload: { name: this.#text(company) } });
    const tasks = Array.from({ length: 3 }, () => ({ text: this.#text(company) }));
    const project = (): Sent => ({ method: 'POST', url: '/projects', payload: { name: this.#text(company), tasks } });
    return [named('members'), named('members'), named('labels'), named('labels'), project(), project(), project()];
  }

  next(company: number): Sent {
    const one = this.#dice.below(12);
    if (one < 5) return this.#read(company);
    if (one === 5) return this.#batch(company);
    if (one === 6) return this.#special(company);
    return this.#write(company);
  }

  #text(company: number): string {
    return `of-${company === 1 ? 'first' : 'second'}-${(this.#made += 1)}`;
  }

  /** A key of a resource: of the company, of the other, or of nobody. */
  #key(name: Name, company: number): string {
    const of = this.#dice.oneOf([company, company, company, company, company, 3 - company, 3 - company, 0]);
    const known = this.keys.filter((each) => each.name === name && each.company === of);
    return known.length === 0 ? randomUUID() : this.#dice.oneOf(known).key;
  }

  #maybe<Value>(value: () => Value): Value | null {
    return this.#dice.below(3) === 0 ? null : value();
  }

  #read(company: number): Sent {
    const name = this.#dice.oneOf(NAMES);
    const key = this.#key(name, company);
    const method = this.#dice.oneOf(['GET', 'GET', 'GET', 'HEAD', 'OPTIONS'] as const);
    const paths = [`/${name}`, `/${name}/${key}`];
    if (name === 'projects') {
      paths.push(
        `/projects/${key}/history`,
        '/projects/deleted',
        '/projects.csv',
        '/projects.ndjson',
        '/projects/totals',
      );
      paths.push(
        `/projects/${key}/cover`,
        `/projects/${key}/tasks`,
        `/projects/${key}/tasks/${this.#key('tasks', company)}`,
      );
      paths.push('/projects/summary?group=name&sum=budget', '/projects/summary?group=leader.name&max=budget');
      paths.push(...this.#filters(company).map((query) => `/projects?${query}`));
      paths.push('/projects?expand=leader', '/projects?fields=id,tasks', `/projects/${key}?expand=leader`);
    }
    if (name === 'tasks') {
      paths.push('/tasks.ndjson', '/tasks/summary?group=project.name&sum=points', `/tasks/${key}/history`);
      paths.push(
        `/tasks?project=${this.#key('projects', company)}`,
        '/tasks?project_name=of-first-1',
        '/tasks?sort=-project,text',
      );
      paths.push(
        `/tasks?cursor=${encodeURIComponent(this.#dice.oneOf(this.seen))}`,
        '/tasks?search=of-second',
        '/tasks?points=1',
      );
    }
    const headers = this.#dice.below(4) === 0 ? { 'if-none-match': this.#dice.oneOf(this.seen) } : {};
    return { method, url: this.#dice.oneOf(paths), headers };
  }

  #filters(company: number): string[] {
    const leader = this.#key('members', company);
    const logic = (rule: object): string => `filter=${encodeURIComponent(JSON.stringify(rule))}`;
    return [
      `leader=${leader}`,
      'leader_name=of-',
      'task=second',
      `label=${this.#key('labels', company)}`,
      'search=of-first',
      'search=second',
      'sort=leader,-budget&page_size=3',
      'page=2&page_size=2',
      logic({ '==': [{ var: 'id' }, this.#key('projects', company)] }),
      logic({ '!': [{ '==': [{ var: 'leader.name' }, 'of-first-1'] }] }),
      logic({ or: [{ in: ['second', { var: 'leader.name' }] }, { '==': [{ var: 'leader.name' }, null] }] }),
    ];
  }

  #body(name: Name, company: number, isPartial: boolean): Record<string, unknown> {
    const text = this.#text(company);
    if (name === 'members' || name === 'labels') return { name: text };
    const { below } = { below: (limit: number) => this.#dice.below(limit) };
    const keeps = (): boolean => !isPartial || below(2) === 0;
    if (name === 'tasks') {
      return {
        text,
        ...(keeps() && { points: below(9) }),
        ...(keeps() && { project: this.#maybe(() => this.#key('projects', company)) }),
        ...(keeps() && { parent: this.#maybe(() => this.#key('tasks', company)) }),
      };
    }
    const child = () => ({
      ...(isPartial && below(2) === 0 && { id: this.#key('tasks', company) }),
      text: this.#text(company),
    });
    return {
      name: text,
      ...(keeps() && { budget: below(100) }),
      ...(keeps() && { leader: this.#maybe(() => this.#key('members', company)) }),
      ...(keeps() && { tasks: Array.from({ length: below(3) }, child) }),
      ...(keeps() && { labels: [...new Set(Array.from({ length: below(3) }, () => this.#key('labels', company)))] }),
    };
  }

  #write(company: number): Sent {
    const name = this.#dice.oneOf(NAMES);
    const key = this.#key(name, company);
    const method = this.#dice.oneOf(['POST', 'POST', 'PATCH', 'PATCH', 'PUT', 'DELETE'] as const);
    const headers = this.#dice.below(3) === 0 ? { 'idempotency-key': `"${this.#dice.below(9)}"` } : {};
    if ((name === 'labels' || name === 'tasks') && this.#dice.below(3) === 0) {
      const keys = [...new Set([key, this.#key(name, company)])];
      if (method === 'DELETE') return { method, url: `/${name}?pk=${keys.join(',')}` };
      if (method === 'POST') {
        return { method, url: `/${name}`, payload: keys.map(() => this.#body(name, company, false)) };
      }
      return {
        method: 'PATCH',
        url: `/${name}`,
        payload: keys.map((id) => ({ id, ...this.#body(name, company, true) })),
      };
    }
    const under = name === 'tasks' && this.#dice.below(3) === 0 ? `/projects/${this.#key('projects', company)}` : '';
    if (method === 'DELETE') return { method, url: `${under}/${name}/${key}` };
    const body = this.#body(name, company, method === 'PATCH');
    if (under !== '') delete body['project'];
    const tag =
      method !== 'POST' && name === 'projects' && this.#dice.below(3) === 0
        ? { 'if-match': this.#dice.oneOf(this.seen) }
        : {};
    return {
      method,
      url: `${under}/${name}${method === 'POST' ? '' : `/${key}`}`,
      payload: body,
      headers: { ...tag, ...(method === 'POST' ? headers : {}) },
    };
  }

  #special(company: number): Sent {
    const project = this.#key('projects', company);
    return this.#dice.oneOf<() => Sent>([
      () => ({ method: 'POST', url: '/projects/adopt', payload: { task: this.#key('tasks', company), project } }),
      () => ({ method: 'POST', url: `/projects/${project}/restore` }),
      () => ({
        method: 'POST',
        url: `/projects/${project}/revert`,
        payload: { entry: this.#dice.oneOf(this.entries) },
      }),
      () => upload(`/projects/${project}`),
      () => ({ method: 'GET', url: '/companies' }),
      () => ({ method: 'PATCH', url: `/companies/${3 - company}`, payload: { name: this.#text(company) } }),
      () => ({ method: 'DELETE', url: `/companies/${3 - company}` }),
      () => ({
        method: 'POST',
        url: '/companies',
        payload: { id: 3 + this.#dice.below(9), name: this.#text(company) },
      }),
    ])();
  }

  #batch(company: number): Sent {
    const operations = Array.from({ length: 1 + this.#dice.below(3) }, () => {
      const { method, url, payload } = this.#dice.below(2) === 0 ? this.#read(company) : this.#write(company);
      const isPlain = method !== 'HEAD' && method !== 'OPTIONS';
      return { method: isPlain ? method : 'GET', path: url, ...(payload === undefined ? {} : { body: payload }) };
    });
    return { method: 'POST', url: '/batch', payload: { operations } };
  }
}

function upload(url: string): Sent {
  const start =
    '--part\r\ncontent-disposition: form-data; name="cover"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n';
  const payload = Buffer.concat([Buffer.from(start), PNG, Buffer.from('\r\n--part--\r\n')]);
  return { method: 'PATCH', url, payload, headers: { 'content-type': 'multipart/form-data; boundary=part' } };
}

/** Sends a request as a company; without one as a visitor. */
async function send(app: FastifyInstance, company: number | undefined, { headers, ...sent }: Sent) {
  const own = company === undefined ? {} : { 'x-company': String(company) };
  // Both companies have an account of this id.
  const response = await app.inject({ ...sent, headers: { 'x-user': 'seven77', ...own, ...headers } } as never);
  const { statusCode: status, body } = response as unknown as { statusCode: number; body: string };
  return {
    status,
    text: `${JSON.stringify((response as { headers: object }).headers)} ${body}`,
    body,
    headers: (response as { headers: Record<string, string> }).headers,
  };
}

/** All keys with their companies, read by the tests themselves. */
async function keysOf(orm: MikroORM): Promise<Requests['keys']> {
  const em = companies.fork(orm.em, ALL_TENANTS);
  const keys: Requests['keys'] = [];
  for (const [name, entity] of [
    ['members', Member],
    ['labels', Label],
    ['projects', Project],
    ['tasks', Task],
  ] as const) {
    for (const record of await em.find(entity as typeof Task, {}, { orderBy: { id: 'asc' } })) {
      keys.push({ name, key: record.id, company: record.company.id });
    }
  }
  return keys;
}

/** Every reference between two companies. */
async function mixed(orm: MikroORM): Promise<unknown[]> {
  const em = companies.fork(orm.em, ALL_TENANTS);
  const tasks = await em.find(Task, {}, { populate: ['project', 'parent'] });
  const projects = await em.find(Project, {}, { populate: ['labels', 'leader'] });
  const pairs = [
    ...tasks.flatMap((one) => [one.project, one.parent].map((other) => [one, other] as const)),
    ...projects.flatMap((one) => [one.leader, ...one.labels.getItems()].map((other) => [one, other] as const)),
  ];
  return pairs.filter(([one, other]) => other && one.company.id !== other.company.id);
}

const TEXTS = { 1: 'of-first', 2: 'of-second' } as const;

forEachDatabase(t, { entities, orm: { extensions: [companies] } }, async (t, orm, database) => {
  t.test(`${COUNT} requests from seed ${SEED}`, async (t) => {
    bucket.clear();
    const em = companies.fork(orm.em, ALL_TENANTS);
    em.create(Company, { id: 1, name: 'of-first' });
    em.create(Company, { id: 2, name: 'of-second' });
    await em.flush();
    const app = await testApp(t, orm, [router()], {
      options: { idempotency: new IdempotencyKeys(), secret: 's'.repeat(32) },
      before: companiesApp,
    });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const open = (company: string) => EventStream.open(t, `${url}/projects`, { headers: { 'x-company': company } });
    const streams = [await open('1'), await open('2')];
    const requests = new Requests(new Dice(SEED + database.length));
    const statuses = new Map<string, number>();
    for (const company of [1, 2]) for (const first of requests.first(company)) await send(app, company, first);
    requests.keys = await keysOf(orm);
    for (let step = 0; step < COUNT; step += 1) {
      const company = 1 + (step % 2);
      const other = 3 - company;
      const sent = requests.next(company);
      const before = await storedOf(orm, other);
      const isVisitor = step % 10 === 9;
      const own = await storedOf(orm, company);
      const twin = twinOf(sent, new Set(before.keys()));
      const known = twin && (await send(app, isVisitor ? undefined : company, twin.sent));
      const answer = await send(app, isVisitor ? undefined : company, sent);
      const where = `${step}: ${isVisitor ? 'visitor' : company} ${JSON.stringify(sent)} ${answer.status} ${answer.body.slice(0, 300)}`;
      // What the client sent may come back in an error.
      const said = JSON.stringify(sent) + decodeURIComponent(sent.url);
      const foreign = [...before.keys(), ...(isVisitor ? own.keys() : [])].filter((key) => !said.includes(key));
      if (foreign.some((key) => answer.text.includes(key))) t.fail(`a foreign key: ${where}`);
      const shown = answer.text.match(new RegExp(`${TEXTS[other as 1]}-\\d+`, 'g')) ?? [];
      if (shown.some((text) => !said.includes(text))) t.fail(`a foreign text: ${where}`);
      if (answer.status >= 500) t.fail(`a failure: ${where}`);
      if (!isSame(before, await storedOf(orm, other))) t.fail(`a foreign record has changed: ${where}`);
      if (isVisitor && !isSame(own, await storedOf(orm, company))) t.fail(`a visitor has written: ${where}`);
      if (known && isComparable(known.status, answer.status, sent)) {
        const given = answer.body.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'key');
        const expected = known.body.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'key');
        if (known.status !== answer.status || given !== expected) {
          t.fail(`a foreign key is told from none: ${where} ${known.status} ${known.body}`);
        }
      }
      const kind = `${sent.method} ${answer.status}`;
      statuses.set(kind, (statuses.get(kind) ?? 0) + 1);
      requests.keys = await keysOf(orm);
      for (const [, cursor] of answer.body.matchAll(/"next_cursor":"([^"]+)"/g)) requests.seen.push(cursor!);
      if (answer.headers['etag'] !== undefined) requests.seen.push(answer.headers['etag']);
      if (sent.url.endsWith('/history')) {
        requests.entries.push(...[...answer.body.matchAll(/"id":"([^"]{36})"/g)].map(([, id]) => id!));
      }
    }
    t.strictSame(await mixed(orm), [], 'no record refers to one of the other company');
    for (const kind of ['GET 200', 'POST 201', 'PATCH 200', 'DELETE 204']) {
      t.ok((statuses.get(kind) ?? 0) > 1, `${kind} ${statuses.get(kind)}`);
    }
    for (const [index, stream] of streams.entries()) {
      t.notMatch(JSON.stringify(stream.events), TEXTS[(2 - index) as 1], 'a live list has its own records');
      await stream.until(({ events }) => JSON.stringify(events).includes(TEXTS[(1 + index) as 1]));
      stream.close();
    }
    await checkKept(t, orm);
    await checkIdempotencyKeys(t, app);
  });
});

/** Entries and events belong to the company of their record. */
async function checkKept(t: Test, orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  const events = await em.find(OutboxEvent, {});
  t.ok(events.length > 0);
  for (const { tenant_key: key, payload } of events) {
    t.notMatch(JSON.stringify(payload), TEXTS[(3 - Number(key)) as 1]);
  }
  for (const { values } of await em.find(HistoryEntry, {})) {
    t.notMatch(JSON.stringify(values), TEXTS[(3 - Number(values['company'])) as 1]);
  }
}

/** Two accounts of one id in two companies never share an answer. */
async function checkIdempotencyKeys(t: Test, app: FastifyInstance): Promise<void> {
  const headers = { 'idempotency-key': '"shared"' };
  const sent: Sent = { method: 'POST', url: '/members', payload: { name: 'the same' }, headers };
  const [first, again, other] = [await send(app, 1, sent), await send(app, 1, sent), await send(app, 2, sent)];
  t.strictSame([first.status, again.body, other.status], [201, first.body, 201]);
  t.not(other.body, first.body);
}

/** The same request with unknown keys for those of the other company. Undefined if it has none. */
function twinOf(sent: Sent, foreign: ReadonlySet<string>): { readonly sent: Sent } | undefined {
  if (Buffer.isBuffer(sent.payload) || sent.headers?.['idempotency-key'] !== undefined) return undefined;
  const text = JSON.stringify(sent);
  const replaced = text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (key) => (foreign.has(key) ? randomUUID() : key));
  return replaced === text ? undefined : { sent: JSON.parse(replaced) as Sent };
}

/** A write that is stored twice has two results. */
function isComparable(known: number, status: number, { method }: Sent): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || known >= 400 || status >= 400;
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([key, text]) => other.get(key) === text);
}
