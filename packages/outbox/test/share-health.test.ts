/** The places of shares by the results of their deliveries. */
import t from 'tap';
import { ShareHealth } from '../src/worker/share-health.ts';

const now = () => Date.now();
const run = (...shares: string[]) => shares.map((share) => ({ share, begunAt: now() }));
const names = (name: string, count: number) => Array.from({ length: count }, (_, place) => `${name}${place}`);

t.test(
  'failing shares take half of the places, with unknown ones three quarters, and healthy shares all',
  async (t) => {
    const health = new ShareHealth(8);
    for (const share of names('bad', 8)) health.note(share, false);
    for (const share of names('good', 8)) health.note(share, true);
    const half = health.choice(run(...names('bad', 4)));
    t.strictSame([half.fits('bad7'), half.fits('new'), half.fits('good0')], [false, true, true]);
    t.strictSame(half.excluded.toSorted(), names('bad', 8));
    t.equal(half.only, undefined);
    const full = health.choice(run(...names('bad', 4), ...names('new', 2)));
    t.strictSame([full.fits('bad7'), full.fits('new7'), full.fits('good0')], [false, false, true]);
    t.strictSame(full.only, names('good', 8));
  },
);

t.test('an unknown share takes one place, until its delivery has ended', async (t) => {
  const health = new ShareHealth(8);
  t.notOk(health.choice(run('new')).fits('new'));
  const choice = health.choice([]);
  t.ok(choice.fits('new'));
  choice.add('new');
  t.notOk(choice.fits('new'));
  health.note('new', true);
  t.ok(health.choice(run('new')).fits('new'));
});

t.test('a delivery that takes long counts as failing, and leaves a quarter to unknown shares', async (t) => {
  const health = new ShareHealth(8);
  for (const share of ['good', 'other']) health.note(share, true);
  const slow = Array.from({ length: 7 }, () => ({ share: 'good', begunAt: now() - 5000 }));
  const choice = health.choice(slow);
  t.strictSame([choice.fits('good'), choice.fits('other'), choice.fits('new')], [false, true, true]);
  t.strictSame(choice.excluded, ['good']);
});

t.test('a success and a failure replace each other, and a worker remembers a bounded number of shares', async (t) => {
  const health = new ShareHealth(2);
  health.note('a', false);
  health.note('a', true);
  t.ok(health.choice(run('a')).fits('a'));
  health.note('a', false);
  t.notOk(health.choice(run('a')).fits('a'));
  for (const share of names('s', 1500)) health.note(share, false);
  const choice = health.choice(run('s1499'));
  t.equal(choice.excluded.length, 1000);
  t.notOk(choice.excluded.includes('s0'));
  t.ok(choice.excluded.includes('s1499'));
});
