/** The tools for language models: a member reaches the projects that the member sees, and nothing of any other. */
import { type Person, withTracker } from './tracker.ts';

interface Result {
  readonly isError?: boolean;
  readonly structuredContent: Readonly<Record<string, unknown>>;
}

withTracker(async (t, { app, send }) => {
  const call = async (person: Person, name: string, args: object): Promise<Result> => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    const { body } = await send(person, 'POST', '/mcp', message, { accept: 'application/json, text/event-stream' });
    return (JSON.parse(body.slice(body.indexOf('{'))) as { readonly result: Result }).result;
  };
  const keys = async (person: Person): Promise<unknown[]> => {
    const { structuredContent } = await call(person, 'search', { resource: 'projects' });
    return (structuredContent['records'] as { readonly key: string }[]).map(({ key }) => key);
  };

  await t.test('projects are limited to those of the user', async (t) => {
    t.same(await keys('ada'), ['lighthouse', 'harbour']);
    t.same(await keys('dov'), ['compass']);
    t.match(await call('ada', 'get', { resource: 'projects', id: 'compass' }), {
      isError: true,
      structuredContent: { status: 404 },
    });
  });

  await t.test('tickets belong to a project, and guests cannot write them', async (t) => {
    const ticket = (title: string) => ({
      resource: 'projects-tickets',
      parents: { project: 'lighthouse' },
      values: { title },
    });
    t.match(await call('ada', 'create', ticket('Paint the door')), {
      structuredContent: { record: { title: 'Paint the door' } },
    });
    t.match(await call('chiara', 'create', ticket('Paint the roof')), {
      isError: true,
      structuredContent: { status: 403 },
    });
    t.match(await call('dov', 'create', ticket('Paint the sea')), {
      isError: true,
      structuredContent: { status: 404 },
    });
  });

  await t.test('attachments cannot be uploaded, and describe says so', async (t) => {
    const { structuredContent } = await call('ada', 'describe', { resource: 'projects-tickets-attachments' });
    t.match(structuredContent['left_out'], [/^create needs a file/]);
  });

  await t.test('requests without a token are refused', async (t) => {
    const { statusCode, headers } = await app.inject({ method: 'POST', url: '/mcp', payload: {} });
    t.match([statusCode, headers['www-authenticate']], [401, /^Bearer/]);
  });
});
