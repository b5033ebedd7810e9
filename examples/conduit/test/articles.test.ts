/** Articles, the feed, favorites, comments and tags, as the RealWorld specification has them. */
import { withConduit } from './conduit.ts';

interface Articles {
  readonly articles: readonly { readonly slug: string; readonly title: string }[];
  readonly articlesCount: number;
}

withConduit(async (t, { send, register }) => {
  const [ann, ben] = [await register('ann'), await register('ben')];
  const dragon = {
    title: 'How to train your dragon',
    description: 'Ever wonder how?',
    body: 'Very carefully.',
    tagList: ['training', 'dragons'],
  };
  const slugs = async (path: string, token?: string) =>
    (await send('GET', path, undefined, token)).json<Articles>().articles.map(({ slug }) => slug);

  await t.test('an article is written, read, changed and deleted', async (t) => {
    const made = await send('POST', '/articles', { article: dragon }, ann);
    t.equal(made.statusCode, 201);
    const { article } = made.json<{ article: { slug: string; createdAt: string } }>();
    t.match(article, {
      slug: /^how-to-train-your-dragon/,
      title: dragon.title,
      body: dragon.body,
      tagList: ['dragons', 'training'],
      favorited: false,
      favoritesCount: 0,
      author: { username: 'ann', bio: null, image: null, following: false },
    });
    t.equal(made.headers.location, `/api/articles/${article.slug}`);
    const path = `/articles/${article.slug}`;
    t.same((await send('GET', path)).json(), { article });
    const changed = await send('PUT', path, { article: { body: 'With care.' } }, ann);
    t.equal(changed.statusCode, 200);
    t.match(changed.json(), { article: { slug: article.slug, body: 'With care.', title: dragon.title } });
    t.match(changed.json(), { article: { tagList: ['dragons', 'training'] } });
    t.equal((await send('PUT', path, { article: { body: 'Mine' } }, ben)).statusCode, 403);
    t.equal((await send('DELETE', path, undefined, ben)).statusCode, 403);
    t.equal((await send('PUT', path, { article: { body: 'Mine' } })).statusCode, 401);
    t.equal((await send('POST', '/articles', { article: dragon })).statusCode, 401);
    const again = await send('POST', '/articles', { article: dragon }, ben);
    t.equal(again.statusCode, 201, 'a title may come twice');
    t.not(again.json<{ article: { slug: string } }>().article.slug, article.slug);
    const faulty = await send('POST', '/articles', { article: { title: '' } }, ann);
    t.equal(faulty.statusCode, 422);
    t.same(Object.keys(faulty.json<{ errors: object }>().errors).toSorted(), ['body', 'description', 'title']);
    t.equal((await send('DELETE', path, undefined, ann)).statusCode, 204);
    t.equal((await send('GET', path)).statusCode, 404);
  });

  await t.test('lists have filters, pages and a count', async (t) => {
    for (const [token, title, tagList] of [
      [ann, 'One', ['odd', 'first']],
      [ben, 'Two', ['even']],
      [ann, 'Three', ['odd']],
    ] as const) {
      t.equal((await send('POST', '/articles', { article: { ...dragon, title, tagList } }, token)).statusCode, 201);
    }
    const list = (await send('GET', '/articles?limit=2')).json<Articles>();
    t.same(Object.keys(list).toSorted(), ['articles', 'articlesCount']);
    t.equal(list.articlesCount, 4);
    t.same(
      list.articles.map(({ title }) => title),
      ['Three', 'Two'],
      'the newest first',
    );
    t.notOk('body' in list.articles[0]!);
    t.same((await slugs('/articles?tag=odd')).length, 2);
    t.same((await slugs('/articles?author=ben')).length, 2);
    t.same((await slugs('/articles?limit=1&offset=3')).length, 1);
    t.same(await slugs('/articles?tag=none'), []);
    t.equal((await send('GET', '/articles?constructor=1')).statusCode, 422, 'a parameter of any name');
    t.same((await send('GET', '/tags')).json(), { tags: ['dragons', 'even', 'first', 'odd', 'training'] });
  });

  await t.test('favorites are counted, each for itself', async (t) => {
    const [slug] = (await slugs('/articles?author=ben&limit=1')) as [string];
    const favorited = await send('POST', `/articles/${slug}/favorite`, undefined, ann);
    t.equal(favorited.statusCode, 200);
    t.match(favorited.json(), { article: { slug, favorited: true, favoritesCount: 1 } });
    t.equal((await send('POST', `/articles/${slug}/favorite`, undefined, ann)).statusCode, 200, 'twice is once');
    t.match((await send('GET', `/articles/${slug}`, undefined, ben)).json(), {
      article: { favorited: false, favoritesCount: 1 },
    });
    t.match((await send('GET', `/articles/${slug}`)).json(), { article: { favorited: false, favoritesCount: 1 } });
    t.same(await slugs('/articles?favorited=ann'), [slug]);
    t.same(await slugs('/articles?favorited=ben'), []);
    const removed = await send('DELETE', `/articles/${slug}/favorite`, undefined, ann);
    t.match(removed.json(), { article: { favorited: false, favoritesCount: 0 } });
    t.equal((await send('POST', `/articles/${slug}/favorite`)).statusCode, 401);
    t.equal((await send('POST', '/articles/none/favorite', undefined, ann)).statusCode, 404);
  });

  await t.test('the feed has the articles of followed users', async (t) => {
    t.same((await send('GET', '/articles/feed', undefined, ann)).json(), { articles: [], articlesCount: 0 });
    await send('POST', '/profiles/ben/follow', undefined, ann);
    const feed = (await send('GET', '/articles/feed?limit=1', undefined, ann)).json<Articles>();
    t.equal(feed.articlesCount, 2);
    t.match(feed.articles, [{ title: 'Two', author: { username: 'ben', following: true } }]);
    t.equal((await send('GET', '/articles/feed')).statusCode, 401);
  });

  await t.test('comments', async (t) => {
    const [slug] = (await slugs('/articles?author=ben&limit=1')) as [string];
    const path = `/articles/${slug}/comments`;
    const made = await send('POST', path, { comment: { body: 'Thank you so much!' } }, ann);
    t.equal(made.statusCode, 201);
    const { comment } = made.json<{ comment: { id: number } }>();
    t.match(comment, { id: Number, body: 'Thank you so much!', author: { username: 'ann', following: false } });
    t.same((await send('GET', path)).json(), { comments: [comment] });
    t.equal((await send('POST', path, { comment: { body: 'Hi' } })).statusCode, 401);
    t.equal((await send('POST', path, { comment: {} }, ann)).statusCode, 422);
    t.equal((await send('DELETE', `${path}/${comment.id}`, undefined, ben)).statusCode, 403);
    t.equal((await send('DELETE', `${path}/${comment.id}`, undefined, ann)).statusCode, 204);
    t.same((await send('GET', path)).json(), { comments: [] });
    t.equal((await send('GET', '/articles/none/comments')).statusCode, 404);
  });
});
