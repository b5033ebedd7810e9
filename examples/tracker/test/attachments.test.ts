/** Files that are attached to tickets, by forms, in a folder. */
import { readdirSync } from 'node:fs';
import { withTracker } from './tracker.ts';

const BOUNDARY = 'the-boundary';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

function form(name: string, content: Buffer): readonly [Buffer, Record<string, string>] {
  const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
  return [body, { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }];
}

withTracker(async (t, { app, as, send, uploads }) => {
  t.test('the document offers no JSON where a file is required', async (t) => {
    const document = (await app.inject('/openapi.json')).json<{
      paths: Record<string, Record<string, { requestBody: { content: object } }>>;
    }>();
    const { post } = document.paths['/api/projects/{project}/tickets/{ticket}/attachments']!;
    t.strictSame(Object.keys(post!.requestBody.content), ['multipart/form-data']);
  });

  const { results } = await as('ada').projects('lighthouse').tickets.list();
  const ticket = results[0]!.id;
  const attachments = `/api/projects/lighthouse/tickets/${ticket}/attachments`;
  const stored = () => readdirSync(uploads).length;

  await t.test('a file is stored, shown with its ticket and sent', async (t) => {
    const made = await send('ben', 'POST', attachments, ...form('screen.png', PNG));
    t.equal(made.statusCode, 201, made.body);
    const { id, file } = made.json<{ id: number; file: { url: string } }>();
    t.match(made.json(), {
      author: 'Ben Okafor',
      file: { name: 'screen.png', size: PNG.length, type: 'image/png' },
    });
    for (const { tickets } of [as('chiara'), as('chiara').projects('lighthouse')]) {
      t.same((await tickets.retrieve(ticket)).attachments, [{ id, file }]);
    }
    const sent = await send('chiara', 'GET', file.url);
    t.equal(sent.statusCode, 200);
    t.same(sent.rawPayload, PNG);
    t.equal((await send('chiara', 'GET', file.url, undefined, { range: 'bytes=0-3' })).statusCode, 206);
    t.equal((await send('dov', 'GET', file.url)).statusCode, 404, 'nobody else');
    t.equal((await send('ada', 'DELETE', `${attachments}/${id}`)).statusCode, 403, 'the author alone');
    t.equal(file.url, `${attachments}/${id}/file`);
    t.equal((await send('ben', 'DELETE', `${attachments}/${id}`)).statusCode, 204);
    t.equal(stored(), 0);
    const other = `/api/projects/lighthouse/tickets/${results[1]!.id}`;
    t.equal((await send('ben', 'POST', `${other}/attachments`, ...form('again.png', PNG))).statusCode, 201);
    t.equal((await send('ada', 'DELETE', other)).statusCode, 204);
    t.equal(stored(), 0, 'the files of a ticket go with it');
  });

  await t.test('a rejected upload leaves nothing', async (t) => {
    const program = Buffer.from('7f454c4602010100', 'hex');
    t.equal((await send('ben', 'POST', attachments, ...form('a.png', program))).statusCode, 415);
    t.equal((await send('dov', 'POST', attachments, ...form('a.png', PNG))).statusCode, 404, 'no member');
    t.equal((await send('chiara', 'POST', attachments, ...form('a.png', PNG))).statusCode, 403, 'a guest');
    t.equal((await send('ben', 'POST', attachments, ...form('a.png', Buffer.alloc(10_000_001)))).statusCode, 413);
    t.equal(stored(), 0);
  });
});
