/** Parameters whose names every object of JavaScript inherits, with Fastify's parser and with parsers that make plain objects. */
import fastify from 'fastify';
import { parse } from 'node:querystring';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  readShape,
  Router,
  serverOptions,
  viewset,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY } from '../support/library.ts';

const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__', '__defineGetter__'];

class NamedPages extends PageNumberPagination {
  override readonly pageParameter = 'isPrototypeOf';
  override readonly pageSizeParameter = 'toLocaleString';
}

class FilteredBooks extends ModelViewSet(Book, {
  read: readShape(Book, ['id']),
  filterFields: Object.fromEntries(INHERITED.map((name) => [name, 'title'])) as Record<string, 'title'>,
  orderingFields: Object.fromEntries(INHERITED.map((name) => [name, 'pages'])) as Record<string, 'pages'>,
  pagination: NamedPages,
}) {
  echo = action(
    { querystring: Type.Object({ constructor: Type.Optional(Type.Integer()), valueOf: Type.Optional(Type.String()) }) },
    async (request) => Object.entries(request.query),
  );
}

class PlainBooks extends ModelViewSet(Book, { read: readShape(Book, ['id']), pagination: LimitOffsetPagination }) {}

/** As `qs` does: `a[b]=1` is an object in an object. */
function parseNested(text: string): Record<string, unknown> {
  const parsed: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const nested = /^(\w+)\[(\w*)\]$/.exec(name);
    if (nested === null) parsed[name] = value;
    else parsed[nested[1]!] = nested[2] === '' ? [value] : { [nested[2]!]: value };
  }
  return parsed;
}

const PARSERS = {
  "Fastify's": undefined,
  'one that makes plain objects': (text: string) => ({ ...parse(text) }),
  'one that nests': parseNested,
};

for (const [kind, querystringParser] of Object.entries(PARSERS)) {
  t.test(`the parser is ${kind}`, async (t) => {
    const orm = await openSqlite(t, { entities: LIBRARY });
    await fillLibrary(orm);
    const options = serverOptions();
    const app = fastify(
      querystringParser === undefined
        ? options
        : { ...options, routerOptions: { ...options.routerOptions, querystringParser } },
    );
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(new Router().register('books', FilteredBooks).register('plain', PlainBooks).plugin);
    const ids = async (url: string) => {
      const response = await app.inject(url);
      return response.statusCode === 200
        ? response.json<{ results: { id: number }[] }>().results.map(({ id }) => id)
        : [response.statusCode, response.json<{ details?: { path: string }[] }>().details?.[0]?.path];
    };

    t.test('filters, orders and pages with an inherited name work, sent or not', async (t) => {
      t.same(await ids('/books'), [1, 2, 3, 4, 5]);
      for (const name of INHERITED) {
        // A plain object that is assigned `__proto__` loses it: no parser of that kind has the name to give.
        if (name === '__proto__' && kind !== "Fastify's") continue;
        t.same(await ids(`/books?${name}=Cedar`), [3], name);
        t.same(await ids(`/books?${name}=`), [1, 2, 3, 4, 5], `${name}, empty`);
      }
      for (const name of INHERITED) t.same(await ids(`/books?sort=-${name}`), [3, 4, 2, 1, 5], `sort by ${name}`);
      t.same(await ids('/books?isPrototypeOf=2&toLocaleString=2'), [3, 4]);
      t.same(await ids('/books?isPrototypeOf=0'), [400, '/isPrototypeOf']);
    });

    t.test('an action can declare a parameter with an inherited name, and detects that it was not sent', async (t) => {
      t.same((await app.inject('/books/echo')).json(), []);
      t.same((await app.inject('/books/echo?constructor=7')).json(), [['constructor', 7]]);
      t.same((await app.inject('/books/echo?constructor=x')).statusCode, 400);
    });

    t.test('an undeclared parameter with an inherited name returns 400, as an unknown one', async (t) => {
      for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
        t.same(await ids(`/plain?${name}=1`), [400, `/${name}`]);
      }
      t.same(await ids('/plain?limit[constructor]=1'), [
        400,
        kind === 'one that nests' ? '/limit' : '/limit[constructor]',
      ]);
      t.same(await ids('/plain?limit[]=1'), [400, kind === 'one that nests' ? '/limit' : '/limit[]']);
    });
  });
}
