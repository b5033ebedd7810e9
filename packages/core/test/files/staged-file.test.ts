import fs from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { file } from '../../src/index.ts';
import { StagedFile } from '../../src/files/staged-file.ts';

const store = { put: async () => {}, get: async () => Readable.from([]), delete: async () => {} };
const field = file({ store, maxBytes: 10, types: ['text/plain'] });

t.test('a temporary file that breaks off leaves nothing', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'staged-file-test-'));
  const { TMPDIR } = process.env;
  const open = fs.open;
  t.teardown(async () => {
    fs.open = open;
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    await rm(folder, { recursive: true });
  });
  const stage = (content: Readable) => StagedFile.stage(field, { name: 'a.txt', type: 'text/plain', content });

  process.env['TMPDIR'] = join(folder, 'gone');
  await t.rejects(stage(Readable.from([Buffer.from('text')])), { code: 'ENOENT' }, 'its folder is not there');

  process.env['TMPDIR'] = folder;
  // A busy disk: the file is made long after it is asked for.
  fs.open = ((...args: Parameters<typeof open>) => void sleep(50).then(() => open(...args))) as typeof open;
  const content = new Readable({ read: () => content.destroy(new Error('cut off')) });
  await t.rejects(stage(content), { message: 'cut off' }, 'its content breaks off before it is made');
  await sleep(100);
  t.strictSame(await readdir(folder), []);
});
