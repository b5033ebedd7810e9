/** Uses Conduit by the functions that Orval makes of its document, with the platform's `fetch`. */
import assert from 'node:assert/strict';
import * as api from './orval.ts';

const [, token = ''] = process.argv.slice(2);
const options = { headers: { authorization: `Bearer ${token}` } };

const current = await api.replaceUser({ user: { bio: 'By Orval' } }, options);
assert(current.status === 200, JSON.stringify(current.data));
assert.equal(current.data.user.bio, 'By Orval');
const article = { title: 'By Orval', description: 'D', body: 'B', tagList: ['orval'] };
const made = await api.createArticle({ article }, options);
assert(made.status === 201, JSON.stringify(made.data));
const slug: string = made.data.article.slug;
assert.match(slug, /^by-orval-/);
const page = await api.listArticles({ tag: 'orval', limit: 5 }, options);
assert(page.status === 200, JSON.stringify(page.data));
assert.equal(page.data.articlesCount, 1);
assert.deepEqual(page.data.articles[0]?.tagList, ['orval']);
const favorite = await api.favoriteArticle(slug, options);
assert(favorite.status === 200, JSON.stringify(favorite.data));
assert.equal(favorite.data.article.favoritesCount, 1);
const said = await api.createArticleComment(slug, { comment: { body: 'Fine' } }, options);
assert(said.status === 201, JSON.stringify(said.data));
assert.equal(said.data.comment.author.username, 'ann');
const gone = await api.destroyArticle(slug, options);
assert.equal(gone.status, 204);
const absent = await api.retrieveArticle(slug, options);
assert(absent.status === 404);
assert.deepEqual(Object.keys(absent.data.errors), ['body']);
