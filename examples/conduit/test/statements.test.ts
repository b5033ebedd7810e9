/** The number of statements of a list does not grow with the number of articles. */
import { expectQueries } from '@viewset/testing';
import { withConduit } from './conduit.ts';

withConduit(async (t, { orm, send, register }) => {
  const ann = await register('ann');
  for (const title of ['One', 'Two', 'Three']) {
    const article = { title, description: 'A number', body: 'It is one.', tagList: ['odd', title] };
    t.equal((await send('POST', '/articles', { article }, ann)).statusCode, 201);
  }
  const list = (token?: string) => async () => {
    const answer = await send('GET', '/articles', undefined, token);
    t.equal(answer.json<{ articlesCount: number }>().articlesCount, 3);
  };
  await expectQueries(orm, 2, list());
  await expectQueries(orm, 3, list(ann));
});
