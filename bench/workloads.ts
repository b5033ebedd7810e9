import { createHmac } from 'node:crypto';
import type { DatabaseKind } from './data/database.ts';
import { productRow } from './data/rows.ts';

/** One request of a workload. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export const WORKLOAD_NAMES = [
  'list',
  'filtered',
  'page100',
  'relation',
  'many',
  'retrieve',
  'create',
  'update',
  'authenticated',
] as const;
export type WorkloadName = (typeof WORKLOAD_NAMES)[number];

/** The requests to the servers. The requests of one workload are sent in turn, so that no server benefits from a cache. */
export interface Workload {
  readonly name: WorkloadName;
  readonly title: string;
  /** The targets of the project (issue 4; of MongoDB issue 15), at 1,000 rows. */
  readonly target: { readonly cpuToRaw: number; readonly rateToHand: number };
  readonly requests: readonly BenchRequest[];
}

/** The targets on MongoDB (issue 15): the driver takes most of a request's time, for MikroORM as well, which leaves little to gain. */
const MONGODB_TARGET = { cpuToRaw: 1.15, rateToHand: 1 } as const;

/** The workloads on tables of so many rows. */
export function workloads(kind: DatabaseKind, rows: number, secret: string): Workload[] {
  const all = workloadsOf(rows, secret);
  return kind === 'mongodb' ? all.map((workload) => ({ ...workload, target: MONGODB_TARGET })) : all;
}

function workloadsOf(rows: number, secret: string): Workload[] {
  return [
    {
      name: 'list',
      title: 'list: page 1 of 10 records, with count',
      target: { cpuToRaw: 1.1, rateToHand: 3 },
      requests: [get('/api/products')],
    },
    {
      name: 'filtered',
      title: 'list: searched, filtered, sorted, page 2 of 20',
      target: { cpuToRaw: 1.1, rateToHand: 3 },
      requests: ['steel', 'oak', 'copper', 'wool'].flatMap((word) => [
        get(`/api/products?search=${word}&min_price=150&sort=-price,name&page=2&page_size=20`),
        get(`/api/products?search=${word}&min_price=200&sort=-price,name&page=2&page_size=20`),
      ]),
    },
    {
      name: 'page100',
      title: 'list: page of 100 records',
      target: { cpuToRaw: 1.1, rateToHand: 4 },
      requests: [get('/api/products?page_size=100')],
    },
    {
      name: 'relation',
      title: 'list: a relation in the read shape',
      target: { cpuToRaw: 1.1, rateToHand: 3 },
      requests: [get('/api/accounts')],
    },
    {
      name: 'many',
      title: 'list: two relations to many of 10 records each',
      target: { cpuToRaw: 1.15, rateToHand: 3 },
      requests: [1, 2, 3, 4].map((page) => get(`/api/baskets?page=${page}`)),
    },
    ...ofOneRecord(rows, secret),
  ];
}

function ofOneRecord(rows: number, secret: string): Workload[] {
  const ids = Array.from({ length: 16 }, (_, index) => 1 + ((index * 7919) % rows));
  return [
    {
      name: 'retrieve',
      title: 'retrieve',
      target: { cpuToRaw: 1.05, rateToHand: 3 },
      requests: ids.map((id) => get(`/api/products/${id}`)),
    },
    {
      name: 'create',
      title: 'create',
      target: { cpuToRaw: 1.1, rateToHand: 3 },
      requests: ids.map((id) =>
        send('POST', '/api/drafts', { name: `Steel lamp ${id}`, price: id + 0.25, stock: id % 9 }),
      ),
    },
    {
      name: 'update',
      title: 'update: PATCH of one field',
      target: { cpuToRaw: 1.15, rateToHand: 3 },
      // The value that is there already, so that the other workloads read the same records.
      requests: ids.map((id) => send('PATCH', `/api/stocks/${id}`, { stock: productRow(id)[2] })),
    },
    {
      name: 'authenticated',
      title: 'retrieve, authenticated',
      target: { cpuToRaw: 1.05, rateToHand: 3 },
      requests: ids.map((id) => get(`/api/members/products/${id}`, bearer(id, secret))),
    },
  ];
}

function get(path: string, headers: Readonly<Record<string, string>> = {}): BenchRequest {
  return { method: 'GET', path, headers, body: undefined };
}

function send(method: 'POST' | 'PATCH', path: string, body: object): BenchRequest {
  return { method, path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** A token as the auth package issues it, good for a day. */
function bearer(userId: number, secret: string): Record<string, string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    user_id: userId,
    username: `Person ${userId}`,
    email: `person-${userId}@example.com`,
    role: 'user',
    iat: now,
    exp: now + 86_400,
  };
  const signed = [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = createHmac('sha256', secret).update(signed).digest('base64url');
  return { authorization: `Bearer ${signed}.${signature}` };
}
