/** Uses Conduit by the client that OpenAPI Generator makes of its document for TypeScript. */
import assert from 'node:assert/strict';
import { ArticlesApi, ArticlesCommentsApi, Configuration, ResponseError, UserApi } from './typescript-fetch/index.ts';

const [basePath = '', accessToken = ''] = process.argv.slice(2);
const configuration = new Configuration({ basePath, accessToken });
const articles = new ArticlesApi(configuration);

const current = await new UserApi(configuration).replaceUser({
  userReplacementEnvelope: { user: { bio: 'By typescript-fetch' } },
});
assert.equal(current.user.bio, 'By typescript-fetch');
const made = await articles.createArticle({
  articleInputEnvelope: {
    article: { title: 'By typescript-fetch', description: 'D', body: 'B', tagList: ['generated'] },
  },
});
const slug: string = made.article.slug;
assert.match(slug, /^by-typescript-fetch-/);
const page = await articles.listArticles({ tag: 'generated', limit: 5 });
assert.equal(page.articlesCount, 1);
assert.deepEqual(page.articles[0]?.tagList, ['generated']);
const favorite = await articles.favoriteArticle({ pk: slug });
assert.equal(favorite.article.favoritesCount, 1);
const said = await new ArticlesCommentsApi(configuration).createArticleComment({
  article: slug,
  commentInputEnvelope: { comment: { body: 'Fine' } },
});
assert.equal(said.comment.author.username, 'ann');
await articles.destroyArticle({ pk: slug });
await assert.rejects(
  articles.retrieveArticle({ pk: slug }),
  (error) => error instanceof ResponseError && error.response.status === 404,
);
