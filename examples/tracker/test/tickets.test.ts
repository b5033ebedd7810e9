/** Tickets: shapes by operation, labels, steps, rules, comments two levels down, and changes by version. */
import { withTracker } from './tracker.ts';

const TICKETS = '/api/projects/lighthouse/tickets';

withTracker(async (t, { as, send }) => {
  const { tickets } = as('ada').projects('lighthouse');

  await t.test('a list is brief, a record complete', async (t) => {
    const first = (await tickets.list()).results[0]!;
    t.same(Object.keys(first), ['id', 'title', 'status', 'priority', 'due_on', 'project', 'assignee', 'labels']);
    const ticket = await tickets.retrieve(first.id);
    t.match(ticket, {
      project: { key: 'lighthouse' },
      author: { name: 'Ada Moreau' },
      steps: [{}, {}, {}, {}],
      attachments: [],
    });
    const { title, labels } = ticket;
    t.same(await tickets.retrieve(first.id, { fields: ['title', 'labels'] }), { title, labels });
    const { results } = await tickets.list({ expand: ['comments'], fields: ['id', 'comments'], page_size: 4 });
    for (const { id, comments } of results) t.equal((await tickets(id).comments.list()).count, comments.length);
  });

  await t.test('labels are a set of names, steps are children', async (t) => {
    const made = await send('ben', 'POST', TICKETS, {
      title: 'Broken link',
      labels: ['docs', 'bug', 'docs'],
      steps: [{ text: 'Find it' }, { text: 'Mend it' }],
    });
    t.equal(made.statusCode, 201);
    const ticket = made.json<{ id: number; labels: unknown; steps: { id: number }[] }>();
    const url = `${TICKETS}/${ticket.id}`;
    t.equal(made.headers.location, url);
    t.match(ticket, {
      author: { name: 'Ben Okafor' },
      labels: [{ name: 'bug' }, { name: 'docs' }],
      steps: [{ text: 'Find it' }, {}],
    });

    const wrong = await send('ben', 'PATCH', url, { labels: ['bug', 'none', 'docs', 'neither'] });
    t.equal(wrong.statusCode, 400);
    t.match(wrong.json(), { details: [{ path: '/labels/1' }, { path: '/labels/3' }] });
    const steps = [{ id: ticket.steps[1]!.id, is_done: true }, { text: 'Tell them' }];
    const changed = (await send('ben', 'PATCH', url, { labels: [], steps })).json<object>();
    t.match(changed, { labels: [], steps: [{ text: 'Mend it', is_done: true }, { text: 'Tell them' }] });
    t.match((await send('ben', 'PATCH', url, { title: 'Mended' })).json(), { labels: [], steps: [{}, {}] });
    t.equal((await send('ben', 'DELETE', url)).statusCode, 204);
    t.equal((await send('ben', 'GET', url)).statusCode, 404);
  });

  await t.test('all errors of a body are returned together, including those of rules', async (t) => {
    const answer = await send('ada', 'POST', TICKETS, { starts_on: '2026-03-02', due_on: '2026-03-01', priority: 9 });
    t.equal(answer.statusCode, 400);
    const paths = answer.json<{ details: { path: string }[] }>().details.map(({ path }) => path);
    t.same(paths.toSorted(), ['/due_on', '/priority', '/title']);
    const made = await send('ada', 'POST', TICKETS, { title: 'Later', starts_on: '2026-03-02' });
    const late = await send('ada', 'PATCH', made.headers.location!, { due_on: '2026-03-01' });
    t.match(late.json(), { details: [{ path: '/due_on', message: 'must not be before starts_on' }] });
    t.equal((await send('ada', 'PATCH', made.headers.location!, { due_on: '2026-03-02' })).statusCode, 200);
  });

  await t.test('comments are nested two levels deep, and belong to their author', async (t) => {
    const ticket = (await send('ada', 'POST', TICKETS, { title: 'To talk about' })).headers.location!;
    const made = await send('ada', 'POST', `${ticket}/comments`, { text: 'First', author: 2, ticket: 1 });
    t.equal(made.statusCode, 201);
    const url = made.headers.location!;
    t.match(url, `${ticket}/comments/`);
    t.match(made.json(), { text: 'First', author: { name: 'Ada Moreau' } });
    for (const text of ['2', '3', '4', '5', '6']) await send('ben', 'POST', `${ticket}/comments`, { text });
    t.match((await send('chiara', 'GET', `${ticket}/comments`)).json(), { count: 6 });
    const { comments } = (await send('ada', 'GET', ticket)).json<{ comments: { text: string }[] }>();
    t.same(
      comments.map(({ text }) => text),
      ['6', '5', '4', '3', '2'],
      'the five newest',
    );
    t.equal((await send('ben', 'PATCH', url, { text: 'Ben was here' })).statusCode, 403);
    t.equal((await send('ada', 'PATCH', url, { text: 'Second thought' })).statusCode, 200);
    t.equal(
      (await send('ada', 'GET', url.replace(/\d+\/comments/, '1/comments'))).statusCode,
      404,
      'of another ticket',
    );
  });

  await t.test('concurrent changes of a ticket with If-Match do not overwrite each other', async (t) => {
    const made = await send('ada', 'POST', TICKETS, { title: 'Counted' });
    const url = made.headers.location!;
    t.equal((await send('ada', 'GET', url, undefined, { 'if-none-match': String(made.headers.etag) })).statusCode, 304);

    const clients = 8;
    const addMinute = async (): Promise<void> => {
      for (;;) {
        const read = await send('ada', 'GET', url);
        const { minutes_spent } = read.json<{ minutes_spent: number }>();
        const ifMatch = { 'if-match': String(read.headers.etag) };
        const { statusCode } = await send('ben', 'PATCH', url, { minutes_spent: minutes_spent + 1 }, ifMatch);
        if (statusCode === 200) return;
        t.equal(statusCode, 412);
      }
    };
    await Promise.all(Array.from({ length: clients }, addMinute));
    t.match((await send('ada', 'GET', url)).json(), { minutes_spent: clients, version: clients + 1 });
    t.equal((await send('ben', 'DELETE', url, undefined, { 'if-match': String(made.headers.etag) })).statusCode, 412);
  });
});
