import { readFile } from 'node:fs/promises';
import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { save } from './support/hold.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';
/** A picture of one red pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

t.test('records of the tracker in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read, send } = await openTracker(t);

  t.test('nested collections are reached from their records, and link back', async (t) => {
    const page = await visit('ada', '/api/projects');
    await page.getByRole('link', { name: 'Lighthouse' }).click();
    await page.getByRole('heading', { name: 'Lighthouse' }).waitFor();
    await page.getByRole('list').getByRole('link', { name: 'Tickets' }).last().click();
    await page.getByRole('link', { name: 'Dark mode' }).click();
    await page.getByRole('heading', { name: 'Dark mode' }).waitFor();
    t.match(new URL(page.url()).pathname, /^\/api\/projects\/lighthouse\/tickets\/\d+$/);
    const way = page.locator('.crumbs');
    t.match((await way.innerText()).split(/\s*\/\s*/), ['Projects', 'lighthouse', 'Tickets', /^\d+$/]);
    await page.getByRole('link', { name: 'Comments' }).click();
    await page.getByRole('heading', { name: 'Comments' }).waitFor();
    await way.getByRole('link', { name: 'lighthouse' }).click();
    await page.getByRole('heading', { name: 'Lighthouse' }).waitFor();
    t.equal(await page.locator('nav [aria-current]').innerText(), 'Projects');
  });

  t.test('a record is made with its children and a set of related records', async (t) => {
    const page = await visit('ada', `${TICKETS}#new=`);
    await page.getByLabel('Title').fill('Made by hand');
    await page.getByRole('combobox', { name: 'Assignee' }).fill('okafor');
    await page.getByRole('option', { name: 'Ben Okafor' }).click();
    for (const label of ['bug', 'security']) {
      await page.getByRole('combobox', { name: 'Add to labels' }).fill(label);
      await page.getByRole('option', { name: label }).click();
    }
    await page.getByRole('button', { name: 'Remove bug' }).click();
    for (const [index, text] of ['Think', '', 'Act'].entries()) {
      await page.getByRole('button', { name: 'Add to steps' }).click();
      await page.getByLabel(`Steps ${index + 1}: Text`).fill(text);
    }
    await page.getByRole('button', { name: 'New ticket' }).click();
    const wrong = page.getByLabel('Steps 2: Text');
    await page.locator('#new-steps-1-text-faults').waitFor();
    t.equal(await wrong.getAttribute('aria-invalid'), 'true');
    await page.getByRole('button', { name: 'Remove Steps 2' }).click();
    await page.getByLabel('Steps 2: Is done').check();
    await page.getByRole('button', { name: 'New ticket' }).click();
    await page.getByRole('heading', { name: 'Made by hand' }).waitFor();
    const { pathname } = new URL(page.url());
    const made = await read('ada', pathname);
    t.match(made, {
      title: 'Made by hand',
      assignee: { name: 'Ben Okafor' },
      labels: [{ name: 'security' }],
      steps: [
        { text: 'Think', is_done: false },
        { text: 'Act', is_done: true },
      ],
    });
    const { steps } = made as { steps: readonly { id: number }[] };

    await page.getByLabel('Steps 1: Text').fill('Think twice');
    await page.getByRole('button', { name: 'Remove Steps 2' }).click();
    await page.getByRole('button', { name: 'Add to steps' }).click();
    await page.getByLabel('Steps 2: Text').fill('Act once');
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await page.getByRole('button', { name: 'Save' }).click();
    t.strictSame((await sent).postDataJSON(), {
      steps: [
        { id: steps[0]!.id, text: 'Think twice', is_done: false },
        { text: 'Act once', is_done: false },
      ],
    });
    await page.getByText('Saved.').waitFor();
    t.match(await read('ada', pathname), { steps: [{ id: steps[0]!.id, text: 'Think twice' }, { text: 'Act once' }] });
  });

  t.test('an invalid number is sent to the server as it was entered', async (t) => {
    const page = await visit('ada', `${TICKETS}/1`);
    for (const text of ['1e999', '9007199254740993', '0x10', '1,5']) {
      await page.getByLabel('Priority').fill(text);
      const sent = page.waitForRequest((request) => request.method() === 'PATCH');
      await page.getByRole('button', { name: 'Save' }).click();
      t.strictSame((await sent).postDataJSON(), { priority: text });
      await page.locator('#record-priority-faults').getByText('must be an integer').waitFor();
      t.equal(await page.getByLabel('Priority').inputValue(), text);
    }
  });

  t.test('errors of rules over several fields and of unknown references are shown at their fields', async (t) => {
    const page = await visit('ada', `${TICKETS}/1`);
    await page.getByLabel('Starts on').fill('2027-03-02');
    await page.getByLabel('Due on').fill('2027-03-01');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#record-due_on-faults').waitFor();
    t.match(await page.locator('#record-due_on-faults').innerText(), /must not be before starts_on/);
    await page.reload();
    await page.getByRole('combobox', { name: 'Assignee' }).fill('dov');
    await page.getByRole('option', { name: 'Dov Kim' }).waitFor({ state: 'detached' });
    await page.getByText('Nothing found').waitFor();
  });

  t.test('a change of another user is overwritten only on purpose', async (t) => {
    const page = await visit('ada', `${TICKETS}/2`);
    await page.getByLabel('Title').fill('Mine');
    t.equal(await send('ben', 'PATCH', `${TICKETS}/2`, { priority: 5 }), 200);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changed in the meantime: Priority, Version.').waitFor();
    t.match(await read('ada', `${TICKETS}/2`), { priority: 5 });
    t.equal(await page.getByLabel('Title').inputValue(), 'Mine', 'what was entered is there');
    await page.getByRole('row', { name: 'Priority 3 5' }).waitFor();
    await save(page, 'Save');
    t.match(await read('ada', `${TICKETS}/2`), { title: 'Mine', priority: 5 });
    t.equal(await send('ben', 'PATCH', `${TICKETS}/2`, { priority: 1 }), 200);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Somebody has changed this record in the meantime').waitFor();
    t.match(await read('ada', `${TICKETS}/2`), { title: 'Mine' }, 'nor is it deleted');
  });

  t.test('relations are added by switches, which the URL keeps', async (t) => {
    const page = await visit('ada', '/api/projects/lighthouse');
    await page.getByRole('checkbox', { name: 'Members' }).check();
    await page.waitForURL('**/api/projects/lighthouse?expand=members');
    await page.getByRole('region', { name: 'Members' }).getByText('Ada Moreau').waitFor();
    await page.goto(`/api/projects`);
    await page.getByText('Columns', { exact: true }).first().click();
    await page.getByRole('checkbox', { name: 'Members' }).check();
    await page.getByRole('columnheader', { name: 'Members' }).waitFor();
    await page.getByRole('checkbox', { name: 'Members' }).uncheck();
    await page.getByRole('columnheader', { name: 'Members' }).waitFor({ state: 'detached' });
    const asked = page.waitForRequest((request) => request.url().includes('fields='));
    await page.getByRole('group', { name: 'Columns' }).getByRole('checkbox', { name: 'Key' }).uncheck();
    t.match(
      decodeURIComponent((await asked).url()),
      /\?fields=key,name$/,
      'only what is shown, and the key for its link',
    );
    t.match(new URL(page.url()).search, '', 'which is the page’s own business');
  });

  t.test('a complete list is saved, filtered and ordered as shown', async (t) => {
    const page = await visit('ada', `${TICKETS}?status=done&sort=-priority&page_size=1`);
    for (const [name, file] of [
      ['CSV', 'projects-tickets.csv'],
      ['NDJSON', 'projects-tickets.ndjson'],
    ] as const) {
      await page.getByText('Export', { exact: true }).click();
      const saving = page.waitForEvent('download');
      await page.getByRole('button', { name, exact: true }).click();
      const download = await saving;
      t.equal(download.suggestedFilename(), file);
      const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
      t.equal(lines.filter((line) => line.includes('done')).length, 5, 'all pages');
    }
  });

  t.test('a file is uploaded, looked at, saved and taken away', async (t) => {
    const attachments = `${TICKETS}/2/attachments`;
    const page = await visit('ada', `${attachments}#new=`);
    await page
      .getByLabel('File')
      .setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await page.getByRole('button', { name: 'New attachment' }).click();
    await page.locator('#new-file-faults, .faults').first().waitFor();
    t.match(await page.locator('form').innerText(), /type|media/i);
    await page.getByLabel('File').setInputFiles({ name: 'red dot.png', mimeType: 'image/png', buffer: PIXEL });
    await page.locator('img.preview').waitFor();
    await page.getByRole('button', { name: 'New attachment' }).click();
    await page.getByText('Set by the server').or(page.getByText('Read only.')).first().waitFor();
    const picture = page.getByAltText('Preview of red dot.png');
    await picture.waitFor();
    t.equal(await picture.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth)), 1);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'red dot.png' }).click();
    t.same(await readFile(await (await saving).path()), PIXEL);
    const { pathname } = new URL(page.url());
    const other = await visit('ben', pathname);
    await other.getByAltText('Preview of red dot.png').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(`**${attachments}`);
    t.match(await read('ada', attachments), { count: 0 });
  });
});
