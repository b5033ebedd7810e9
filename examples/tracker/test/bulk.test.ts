/** Several tickets at once: all or nothing, with the rules, references and rights of one. */
import { Step, Ticket } from '../src/entities.ts';
import { withTracker } from './tracker.ts';

const TICKETS = '/api/projects/lighthouse/tickets';

interface Shown {
  readonly id: number;
}

withTracker(async (t, { send, orm }) => {
  const count = () => orm.em.fork().count(Ticket);

  await t.test('tickets are made, changed and deleted together', async (t) => {
    const made = await send('ben', 'POST', TICKETS, [
      { title: 'One', labels: ['bug', 'docs'] },
      { title: 'Two', steps: [{ text: 'First' }, { text: 'Second' }] },
      { title: 'Three', priority: 5 },
    ]);
    t.equal(made.statusCode, 201, made.body);
    t.match(made.json(), [
      { title: 'One', author: { name: 'Ben Okafor' }, project: { key: 'lighthouse' }, labels: [{ name: 'bug' }, {}] },
      { title: 'Two', labels: [], steps: [{ text: 'First' }, { text: 'Second' }] },
      { title: 'Three', priority: 5 },
    ]);
    const ids = made.json<Shown[]>().map(({ id }) => id);
    const changed = await send('ada', 'PATCH', TICKETS, [
      { id: ids[2], status: 'done' },
      { id: ids[0], labels: ['security'] },
      { id: ids[1], steps: [] },
    ]);
    t.equal(changed.statusCode, 200, changed.body);
    t.match(changed.json(), [
      { id: ids[2], status: 'done', version: 2 },
      { id: ids[0], labels: [{ name: 'security' }] },
      { id: ids[1], steps: [] },
    ]);
    t.equal((await send('ada', 'DELETE', `${TICKETS}?pk=${ids.join(',')}`)).statusCode, 204);
    t.equal(await orm.em.fork().count(Ticket, { id: { $in: ids } }), 0);
    t.equal(await orm.em.fork().count(Step, { ticket: { $in: ids } }), 0);
  });

  await t.test('one error prevents all writes, and every error has its path', async (t) => {
    const before = await count();
    const faults = async (payload: readonly object[]) => {
      const answer = await send('ada', 'POST', TICKETS, [...payload]);
      t.equal(answer.statusCode, 400);
      return answer.json<{ details: { path: string }[] }>().details.map(({ path }) => path);
    };
    t.strictSame(await faults([{ title: 'Good' }, { priority: 9, title: 'x' }, { title: 'y', due_on: 'soon' }]), [
      '/1/priority',
      '/2/due_on',
    ]);
    t.strictSame(await faults([{ title: 'Good' }, { title: 'Late', starts_on: '2026-03-02', due_on: '2026-03-01' }]), [
      '/1/due_on',
    ]);
    t.strictSame(await faults([{ title: 'Good' }, { title: 'Labelled', labels: ['bug', 'none'] }]), ['/1/labels/1']);
    t.same(await faults(Array.from({ length: 51 }, () => ({ title: 'x' }))), ['']);
    t.equal(await count(), before);
  });

  await t.test('a bulk write has the same permissions as single writes', async (t) => {
    const before = await count();
    const all = await orm.em.fork().find(Ticket, {}, { populate: ['project'], orderBy: { id: 1 } });
    const of = (key: string) => all.find(({ project }) => project.key === key)!.id;
    const both = [of('lighthouse'), of('harbour')];
    const patch = both.map((id) => ({ id, title: 'Mine' }));
    t.equal((await send('ada', 'PATCH', TICKETS, patch)).statusCode, 404, 'of another project of hers');
    t.equal((await send('ada', 'DELETE', `${TICKETS}?pk=${both.join(',')}`)).statusCode, 404);
    for (const [person, status] of [
      ['chiara', 403],
      ['dov', 404],
    ] as const) {
      t.equal((await send(person, 'POST', TICKETS, [{ title: 'Mine' }])).statusCode, status);
      t.equal((await send(person, 'PATCH', TICKETS, patch.slice(0, 1))).statusCode, status);
      t.equal((await send(person, 'DELETE', `${TICKETS}?pk=${of('lighthouse')}`)).statusCode, status);
    }
    t.equal(await count(), before);
    t.equal(await orm.em.fork().count(Ticket, { title: 'Mine' }), 0);
  });
});
