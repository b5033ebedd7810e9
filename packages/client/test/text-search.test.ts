/** A view with a search instead of search fields has the parameter `search`. */
import { defineEntity, p } from '@mikro-orm/core';
import { ModelViewSet, readShape, Router, type TextSearch } from '@viewset/core';
import t from 'tap';
import { type ApiOf, createClient } from '../src/index.ts';

const BookSchema = defineEntity({ name: 'Book', properties: { id: p.integer().primary(), title: p.string() } });
class Book extends BookSchema.class {}
BookSchema.setClass(Book);

const search: TextSearch<Book> = {
  forView: () => ({ fields: ['title'], describe: () => 'Words', search: (queryset) => queryset }),
};
class SearchedViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id']), searchFields: search }) {}
class PlainViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id']) }) {}
const router = new Router().register('searched', SearchedViewSet).register('plain', PlainViewSet);

t.test('the client types the parameter of a search', async (t) => {
  const asked: string[] = [];
  const api = createClient<ApiOf<typeof router>>({
    url: 'http://localhost',
    fetch: async (input) => {
      asked.push(new URL(input).search);
      return Response.json({ count: 0, results: [] });
    },
  });
  await api.searched.list({ search: 'tea' });
  // @ts-expect-error -- a number
  await api.searched.list({ search: 3 });
  // @ts-expect-error -- no search
  await api.plain.list({ search: 'tea' });
  t.equal(asked[0], '?search=tea');
});
