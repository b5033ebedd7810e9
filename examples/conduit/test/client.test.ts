/** `@viewset/client` against Conduit: its types and the responses. */
import { createClient, type DataOf } from '@viewset/client';
import type { Api } from '../src/router.ts';
import { withConduit } from './conduit.ts';

interface Errors {
  readonly errors: Readonly<Record<string, readonly string[]>>;
}

interface CurrentUser {
  readonly user: { username: string; email: string; bio: string | null; image: string | null; token: string };
}

/** True if both are the same type. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const same = <A, B>(_isSame: Same<A, B>): void => {};

withConduit(
  async (t, { app, register }) => {
    const authorization = `Token ${await register('ann')}`;
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/api`;
    const api = createClient<Api, Errors>({ url, headers: { authorization } });

    await t.test('the current user has no key', async (t) => {
      same<DataOf<typeof api.user.retrieve>, CurrentUser>(true);
      t.equal((await api.user.retrieve()).user.username, 'ann');
      t.equal((await api.user.replace({ user: { bio: 'I paint' } })).user.bio, 'I paint');
      const refused = await api.user.replace.safe({ user: { email: 'no address' } });
      if (refused.ok) throw new Error('it is refused');
      same<typeof refused.error.body, Errors>(true);
      t.strictSame(Object.keys(refused.error.body.errors), ['email']);
      // @ts-expect-error PUT alone changes the user
      t.ok(api.user.update, 'a client knows nothing at run time');
    });

    await t.test('articles, tags, comments and profiles', async (t) => {
      const tagList = ['tea'];
      const { article } = await api.articles.create({ article: { title: 'T', description: 'D', body: 'B', tagList } });
      t.strictSame((await api.articles.list({ tag: 'tea' })).articles[0]?.tagList, ['tea']);
      t.equal((await api.articles.favorite.post(article.slug)).article.favoritesCount, 1);
      same<DataOf<typeof api.tags.list>, { tags: string[] }>(true);
      t.strictSame(await api.tags.list(), { tags: ['tea'] });
      const { comment } = await api.articles(article.slug).comments.create({ comment: { body: 'Fine' } });
      t.equal(comment.author.username, 'ann');
      t.equal((await api.profiles.retrieve('ann')).profile.following, false);
      t.equal((await api.articles.feed()).articlesCount, 0);
    });
  },
  ['sqlite'],
);
