/** React-admin's data providers, with the lists and the client that docs/react-admin.md shows. */
import { JsonLogicFilter, QueryParameterFilter, SearchFilter, type ViewsetOptions } from '@viewset/core';
import { readFileSync } from 'node:fs';
import type { DataProvider, Identifier } from 'ra-core';
import djangoProvider from 'ra-data-django-rest-framework';
import jsonServerProvider from 'ra-data-json-server';
import simpleRestProvider from 'ra-data-simple-rest';
import t from 'tap';
import { httpClient } from './react-admin-client.ts';
import {
  DjangoOrdering,
  JsonServerOrdering,
  JsonServerPages,
  SimpleRestFilters,
  SimpleRestPages,
} from './react-admin-lists.ts';
import { withTracker } from './tracker.ts';

class JsonServerSearch extends SearchFilter {
  override readonly parameter = 'q';
}

interface Dialect {
  readonly lists: Pick<ViewsetOptions, 'filters' | 'pagination'>;
  readonly provider: (url: string, client: ReturnType<typeof httpClient>) => DataProvider;
}

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'ra-data-django-rest-framework': {
    lists: { filters: [SearchFilter, JsonLogicFilter, QueryParameterFilter, DjangoOrdering] },
    provider: (url, client) => djangoProvider.default(url, client),
  },
  'ra-data-json-server': {
    lists: { filters: [JsonServerSearch, QueryParameterFilter, JsonServerOrdering], pagination: JsonServerPages },
    provider: (url, client) => jsonServerProvider(url, client),
  },
  'ra-data-simple-rest': {
    lists: { filters: [SimpleRestFilters], pagination: SimpleRestPages },
    provider: (url, client) => simpleRestProvider(url, client),
  },
};

const TICKETS = 'projects/lighthouse/tickets';
const sort = { field: 'id', order: 'ASC' } as const;

for (const [name, { lists, provider: make }] of Object.entries(DIALECTS)) {
  t.test(name, async (t) => {
    withTracker(
      async (t, { app, token }) => {
        const url = await app.listen({ port: 0, host: '127.0.0.1' });
        const provider = make(
          `${url}/api`,
          httpClient(() => token('ada')),
        );
        const idsOf = ({ data = [] }: { readonly data?: readonly { readonly id: Identifier }[] | undefined }) =>
          data.map(({ id }) => id);
        const all = await provider.getList(TICKETS, { pagination: { page: 1, perPage: 100 }, sort, filter: {} });
        const ids = idsOf(all);

        t.test('getList has pages, an order, filters and a search', async (t) => {
          t.ok(ids.length > 4, 'enough tickets');
          t.equal(all.total, ids.length);
          const page = (number: number, order = sort as { field: string; order: 'ASC' | 'DESC' }, filter = {}) =>
            provider.getList(TICKETS, { pagination: { page: number, perPage: 2 }, sort: order, filter });
          const second = await page(2);
          t.strictSame([second.total, idsOf(second)], [ids.length, ids.slice(2, 4)]);
          t.strictSame(idsOf(await page(1, { field: 'id', order: 'DESC' })), ids.toReversed().slice(0, 2));
          const done = all.data.filter(({ status }) => status === 'done');
          t.ok(done.length > 0 && done.length < ids.length, 'some tickets are done');
          t.equal((await page(1, sort, { status: 'done' })).total, done.length);
          const word = String(all.data[0]!['title']).split(' ')[0]!;
          const found = await page(1, sort, { q: word });
          t.ok(idsOf(found).includes(ids[0]!), 'the search finds the title');
          t.ok(found.total! < ids.length, 'and leaves others out');
          await t.rejects(page(1, { field: 'no_such_field', order: 'ASC' }), { status: 400, message: /no_such_field/ });
          await t.rejects(page(1, sort, { no_such_filter: 'x' }), { status: 400, message: /no_such_filter/ });
        });

        t.test('getOne, getMany and getManyReference', async (t) => {
          const one = await provider.getOne(TICKETS, { id: ids[0]! });
          t.match(one.data, { id: ids[0], title: all.data[0]!['title'] });
          await t.rejects(provider.getOne(TICKETS, { id: 999_999 }), { name: 'HttpError', status: 404 });
          const many = await provider.getMany(TICKETS, { ids: [ids[3]!, ids[1]!] });
          t.strictSame(new Set(idsOf(many)), new Set([ids[1], ids[3]]));
          const asked = { target: 'project', id: 'lighthouse', pagination: { page: 1, perPage: 3 }, sort, filter: {} };
          const below = await provider.getManyReference('tickets', asked);
          t.strictSame([below.total, idsOf(below)], [ids.length, ids.slice(0, 3)]);
          const open = await provider.getManyReference('tickets', { ...asked, filter: { status: 'done' } });
          t.ok(open.total! > 0 && open.total! < ids.length, 'with a filter');
        });

        t.test('create, update, updateMany, delete and deleteMany', async (t) => {
          const create = async (title: string) => (await provider.create(TICKETS, { data: { title } })).data;
          const [first, second, third] = [await create('first'), await create('second'), await create('third')];
          t.match(first, { id: /\d+/, title: 'first', status: 'open' });
          const changed = await provider.update(TICKETS, {
            id: first!['id'],
            data: { title: 'changed', priority: 1 },
            previousData: first!,
          });
          t.match(changed.data, { id: first!['id'], title: 'changed', priority: 1 });
          const several = [first!['id'], second!['id']];
          const marked = await provider.updateMany(TICKETS, { ids: several, data: { status: 'doing' } });
          t.strictSame(marked.data, several);
          const { data } = await provider.getMany(TICKETS, { ids: several });
          t.strictSame(
            data.map(({ title, status }) => [title, status]),
            [
              ['changed', 'doing'],
              ['second', 'doing'],
            ],
          );
          const gone = await provider.delete(TICKETS, { id: third!['id'], previousData: third! });
          t.equal(String(gone.data['id']), String(third!['id']));
          await provider.deleteMany(TICKETS, { ids: several });
          for (const id of [...several, third!['id']]) {
            await t.rejects(provider.getOne(TICKETS, { id }), { name: 'HttpError', status: 404 });
          }
        });

        t.test('messages of fields stand beside their inputs', async (t) => {
          await t.rejects(provider.create(TICKETS, { data: { title: 'x', priority: 9 } }), {
            status: 400,
            message: /priority/,
            body: { errors: { priority: /5/ } },
          });
        });
      },
      ['sqlite', 'postgresql', 'mongodb'],
      { lists },
      t,
    );
  });
}

t.test('the page about React-admin shows this code', async (t) => {
  const page = readFileSync(new URL('../../../docs/react-admin.md', import.meta.url), 'utf8');
  for (const name of ['react-admin-lists.ts', 'react-admin-client.ts']) {
    const code = readFileSync(new URL(name, import.meta.url), 'utf8');
    t.ok(page.includes(`\`\`\`ts\n${code}\`\`\``), `${name} stands in docs/react-admin.md as it is here`);
  }
});
