/** The command that the page offers for a request sends that request, whatever is in it, and reads no file that nobody chose. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import t from 'tap';
import { curlOf, type FormPart, type SentRequest } from '../page/curl.ts';

const run = promisify(execFile);
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
);
const skip = hasCurl || process.env['CI'] === 'true' ? false : 'curl is not installed';

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

t.test('the curl command sends the same request as the page', { skip }, async (t) => {
  let received: Received | undefined;
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      received = { method, url, headers, body };
      response.end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(join(tmpdir(), 'curl-test-'));
  t.teardown(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(join(folder, 'secret'), 'SECRET CONTENT');

  const perform = async (request: Partial<SentRequest>): Promise<Received> => {
    received = undefined;
    const whole = { method: 'POST', url: '/api/books', headers: {}, body: undefined, form: undefined, ...request };
    const command = curlOf(whole, origin);
    // eslint-disable-next-line no-control-regex
    t.notMatch(command, /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/, 'a terminal is told nothing');
    await run('bash', ['-c', command], { cwd: folder, env: { ...process.env, TOKEN: 'abc' } });
    if (received === undefined) throw new Error('Nothing came');
    return received;
  };
  const parts = async ({ headers, body }: Received): Promise<[string, string | File][]> => {
    const type = headers['content-type'] ?? '';
    return [...(await new Response(body, { headers: { 'content-type': type } }).formData())];
  };

  const nasty = [
    '@secret',
    '<secret',
    '@/etc/passwd',
    'two\nlines',
    "it's",
    '$(touch made) `touch made` $TOKEN !!',
    'a;type=text/html',
    'b;filename=x',
    '"quoted" \\ back',
    'ends with \\',
    ' spaces ',
    'a=b=c',
    '{"json":[1,2]}',
    '-F x=y',
    '--help',
    '#',
    'ünï ☃ 🎲',
    'tab\tcr\r',
    // The end of a paste, in both forms that terminals know.
    '\u001B[201~\rtouch made\r',
    '\u009B201~\rtouch made\r\u007F',
  ];

  await t.test('texts of forms', async (t) => {
    for (const given of nasty) {
      const form: FormPart[] = [
        { name: 'title', text: given },
        { name: 'rest', text: 'one' },
      ];
      const [[, title], ...others] = (await parts(await perform({ form }))) as [[string, string], ...unknown[]];
      // A form writes each end of a line as two characters.
      t.equal(title.replaceAll('\r\n', '\n'), given.replaceAll('\r\n', '\n'), JSON.stringify(given));
      t.strictSame(others, [['rest', 'one']]);
    }
    t.notMatch((await perform({ form: [{ name: 'new_password', text: 'hunter2' }] })).body, 'hunter2');
  });

  await t.test('bodies, URLs and headers', async (t) => {
    for (const given of nasty) {
      const body = JSON.stringify({ given });
      const headers = { 'content-type': 'application/json' };
      t.equal((await perform({ body, headers })).body, body);
      t.equal((await perform({ body: given, headers: { 'content-type': 'text/plain' } })).body, given);
      const url = `/api/books?search=${encodeURIComponent(given)}&fields=a[1-3]{b,c}`;
      t.equal((await perform({ method: 'GET', url })).url, url);
    }
    const { method, headers } = await perform({
      method: 'PATCH',
      headers: { authorization: 'Bearer x', 'if-match': '"a"' },
    });
    t.match({ method, headers }, { method: 'PATCH', headers: { authorization: 'Bearer abc', 'if-match': '"a"' } });
  });

  await t.test('a selected file is read by its name, with any characters', async (t) => {
    for (const fileName of ['plain.txt', 'a;type=b,c.txt', 'with "quotes".txt', "it's.txt", 'back\\slash.txt']) {
      await writeFile(join(folder, fileName), `content of ${fileName}`);
      const [[name, file]] = (await parts(await perform({ form: [{ name: 'cover', fileName }] }))) as [[string, File]];
      t.equal(name, 'cover');
      t.equal(await file.text(), `content of ${fileName}`);
    }
  });

  t.notOk(existsSync(join(folder, 'made')), 'no text is run');
});
