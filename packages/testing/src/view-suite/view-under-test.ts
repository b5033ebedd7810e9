import assert from 'node:assert/strict';
import type { EntityMetadata } from '@mikro-orm/core';
import type { OperationPlan } from '@viewset/core';
import { Value } from 'typebox/value';
import { type Body, onWire } from '../bodies.ts';
import type { TestApp } from '../test-app.ts';
import type { ViewPlans } from '../view-plans.ts';
import type { TestViewSetOptions } from './options.ts';
import { type Answer, isRefusal } from './refusals.ts';
import { findRepairs, type Repair, repaired, type Repairs } from './repairs.ts';

export { type Answer, isRefusal };

/** The value that identifies a record in a path. */
export type RecordKey = string | number;

/** The parameters of a query string. An array is a list, whose values are separated by commas. */
type Query = Readonly<Record<string, string | readonly string[]>>;

/** The sender of a request. */
export type Sender = 'user' | 'stranger' | 'nobody';

/** The parts of a request that differ between cases. */
export interface Sent {
  /** Default: `user`. */
  readonly as?: Sender;
  /** The key of the record in the path. */
  readonly key?: RecordKey | undefined;
  readonly query?: Query;
  /** The body, without its envelope. */
  readonly body?: Body;
  /** A raw body. */
  readonly payload?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A new record, and the response of `create` if the view made it. */
export interface Made {
  readonly key: RecordKey;
  readonly body: Body;
}

/** The repairs of bodies by the titles of operations, for all applications of a suite. */
export type SuiteRepairs = Map<string, Repairs>;

/** A view of a running application, and its users. */
export class ViewUnderTest {
  readonly app: TestApp;
  readonly plans: ViewPlans;
  readonly #senders: Readonly<Record<Sender, object | null>>;
  readonly #options: TestViewSetOptions;
  readonly #path: Readonly<Record<string, string | number>>;
  readonly #repairs: SuiteRepairs;

  private constructor(
    { app, plans, options }: Pick<ViewUnderTest, 'app' | 'plans'> & { readonly options: TestViewSetOptions },
    senders: Readonly<Record<Sender, object | null>>,
    path: Readonly<Record<string, string | number>>,
    repairs: SuiteRepairs,
  ) {
    this.#repairs = repairs;
    this.app = app;
    this.plans = plans;
    this.#options = options;
    this.#senders = senders;
    this.#path = path;
  }

  /** Makes the users and the records in the path from the options. */
  static async of(
    app: TestApp,
    plans: ViewPlans,
    options: TestViewSetOptions,
    repairs: SuiteRepairs = new Map(),
  ): Promise<ViewUnderTest> {
    const user = (await options.user?.(app)) ?? null;
    const tenant = await options.tenant?.(app, user);
    if (tenant !== undefined) app.setTenant(tenant);
    const stranger = (await options.stranger?.(app)) ?? null;
    const path = (await options.path?.(app, user)) ?? {};
    return new ViewUnderTest({ app, plans, options }, { user, stranger, nobody: null }, path, repairs);
  }

  /** The entity of the view. */
  get meta(): EntityMetadata {
    return this.app.orm.getMetadata().getByClassName(this.plans.all[0]!.view.entity!);
  }

  /** The name of the field that identifies records. */
  get keyName(): string {
    return this.plans.all[0]!.view.key!;
  }

  /** Sends a request. Throws if the operation's document does not allow the response. */
  async send(plan: OperationPlan, sent: Sent = {}): Promise<Answer> {
    const { as = 'user', key, query = {}, body, payload, headers = {} } = sent;
    const path = plan.path.replaceAll(/:(\w+)/g, (_all, name: string) => this.#inPath(name, key));
    const search = Object.entries(query)
      .map(([name, value]) => `${encodeURIComponent(name)}=${[value].flat().map(encodeURIComponent).join(',')}`)
      .join('&');
    const content = payload ?? (body && JSON.stringify(plan.envelope === undefined ? body : { [plan.envelope]: body }));
    const inject = () =>
      this.app.app.inject({
        method: plan.method as 'GET',
        url: search === '' ? path : `${path}?${search}`,
        headers: {
          ...(content !== undefined && { 'content-type': 'application/json' }),
          ...this.app.headersOf(this.#senders[as]),
          ...headers,
        },
        ...(content !== undefined && { payload: content }),
      });
    let answer = await inject();
    if (answer.statusCode === 429) {
      this.app.clock.advance({ seconds: Number(answer.headers['retry-after']) });
      answer = await inject();
    }
    const { statusCode: status, payload: text } = answer;
    const isJson = /^application\/(?:\S+\+)?json/.test(String(answer.headers['content-type']));
    const json = isJson && text !== '' ? (JSON.parse(text) as unknown) : undefined;
    checkPromised(plan, { status, text, json });
    const { envelope } = plan;
    const isEnveloped = status < 300 && envelope !== undefined;
    return { status, headers: answer.headers, text, body: isEnveloped ? (json as Body)[envelope] : json };
  }

  /**
   * Makes a valid body that contains the options' values.
   *
   * @throws Error that has the rule which no generated body satisfies
   */
  async body(plan: OperationPlan, given: Body = {}): Promise<Body> {
    const { all = [], stoppedBy } = this.#repairs.get(titleOf(plan)) ?? {};
    if (stoppedBy === undefined) return this.#body(plan, all, given);
    throw new Error(
      `testViewSet: a rule stops every generated body of ${titleOf(plan)}: ${stoppedBy}. Give values that it accepts by the option "body"`,
    );
  }

  async #body(plan: OperationPlan, repairs: readonly Repair[], given: Body): Promise<Body> {
    const values = { ...(await this.#options.body?.(this.app, this.#senders.user)), ...given };
    return repaired(plan, await this.app.bodyFor(this.plans.View, plan.action, values), repairs, values);
  }

  /**
   * Sends a body with some values. If a rule refuses it, changes other fields until the rule accepts it. Returns the last
   * response.
   */
  async sendAccepted(plan: OperationPlan, given: Body): Promise<Pick<Answer, 'status' | 'text'>> {
    const { all: known = [] } = this.#repairs.get(titleOf(plan)) ?? {};
    const attempt = async (found: readonly Repair[]): Promise<Answer> =>
      this.send(plan, { body: await this.#body(plan, [...known, ...found], given) });
    return (await findRepairs(plan, attempt, new Set(Object.keys(given)))).answer;
  }

  /** Finds the repairs of the bodies of an operation, for itself and for other applications of the suite. */
  async learn(plan: OperationPlan): Promise<void> {
    const key = plan.detail ? (await this.make()).key : undefined;
    const attempt = async (found: readonly Repair[]): Promise<Answer> => {
      const tag = key === undefined ? {} : await this.tagOf(key);
      return this.send(plan, { key, body: await this.#body(plan, found, {}), ...tag });
    };
    const { all, stoppedBy } = await findRepairs(plan, attempt);
    this.#repairs.set(titleOf(plan), { all, stoppedBy });
  }

  /** Makes a record: with the view if it creates records from JSON, else with a factory. */
  async make(given: Body = {}): Promise<Made> {
    const create = this.plans.find('create');
    if (create === undefined || !takesJson(create)) return this.#store(given);
    const answer = await this.send(create, { body: await this.body(create, given) });
    assert.ok(answer.status < 300, `${titleOf(create)} answered ${answer.status}: ${answer.text}`);
    const body = answer.body as Body;
    const { location } = answer.headers;
    const last = typeof location === 'string' ? decodeURIComponent(location.split('/').at(-1)!) : undefined;
    return { key: (body[this.keyName] ?? last) as RecordKey, body };
  }

  /** Makes several records. */
  async makeMany(count: number): Promise<Made[]> {
    const made: Made[] = [];
    while (made.length < count) made.push(await this.make());
    return made;
  }

  /** Returns the rows of one page of the list, by default the largest one. */
  async rows(query: Query = {}, as: Sender = 'user'): Promise<readonly Body[]> {
    const list = this.plans.get('list');
    const answer = await this.send(list, { query: { ...this.#largestPage(list), ...query }, as });
    assert.equal(answer.status, 200, `${titleOf(list)} answered ${answer.status}: ${answer.text}`);
    return rowsOf(list, answer.body);
  }

  /** Returns the keys of rows as strings. */
  keysOf(rows: readonly Body[]): string[] {
    return rows.map((row) => String(row[this.keyName]));
  }

  /** Returns the record that GET responds with; undefined if it does not exist. */
  async retrieve(key: RecordKey, as: Sender = 'user'): Promise<Body | undefined> {
    const plan = this.plans.get('retrieve');
    const answer = await this.send(plan, { key, as });
    if (answer.status === 404) return undefined;
    assert.equal(answer.status, 200, `${titleOf(plan)} answered ${answer.status}: ${answer.text}`);
    return answer.body as Body;
  }

  /** Returns the header that a write needs, if the view requires one. */
  async tagOf(key: RecordKey): Promise<Pick<Sent, 'headers'>> {
    const needsMatch = this.plans.all.some(({ headerParameters }) =>
      headerParameters.some(({ name, required }) => name === 'if-match' && required),
    );
    const retrieve = this.plans.find('retrieve');
    if (!needsMatch || retrieve === undefined) return {};
    const { headers } = await this.send(retrieve, { key });
    return { headers: { 'if-match': String(headers['etag']) } };
  }

  #inPath(name: string, key: RecordKey | undefined): string {
    const value = name === 'pk' ? key : this.#path[name];
    if (value !== undefined) return encodeURIComponent(String(value));
    throw new Error(`testViewSet: option "path" has to return "${name}", a parameter of the view's path`);
  }

  #largestPage({ queryParameters }: OperationPlan): Readonly<Record<string, string>> {
    const size = queryParameters.find(({ pages }) => pages === 'size');
    return size === undefined ? {} : { [size.name]: String(size.maxPageSize) };
  }

  async #store(given: Body): Promise<Made> {
    const ofOptions = await this.#options.record?.(this.app, this.#senders.user);
    const record = await this.app.factory<object>(this.meta.class).create({ ...ofOptions, ...given });
    return { key: onWire((record as Body)[this.keyName]) as RecordKey, body: {} };
  }
}

/** A named case and its check, which runs on its own application. */
export type SuiteCase = readonly [name: string, check: (view: ViewUnderTest) => Promise<void>];

/** Tells if a status means that this user may not send the request. */
export function isTurnedAway(status: number): boolean {
  return status === 401 || status === 403 || status === 404;
}

/** Tells if a plan accepts JSON bodies and requires no file. */
export function takesJson({ body }: OperationPlan): boolean {
  const { properties = {}, required = [] } = (body?.schema ?? {}) as {
    properties?: Record<string, { contentMediaType?: string }>;
    required?: readonly string[];
  };
  return body !== undefined && required.every((name) => properties[name]?.contentMediaType === undefined);
}

/** Returns the rows in a list's response. */
export function rowsOf({ pageMembers }: OperationPlan, body: unknown): readonly Body[] {
  return (Array.isArray(body) ? body : (body as Body)[pageMembers['results'] ?? 'results']) as readonly Body[];
}

/** Names a plan in messages: `POST /api/books`. */
export function titleOf({ method, path }: OperationPlan): string {
  return `${method} ${path}`;
}

function checkPromised(
  plan: OperationPlan,
  { status, text, json }: { readonly status: number; readonly text: string; readonly json: unknown },
): void {
  const promised = plan.responses[status];
  assert.ok(promised !== undefined, `${titleOf(plan)} answered ${status}, which its document does not have: ${text}`);
  assert.ok(status < 500, `${titleOf(plan)} answered ${status}: ${text}`);
  if (promised.schema === undefined || json === undefined) return;
  const problems = Value.Errors(promised.schema, json).map(({ instancePath, message }) => `${instancePath} ${message}`);
  assert.deepEqual(problems, [], `${titleOf(plan)} answered ${status} with a body that its document does not have`);
}
