/** Uses Conduit by the client that Hey API makes of its document. */
import assert from 'node:assert/strict';
import { client } from './hey/client.gen.ts';
import * as api from './hey/sdk.gen.ts';

const [baseUrl = '', token = ''] = process.argv.slice(2);
client.setConfig({ baseUrl, auth: token });

const { data: current } = await api.replaceUser({ body: { user: { bio: 'By Hey API' } }, throwOnError: true });
assert.equal(current.user.bio, 'By Hey API');
const { data: made } = await api.createArticle({
  body: { article: { title: 'By Hey API', description: 'D', body: 'B', tagList: ['hey'] } },
  throwOnError: true,
});
const slug: string = made.article.slug;
assert.match(slug, /^by-hey-api-/);
const { data: page } = await api.listArticles({ query: { tag: 'hey', limit: 5 }, throwOnError: true });
assert.equal(page.articlesCount, 1);
assert.deepEqual(page.articles[0]?.tagList, ['hey']);
const { data: favorite } = await api.favoriteArticle({ path: { pk: slug }, throwOnError: true });
assert.equal(favorite.article.favoritesCount, 1);
const { data: said } = await api.createArticleComment({
  path: { article: slug },
  body: { comment: { body: 'Fine' } },
  throwOnError: true,
});
assert.equal(said.comment.author.username, 'ann');
const gone = await api.destroyArticle({ path: { pk: slug } });
assert.equal(gone.response?.status, 204);
const { error } = await api.retrieveArticle({ path: { pk: slug } });
assert.deepEqual(Object.keys(error?.errors ?? {}), ['body']);
