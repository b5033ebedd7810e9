/** Uses Conduit by openapi-fetch, with the types that openapi-typescript makes of its document. */
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { paths } from './openapi.d.ts';

const [baseUrl = '', token = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });

const { data: current } = await client.PUT('/api/user', { body: { user: { bio: 'By openapi-fetch' } } });
assert.equal(current?.user.bio, 'By openapi-fetch');
const { data: made } = await client.POST('/api/articles', {
  body: { article: { title: 'By openapi-fetch', description: 'D', body: 'B', tagList: ['fetch'] } },
});
const slug: string = made?.article.slug ?? '';
assert.match(slug, /^by-openapi-fetch-/);
const { data: page } = await client.GET('/api/articles', { params: { query: { tag: 'fetch', limit: 5 } } });
assert.equal(page?.articlesCount, 1);
assert.deepEqual(page.articles[0]?.tagList, ['fetch']);
const { data: favorite } = await client.POST('/api/articles/{pk}/favorite', { params: { path: { pk: slug } } });
assert.equal(favorite?.article.favoritesCount, 1);
const { data: said } = await client.POST('/api/articles/{article}/comments', {
  params: { path: { article: slug } },
  body: { comment: { body: 'Fine' } },
});
assert.equal(said?.comment.author.username, 'ann');
const { response: gone } = await client.DELETE('/api/articles/{pk}', { params: { path: { pk: slug } } });
assert.equal(gone.status, 204);
const { error } = await client.GET('/api/articles/{pk}', { params: { path: { pk: slug } } });
assert.deepEqual(Object.keys(error?.errors ?? {}), ['body']);
