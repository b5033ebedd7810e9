import { defineEntity, p } from '@mikro-orm/core';
import {
  action,
  AllowAny,
  IsSafeMethodOnly,
  many,
  ModelViewSet,
  nested,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { explorer } from '../src/index.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

const Book = defineEntity({ name: 'Book', properties: { id: p.integer().primary(), title: p.string().length(100) } });
const Order = defineEntity({
  name: 'Order',
  properties: {
    id: p.integer().primary(),
    buyer: p.string().length(100),
    lines: () => p.oneToMany(Line).mappedBy('order'),
  },
});
const Line = defineEntity({
  name: 'Line',
  properties: {
    id: p.integer().primary(),
    order: () => p.manyToOne(Order),
    book: () => p.manyToOne(Book),
    amount: p.integer(),
  },
});

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
  permissionClasses: [AllowAny],
}) {
  newest = action({ answers: 'page', summary: 'List the newest books' }, (request, reply) =>
    this.paginate(request, this.getQueryset(request), reply),
  );

  first = action({ answers: 'record', detail: true, methods: ['post'], summary: 'Read the book' }, (request, reply) =>
    this.retrieve(request, reply),
  );

  none = action({ summary: 'List nothing' }, () => []);
}

class OrderViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'buyer'], {
    lines: many(readShape(Line, ['id', 'amount'], { book: readShape(Book, ['id', 'title']) })),
  }),
  write: writeShape(Order, ['buyer'], { lines: nested(writeShape(Line, ['book', 'amount'])) }),
  permissionClasses: [IsSafeMethodOnly],
}) {}

t.test('rows link to records', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: [Book, Order, Line] });
  const em = orm.em.fork();
  const book = em.create(Book, { title: 'Emma' });
  const order = em.create(Order, { buyer: 'Harriet' });
  em.create(Line, { order, book, amount: 2 });
  await em.flush();
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Books', version: '1.0.0' } });
  await app.register(viewset, { orm });
  await app.register(explorer);
  await app.register(new Router().register('books', BookViewSet).register('orders', OrderViewSet).plugin);
  const page = await openPage(t, await openBrowser(t), { baseURL: await app.listen() });

  t.test('from the rows of children', async () => {
    await page.goto('/orders/1');
    await page.getByRole('region', { name: 'Lines' }).getByRole('link', { name: 'Emma' }).click();
    await page.waitForURL('**/books/1');
  });

  t.test('from the responses of actions', async (t) => {
    await page.goto('/books');
    await page.getByRole('link', { name: 'List the newest books' }).click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('region', { name: 'Answer' }).getByRole('link', { name: 'Emma' }).click();
    await page.waitForURL('**/books/1');
    await page.getByRole('link', { name: 'Read the book' }).click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('Emma', { exact: true }).last().waitFor();
    await page.getByRole('link', { name: 'Open the record' }).click();
    await page.waitForURL((url) => url.pathname === '/books/1' && url.hash === '');
    await page.goto('/books');
    await page.getByRole('link', { name: 'List nothing' }).click();
    const run = page.getByRole('button', { name: /^Run/ });
    if ((await run.textContent()) === 'Run') await run.click();
    await page.getByText('The answer is an empty list.').waitFor();
    t.equal(await page.locator('pre').count(), 0);
  });

  t.test('from rows of another collection, of which they show a part', async () => {
    const { visit } = await openTracker(t);
    const tickets = await visit('ada', '/api/projects');
    await tickets.locator('tbody a').first().click();
    await tickets.getByRole('region', { name: 'Newest tickets' }).locator('a').first().click();
    await tickets.waitForURL(/\/api\/projects\/[^/]+\/tickets\/\d+$/);
  });
});
