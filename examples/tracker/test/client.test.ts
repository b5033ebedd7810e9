/** The tracker by its typed client. */
import type { Client } from '@viewset/client';
import type { Api } from '../src/router.ts';
import { withTracker } from './tracker.ts';

withTracker(async (t, { as }) => {
  const api = as('ada');

  await t.test('projects, their tickets and the comments of these', async (t) => {
    const { results } = await api.projects.list({ sort: '-key' });
    t.strictSame(results, [
      { key: 'lighthouse', name: 'Lighthouse' },
      { key: 'harbour', name: 'Harbour' },
    ]);
    const { members } = await api.projects.retrieve('lighthouse', { expand: ['members'] });
    t.strictSame(
      members.map(({ name, role }) => `${name}: ${role}`),
      ['Ada Moreau: owner', 'Ben Okafor: member', 'Chiara Lind: guest'],
    );

    const { tickets } = api.projects('lighthouse');
    const made = await tickets.create({ title: 'By the client', labels: ['bug'], steps: [{ text: 'Try it' }] });
    t.strictSame([made.author?.name, made.labels[0]?.color, made.steps[0]?.is_done], ['Ada Moreau', '#d73a4a', false]);
    t.equal((await tickets.update(made.id, { status: 'doing' })).status, 'doing');
    const found = await api.tickets.list({ search: 'client', label: 'bug' });
    t.strictSame(
      found.results.map(({ id, project, labels }) => ({ id, project, labels })),
      [{ id: made.id, project: 'lighthouse', labels: ['bug'] }],
    );
    const { comments } = tickets(made.id);
    const said = await comments.create({ text: 'Said by the client' });
    t.strictSame(
      (await comments.list()).results.map(({ id, author }) => [id, author?.name]),
      [[said.id, 'Ada Moreau']],
    );
    t.strictSame(await tickets.retrieve(made.id, { fields: ['title'] }), { title: 'By the client' });
    const more = await tickets.createMany([{ title: 'Second' }, { title: 'Third', labels: ['bug'] }]);
    const ids = more.map(({ id }) => id);
    const done = await tickets.updateMany(
      ids.map((id) => ({ id, status: 'done' as const })),
      { query: { fields: ['status'] } },
    );
    t.strictSame(done, [{ status: 'done' }, { status: 'done' }]);
    await tickets.destroyMany([made.id, ...ids]);
    t.match(await tickets.retrieve.safe(made.id), { ok: false, status: 404 });
    t.match(await api.projects('compass').tickets.list.safe(), { ok: false, status: 404 });
  });
});

// Invalid calls do not compile.
export async function mistakes(api: Client<Api>): Promise<void> {
  const { tickets } = api.projects('lighthouse');
  // @ts-expect-error no such status
  await tickets.create({ title: 'x', status: 'asleep' });
  // @ts-expect-error the author is who is logged in
  await tickets.create({ title: 'x', author: 1 });
  // @ts-expect-error a changed record has its key
  await tickets.updateMany([{ title: 'x' }]);
  // @ts-expect-error nothing is written across projects
  await api.tickets.create({ title: 'x' });
  // @ts-expect-error the list is brief
  (await tickets.list()).results[0]?.description.trim();
}
