/** Numbers of tickets, for the front page of a project. */
import { withTracker } from './tracker.ts';

interface Summary {
  readonly results: readonly { readonly group: Readonly<Record<string, unknown>>; readonly count: number }[];
}

withTracker(async (t, { send }) => {
  const numbers = async (person: 'ada' | 'dov', url: string) =>
    (await send(person, 'GET', url))
      .json<Summary>()
      .results.map(({ group, count }) => [...Object.values(group), count]);

  await t.test('the tickets of a project by status', async (t) => {
    const url = '/api/projects/lighthouse/tickets';
    const list = (await send('ada', 'GET', `${url}?status=open`)).json<{ count: number }>();
    const byStatus = await numbers('ada', `${url}/summary?group=status`);
    t.strictSame(
      byStatus.map(([status]) => status),
      ['doing', 'done', 'open'],
    );
    t.strictSame(byStatus.at(-1), ['open', list.count]);
  });
  await t.test("tickets of other users' projects are not counted", async (t) => {
    t.strictSame(await numbers('dov', '/api/tickets/summary?group=project.key'), [['compass', 20]]);
    t.strictSame(await numbers('ada', '/api/tickets/summary'), [[42]]);
    t.equal((await send('dov', 'GET', '/api/projects/lighthouse/tickets/summary')).statusCode, 404);
  });
});
