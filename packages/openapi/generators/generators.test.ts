/**
 * Sends the extreme values of each kind of column through clients that generators make of the document, and back. What a
 * client sends and what it reads are compared with the case, as text.
 */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { testGeneratedClients } from '../../../scripts/client-generators.ts';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { buildExtremes, CASES, Extreme, type Seen } from './extremes.ts';

const CLIENTS = ['openapi-fetch', 'hey-api', 'orval', 'typescript-fetch', 'python', 'go'];

/** The greatest page and the greatest size, which no list has. */
const LAST_PAGE = { count: CASES.length, results: [] };

forEachDatabase(t, { entities: [Extreme], only: ['postgresql'] }, async (t, orm) => {
  t.setTimeout(1_800_000);
  const seen = new Map<string, Seen>();
  const app = await buildExtremes(orm, seen);
  t.teardown(() => app.close());
  await app.listen({ port: 0, host: '127.0.0.1' });
  await testGeneratedClients(t, {
    name: 'extremes',
    document: (await app.inject('/openapi.json')).body,
    url: app.listeningOrigin,
    token: '',
    programs: new URL('programs/', import.meta.url),
  });
  const clients = new Set([...seen.keys()].map((key) => key.split('/')[0]!));
  for (const client of CLIENTS.filter((each) => clients.has(each))) {
    await t.test(client, async (t) => {
      for (const [index, [name, text]] of CASES.entries()) {
        const { sent = '{}', read = '{}' } = seen.get(`${client}/${index}`) ?? {};
        t.strictSame(differences(text, sent), [], `${name} is sent`);
        t.strictSame(differences(text, read), [], `${name} is read`);
      }
      t.match(JSON.parse(seen.get(`${client}/page`)?.read ?? '{}'), { ...LAST_PAGE, count: Number });
    });
  }
});

/** Lists the members of a case that another text has otherwise. */
function differences(text: string, other: string): string[] {
  const [wanted, found] = [membersOf(text), membersOf(other)];
  return Object.keys(wanted)
    .filter((name) => !isSame(wanted[name], found[name]))
    .map((name) => `${name}: ${short(wanted[name])} is ${short(found[name])}`);
}

/** Numbers as their texts, so that no digit is lost. */
function membersOf(text: string): Readonly<Record<string, unknown>> {
  const keep = (_key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown =>
    typeof value === 'number' ? { number: source } : value;
  return JSON.parse(text, keep as never) as Readonly<Record<string, unknown>>;
}

/** True for the same value in another notation: `1.0` and `1`, `+00:00` and `Z`. A member that is left out is null. */
function isSame(one: unknown, other: unknown = null): boolean {
  return isDeepStrictEqual(JSON.parse(plain(one)), JSON.parse(plain(other)));
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

function plain(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each === 'string') return MOMENT.test(each) ? new Date(each).toISOString() : each;
    if (typeof each !== 'object' || each === null || !('number' in each)) return each;
    const text = String(each.number);
    return { exactly: /^-?\d+$/.test(text) ? String(BigInt(text)) : exact(Number(text)) };
  });
}

function exact(number: number): string {
  return Number.isInteger(number) ? String(BigInt(number)) : String(number);
}

function short(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 80);
}
