/** The types of actions that answer with records of their view, and of views without PUT or without PATCH. */
import { action, ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { Book } from '../../core/test/support/library.ts';
import { createClient, type DataOf } from '../src/index.ts';

const options = { read: readShape(Book, ['id', 'title']), write: writeShape(Book, ['title']) };
class Books extends ModelViewSet(Book, { ...options, envelope: { one: 'book', many: 'books' } }) {
  feed = action({ answers: 'page' }, async (request) => this.paginate(request, this.getQueryset(request)));
  favorite = action({ answers: 'record', methods: ['post'], detail: true }, async (request) =>
    this.represent(await this.getObject(request), request),
  );
}
class Replaced extends ModelViewSet(Book, { ...options, updateMethods: ['PUT'], bulk: 3 }) {}
class Changed extends ModelViewSet(Book, { ...options, updateMethods: ['PATCH'], bulk: 3 }) {}
const router = () => new Router().register('books', Books).register('replaced', Replaced).register('changed', Changed);

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const same = <A, B>(_isSame: Same<A, B>): void => {};

t.test('the types follow', async (t) => {
  const api = createClient<ReturnType<typeof router>>({ url: '/api', fetch: async () => Response.json({}) });
  same<DataOf<typeof api.books.feed>, { readonly books: { id: number; title: string }[] }>(true);
  same<DataOf<typeof api.books.favorite.post>, { readonly book: { id: number; title: string } }>(true);
  same<'update' extends keyof typeof api.replaced ? true : false, false>(true);
  same<'updateMany' extends keyof typeof api.replaced ? true : false, false>(true);
  same<'replace' extends keyof typeof api.replaced ? true : false, true>(true);
  same<'replace' extends keyof typeof api.changed ? true : false, false>(true);
  same<'updateMany' extends keyof typeof api.changed ? true : false, true>(true);
  t.ok(await api.books.feed({ page: 2 }));
});
