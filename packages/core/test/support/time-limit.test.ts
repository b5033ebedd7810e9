import t from 'tap';
import { isInTime } from '../../src/index.ts';

t.test('a promise is in time, late or rejected', async (t) => {
  t.equal(await isInTime(Promise.resolve('value'), 60_000), true);
  t.equal(await isInTime(new Promise(() => {}), 0), false);
  await t.rejects(isInTime(Promise.reject(new Error('failed')), 60_000), { message: 'failed' });
});
