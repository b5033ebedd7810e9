/** Files that are attached to tickets, by forms, in a folder. */
import { readdirSync } from 'node:fs';
import { withTracker } from './tracker.ts';

const BOUNDARY = 'the-boundary';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

function form(ticket: number, name: string, content: Buffer): readonly [Buffer, Record<string, string>] {
  const head =
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="ticket"\r\n\r\n${ticket}\r\n` +
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
  return [body, { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }];
}

withTracker(async (t, { as, uploads }) => {
  const { results } = (await as('ada', 'GET', '/api/projects/lighthouse/tickets')).json<{
    results: { id: number }[];
  }>();
  const ticket = results[0]!.id;
  const stored = () => readdirSync(uploads).length;

  await t.test('a file is stored, shown with its ticket and sent', async (t) => {
    const made = await as('ben', 'POST', '/api/attachments', ...form(ticket, 'screen.png', PNG));
    t.equal(made.statusCode, 201, made.body);
    const { id, file } = made.json<{ id: number; file: { url: string } }>();
    t.match(made.json(), {
      ticket,
      author: 'Ben Okafor',
      file: { name: 'screen.png', size: PNG.length, type: 'image/png' },
    });
    for (const url of [`/api/tickets/${ticket}`, `/api/projects/lighthouse/tickets/${ticket}`]) {
      t.same((await as('chiara', 'GET', url)).json<{ attachments: unknown }>().attachments, [{ id, file }]);
    }
    const sent = await as('chiara', 'GET', file.url);
    t.equal(sent.statusCode, 200);
    t.same(sent.rawPayload, PNG);
    t.equal((await as('chiara', 'GET', file.url, undefined, { range: 'bytes=0-3' })).statusCode, 206);
    t.equal((await as('dov', 'GET', file.url)).statusCode, 404, 'nobody else');
    t.equal((await as('ada', 'DELETE', `/api/attachments/${id}`)).statusCode, 403, 'the author alone');
    t.equal((await as('ben', 'DELETE', `/api/attachments/${id}`)).statusCode, 204);
    t.equal(stored(), 0);
  });

  await t.test('what is refused leaves nothing', async (t) => {
    const program = Buffer.from('7f454c4602010100', 'hex');
    t.equal((await as('ben', 'POST', '/api/attachments', ...form(ticket, 'a.png', program))).statusCode, 415);
    t.equal((await as('dov', 'POST', '/api/attachments', ...form(ticket, 'a.png', PNG))).statusCode, 400, 'no member');
    t.equal((await as('chiara', 'POST', '/api/attachments', ...form(ticket, 'a.png', PNG))).statusCode, 400, 'a guest');
    t.equal(
      (await as('ben', 'POST', '/api/attachments', ...form(ticket, 'a.png', Buffer.alloc(10_000_001)))).statusCode,
      413,
    );
    t.equal(stored(), 0);
  });
});
