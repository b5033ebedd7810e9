/** The tools that read, by the SDK's own client. */
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { connect, ENTITIES, fillLibrary, startLibrary } from './support/app.ts';

forEachDatabase(t, { entities: ENTITIES, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);
  const { url } = await startLibrary(t, orm);
  const { client, call } = await connect(t, url, '7');
  
  for (const args of [{}, { resource: 'books' }, { resource: 'scans' }, { resource: 'authors-books' }, { resource: 'profile' }]) {
    t.comment(JSON.stringify((await call('describe', args)).value, undefined, 0));
  }
  for (const [name, args] of [
    ['search', { resource: 'books', query: { page_size: 2, min_pages: 100, sort: 'pages' } }],
    ['search', { resource: 'books', query: { page_sise: 2 } }],
    ['get', { resource: 'books', id: 1 }],
    ['get', { resource: 'books', id: '..' }],
    ['get', { resource: 'profile' }],
    ['get', { resource: 'authors-books', parents: { author: 1 }, id: 1 }],
    ['act', { resource: 'books', action: 'rate', id: 1, body: { stars: 9 } }],
    ['act', { resource: 'books', action: 'rate', id: 1, body: { stars: 4 } }],
    ['act', { resource: 'books', action: 'purge' }],
    ['act', { resource: 'books', action: 'print' }],
    ['create', { resource: 'books', values: { title: '', pages: 'x' } }],
    ['create', { resource: 'books', values: { title: 'New' } }],
    ['update', { resource: 'books', id: 1, values: { title: 'New' }, etag: '"x"' }],
    ['delete', { resource: 'books', id: 1 }],
  ] as const) {
    t.comment(name, JSON.stringify(args), JSON.stringify(await call(name, args)));
  }
});
