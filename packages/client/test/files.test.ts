import t from 'tap';
import { createClient } from '../src/index.ts';
import { type Api, startTickets } from './support/tickets.ts';

t.test('a record with a file is sent as a form, and any other as JSON', async (t) => {
  const url = await startTickets(t);
  const types: (string | null)[] = [];
  const api = createClient<Api>({
    url: `${url}/api`,
    fetch: (address, init) => {
      const request = new Request(address, init);
      types.push(request.headers.get('content-type')?.split(';')[0] ?? null);
      return fetch(request);
    },
  });
  const screen = new File(['hello'], 'hello.txt', { type: 'text/plain' });
  const made = await api.tickets.create({ title: '12', weight: 7, tags: ['a', 'b,c'], screen });
  t.match(made, {
    title: '12',
    weight: 7,
    tags: ['a', 'b,c'],
    screen: { name: 'hello.txt', size: 5, type: 'text/plain' },
  });
  t.equal(await (await fetch(url + made.screen!.url)).text(), 'hello');
  const changed = await api.tickets.update(made.id, {
    tags: null,
    screen: new Blob(['again'], { type: 'text/plain' }),
  });
  t.match(changed, { tags: null, screen: { size: 5 } });
  t.equal((await api.tickets.update(made.id, { screen: null })).screen, null);
  t.strictSame(types, ['multipart/form-data', 'multipart/form-data', 'application/json']);
  await t.rejects(api.tickets.create({ title: '', screen }), { code: 'invalid_usage' });
});

t.test('the fields of a form are not in the envelope, but its response is', async (t) => {
  const api = createClient<Api>({ url: `${await startTickets(t)}/api` });
  const screen = new File(['hello'], 'hello.txt', { type: 'text/plain' });
  const { ticket } = await api.enveloped.create({ ticket: { title: '12', screen } });
  t.match(ticket, { title: '12', screen: { name: 'hello.txt', size: 5 } });
  t.match(await api.enveloped.update(ticket.id, { ticket: { title: '13' } }), { ticket: { title: '13' } });
  const refused = await api.enveloped.create.safe({ ticket: { title: 'x'.repeat(300), weight: 0.5, screen } });
  t.match(
    refused,
    { status: 400, error: { details: [{ path: '/title' }, { path: '/weight' }] } },
    'places are those of the form',
  );
});
