/** Members see only their projects: other projects do not appear in any path, relation, filter, order, count or reference. */
import { Attachment, Comment, Project, Ticket } from '../src/entities.ts';
import { type Person, withTracker } from './tracker.ts';

interface Page {
  readonly count: number;
  readonly results: readonly Record<string, unknown>[];
}

withTracker(async (t, { send, orm }) => {
  const list = async (person: Person, url: string): Promise<Page> => {
    const answer = await send(person, 'GET', url);
    if (answer.statusCode !== 200) throw new Error(`GET ${url}: ${answer.statusCode} ${answer.body}`);
    return answer.json<Page>();
  };
  const em = orm.em.fork();
  const firstOf = async (key: string) => {
    const project = await em.findOneOrFail(Project, { key });
    return em.findOneOrFail(Ticket, { project }, { orderBy: { id: 1 } });
  };
  const [secret, mine] = [await firstOf('compass'), await firstOf('lighthouse')];

  await t.test('lists and counts', async (t) => {
    const keys = async (person: Person) => (await list(person, '/api/projects')).results.map(({ key }) => key);
    t.same(await keys('ada'), ['lighthouse', 'harbour']);
    t.same(await keys('chiara'), ['lighthouse', 'compass']);
    t.same(await keys('dov'), ['compass']);
    t.equal((await list('ada', '/api/tickets')).count, 42);
    t.equal((await list('chiara', '/api/tickets')).count, 42);
    t.equal((await list('dov', '/api/tickets')).count, 20);
    t.equal((await list('ada', '/api/tickets?search=salaries')).count, 0);
    t.equal((await list('dov', '/api/tickets?search=salaries')).count, 1);
    t.equal((await list('ada', '/api/tickets?project=compass')).count, 0);
    t.equal((await list('ada', '/api/tickets?assignee=Dov%20Kim')).count, 0);
    const names = async (person: Person) => (await list(person, '/api/people')).results.map(({ name }) => name);
    t.same(await names('dov'), ['Chiara Lind', 'Dov Kim'], 'people of shared projects');
    t.same(await names('ada'), ['Ada Moreau', 'Ben Okafor', 'Chiara Lind']);
    const logic = encodeURIComponent('{"==":[{"var":"project.key"},"compass"]}');
    t.equal((await list('ada', `/api/tickets?filter=${logic}`)).count, 0);
    t.equal((await list('dov', `/api/tickets?filter=${logic}`)).count, 20);
    await orm.em
      .fork()
      .insert(Comment, { ticket: secret, author: secret.author, text: 'xyzzy', created_at: new Date() });
    t.equal((await list('ada', '/api/tickets?search=xyzzy')).count, 0, 'through a relation to many');
    t.equal((await list('dov', '/api/tickets?search=xyzzy')).count, 1);
    const first = async (person: Person) =>
      (await list(person, '/api/tickets?sort=project&page_size=1')).results[0]?.['project'];
    t.equal(await first('ada'), 'harbour', 'and not compass, which would come first');
    t.equal(await first('dov'), 'compass');
  });

  await t.test('a label lists only tickets of the user', async (t) => {
    const of = async (person: Person) => (await list(person, '/api/labels/bug/tickets?page_size=100')).results;
    t.ok((await of('ada')).length > 0);
    t.notOk((await of('ada')).some(({ project }) => project === 'compass'));
    t.ok((await of('dov')).every(({ project }) => project === 'compass'));
    t.equal((await send('ada', 'GET', '/api/labels/none/tickets')).statusCode, 404);
  });

  await t.test('missing and hidden records return the same 404', async (t) => {
    for (const [method, path, payload] of [
      ['GET', ''],
      ['GET', '?expand=members'],
      ['PATCH', '', { name: 'Mine' }],
      ['DELETE', ''],
      ['GET', '/members'],
      ['POST', '/members', { account: 'ada@example.com', role: 'owner' }],
      ['GET', '/tickets'],
      ['HEAD', '/tickets'],
      ['POST', '/tickets', { title: 'Let me in' }],
      ['GET', `/tickets/${secret.id}`],
      ['PATCH', `/tickets/${secret.id}`, { title: 'Mine' }],
      ['DELETE', `/tickets/${secret.id}`],
      ['GET', `/tickets/${secret.id}/comments`],
      ['POST', `/tickets/${secret.id}/comments`, { text: 'Hello' }],
    ] as const) {
      const hidden = await send('ada', method, `/api/projects/compass${path}`, payload);
      const absent = await send('ada', method, `/api/projects/nowhere${path}`, payload);
      t.equal(hidden.statusCode, 404, `${method} ${path}`);
      t.equal(hidden.body, absent.body);
    }
    t.equal((await send('ada', 'GET', `/api/tickets/${secret.id}`)).statusCode, 404);
    t.equal((await send('ada', 'GET', `/api/tickets/${mine.id}`)).statusCode, 200);
    // A ticket of another project is not below the user's project.
    for (const path of ['', '/comments']) {
      t.equal((await send('ada', 'GET', `/api/projects/lighthouse/tickets/${secret.id}${path}`)).statusCode, 404);
    }
    t.equal(await orm.em.fork().count(Project, { name: 'Mine' }), 0);
  });

  await t.test('a body refers to nothing that is hidden', async (t) => {
    const tickets = '/api/projects/harbour/tickets';
    const dov = (await list('chiara', '/api/projects/compass/members')).results.map(
      ({ account }) => account as { id: number; name: string },
    );
    const stranger = dov.find(({ name }) => name === 'Dov Kim')!.id;
    const answer = await send('ben', 'POST', tickets, { title: 'For Dov', assignee: stranger });
    t.equal(answer.statusCode, 400);
    t.match(answer.json(), { details: [{ path: '/assignee' }] });
    const absent = await send('ben', 'POST', tickets, { title: 'For Dov', assignee: 999_999 });
    t.equal(absent.body, answer.body);

    const form = Buffer.from(
      '--f\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\nx\r\n--f--\r\n',
    );
    for (const project of ['lighthouse', 'compass']) {
      const url = `/api/projects/${project}/tickets/${secret.id}/attachments`;
      const attached = await send('ada', 'POST', url, form, { 'content-type': 'multipart/form-data; boundary=f' });
      t.equal(attached.statusCode, 404, project);
    }
    t.equal(await orm.em.fork().count(Attachment), 0);
  });

  await t.test('roles decide who writes', async (t) => {
    const writes = [
      ['PATCH', '/api/projects/lighthouse', { description: 'Ours' }],
      ['POST', '/api/projects/lighthouse/members', { account: 'dov@example.com', role: 'guest' }],
      ['POST', '/api/projects/lighthouse/tickets', { title: 'A new one' }],
      ['POST', `/api/projects/lighthouse/tickets/${mine.id}/comments`, { text: 'A word' }],
    ] as const;
    const statuses = async (person: Person) => {
      const found: number[] = [];
      for (const [method, url, payload] of writes) found.push((await send(person, method, url, payload)).statusCode);
      return found;
    };
    t.same(await statuses('chiara'), [403, 403, 403, 403], 'a guest');
    t.same(await statuses('ben'), [403, 403, 201, 201], 'a member');
    t.same(await statuses('ada'), [200, 201, 201, 201], 'the owner');
    t.equal((await send('dov', 'GET', '/api/projects/lighthouse')).statusCode, 200, 'who is a member from now on');
    t.equal(
      (await send('ada', 'POST', '/api/projects/lighthouse/members', { account: 'dov@example.com' })).statusCode,
      409,
    );
    t.equal((await send('ben', 'POST', '/api/labels', { name: 'later' })).statusCode, 403);
    t.equal((await send('ada', 'POST', '/api/labels', { name: 'later' })).statusCode, 201);
  });

  await t.test('the user who creates a project becomes its owner', async (t) => {
    const made = await send('dov', 'POST', '/api/projects', { key: 'sextant', name: 'Sextant' });
    t.equal(made.statusCode, 201);
    t.equal(made.headers.location, '/api/projects/sextant');
    t.equal((await send('dov', 'POST', '/api/projects/sextant/tickets', { title: 'First' })).statusCode, 201);
    const { members } = (await send('dov', 'GET', '/api/projects/sextant?expand=members')).json<{ members: unknown }>();
    t.same(members, [{ role: 'owner', name: 'Dov Kim' }]);
    t.equal((await send('ada', 'GET', '/api/projects/sextant')).statusCode, 404);
    t.equal((await send('dov', 'DELETE', '/api/projects/sextant')).statusCode, 204);
  });

  await t.test('members leave a project, and its last owner stays', async (t) => {
    await send('ada', 'POST', '/api/projects', { key: 'anchor', name: 'Anchor' });
    const path = '/api/projects/anchor/members';
    await send('ada', 'POST', path, { account: 'ben@example.com', role: 'member' });
    const { results } = (await send('ada', 'GET', path)).json<{ results: { id: number; role: string }[] }>();
    const [owner, member] = ['owner', 'member'].map((role) => results.find((each) => each.role === role)!.id);
    t.equal((await send('ben', 'DELETE', `${path}/${owner}`)).statusCode, 403);
    t.equal((await send('ada', 'DELETE', `${path}/${owner}`)).statusCode, 409);
    t.equal((await send('ada', 'PATCH', `${path}/${owner}`, { role: 'guest' })).statusCode, 409);
    t.equal((await send('ben', 'DELETE', `${path}/${member}`)).statusCode, 204);
    t.equal((await send('ben', 'GET', '/api/projects/anchor')).statusCode, 404);
  });
});
