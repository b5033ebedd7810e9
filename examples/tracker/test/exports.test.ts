/** All tickets that a user sees, in one response. */
import { withTracker } from './tracker.ts';

withTracker(async (t, { send }) => {
  const lines = async (person: 'ada' | 'dov', url: string, accept: string) => {
    const answer = await send(person, 'GET', url, undefined, { accept });
    t.equal(answer.statusCode, 200, answer.body);
    t.match(answer.headers['content-type'], accept);
    return answer.body.trim().split(/\r?\n/);
  };

  await t.test('an export contains only records of the user, of all pages', async (t) => {
    const [names, ...records] = await lines('ada', '/api/tickets', 'text/csv');
    t.equal(names, 'id,title,status,priority,due_on,project,assignee,labels');
    t.equal(records.length, 42);
    t.notOk(records.some((record) => record.includes('compass')));
    t.equal((await lines('dov', '/api/tickets', 'text/csv')).length, 21);
    const found = await lines('ada', '/api/projects/lighthouse/tickets?label=bug&sort=-id', 'application/x-ndjson');
    const tickets = found.map((line) => JSON.parse(line) as { id: number; project: string; labels: string[] });
    t.ok(
      tickets.length > 0 && tickets.every(({ project, labels }) => project === 'lighthouse' && labels.includes('bug')),
    );
    const ids = tickets.map(({ id }) => id);
    t.strictSame(
      ids,
      ids.toSorted((one, other) => other - one),
    );
  });

  await t.test('an export of a missing parent returns 404', async (t) => {
    for (const url of ['/api/projects/compass/tickets', '/api/projects/nowhere/tickets', '/api/labels/none/tickets']) {
      for (const accept of ['text/csv', 'application/x-ndjson']) {
        t.equal((await send('ada', 'GET', url, undefined, { accept })).statusCode, 404, `${accept} of ${url}`);
      }
    }
  });
});
