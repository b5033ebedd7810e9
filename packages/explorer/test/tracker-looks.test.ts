import t from 'tap';
import { Label } from '../../../examples/tracker/src/entities.ts';
import { skipWithoutBrowser } from './support/browser.ts';
import { isWithinScreen, look } from './support/look.ts';
import { endLogin } from './support/hold.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';

/** What somebody may have written into every field. */
const HOSTILE = {
  script: `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">"'\`$\{1}{{7*7}}`,
  rightToLeft: '\u202Eשלום עולם gnihtyreve \u202D',
  word: 'Donaudampfschifffahrtsgesellschaftskapitänsmütze'.repeat(4),
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈🇩🇪'.repeat(6),
  control: 'a\u0001\u0007\u001B[31mred\u200B\u2028b\ttab\r\nline',
  long: 'x'.repeat(200_000),
  blank: ' ',
};

t.test('looks of the tracker in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { orm, visit, read, send } = await openTracker(t);

  t.test('hostile data in every field is text, and breaks no page', async (t) => {
    const labels = ['<b>bold</b>"\'', '\u202Egnihtyreve', 'w'.repeat(30), '🏳️‍🌈👩‍👩‍👧‍👦', 'a/b?c#d%2F'];
    for (const name of [...labels, ' ']) t.equal(await send('ada', 'POST', '/api/labels', { name }), 201);
    for (const text of Object.values(HOSTILE)) {
      const short = text.slice(0, 150);
      const ticket = { title: short, description: text, labels, steps: [{ text: short }, { text: short }] };
      t.equal(await send('ada', 'POST', TICKETS, ticket), 201);
    }
    const { results } = (await read('ada', `${TICKETS}?sort=-id`)) as { results: readonly { id: number }[] };
    const [{ id }] = results as [{ id: number }];
    for (const text of Object.values(HOSTILE)) await send('ada', 'POST', `${TICKETS}/${id}/comments`, { text });

    const page = await visit('ada', `${TICKETS}?sort=-id`);
    await page.getByRole('link', { name: 'Blank' }).waitFor();
    t.ok(await isWithinScreen(page));
    for (const { id: each } of results.slice(0, Object.keys(HOSTILE).length)) {
      await page.goto(`${TICKETS}/${each}`);
      await page.getByRole('button', { name: 'Save' }).waitFor();
      t.ok(await isWithinScreen(page), `ticket ${each}`);
    }
    const guest = await visit('chiara', `/api/tickets/${id}`);
    await guest.getByText('Read only.').waitFor();
    t.ok(await isWithinScreen(guest), 'to be read');
    await page.goto(`${TICKETS}/${id}/comments`);
    await page.locator('tbody tr').nth(6).waitFor();
    t.ok(await isWithinScreen(page), 'comments');
    await page.goto('/api/labels?page_size=50');
    await page.getByRole('link', { name: 'a/b?c#d%2F' }).click();
    await page.getByRole('heading', { name: 'a/b?c#d%2F' }).waitFor();
    for (const each of [page, guest]) t.notOk(await each.evaluate(() => 'hacked' in window));
  });

  t.test('a record that no URL can name is not taken for the one above it', async (t) => {
    t.equal(await send('ada', 'POST', '/api/labels', { name: '..' }), 400, 'the API refuses such a key');
    await orm.em.fork().insert(Label, { name: '..' });
    const page = await visit('ada', '/api/labels?page_size=50');
    const row = page.locator('tbody tr', { has: page.getByText('..', { exact: true }) });
    await row.waitFor();
    t.equal(await row.getByRole('link').count(), 0);
    await row.getByRole('checkbox').check();
    const asked: string[] = [];
    page.on('request', (request) => void (request.method() === 'DELETE' && asked.push(request.url())));
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.locator('.row-fault').getByText('No URL can name this record.').waitFor();
    t.strictSame(asked, []);
  });

  for (const [name, colorScheme, viewport] of [
    ['wide, dark', 'dark', { width: 1920, height: 1000 }],
    ['phone, light', 'light', { width: 375, height: 740 }],
  ] as const) {
    t.test(`axe finds nothing, and nothing sticks out: ${name}`, async (t) => {
      const page = await visit('ada', TICKETS, { colorScheme, viewport, bypassCSP: true });
      const seen = (place: string): Promise<void> => look(t, page, place);
      await page.getByRole('checkbox', { name: 'Select all' }).check();
      await page.getByRole('button', { name: 'Change…' }).click();
      await page.getByLabel('Field').selectOption('priority');
      await page.getByRole('textbox', { name: 'Priority' }).fill('9');
      await page.getByRole('button', { name: /^Change \d+ records$/ }).click();
      await page.locator('.row-fault').first().waitFor();
      await seen('faults at rows');
      await page.getByText('Export', { exact: true }).click();
      await page.getByRole('button', { name: 'CSV', exact: true }).waitFor();
      await seen('exports');
      await page.goto(`${TICKETS}#new=`);
      for (let count = 0; count < 2; count++) await page.getByRole('button', { name: 'Add to steps' }).click();
      await page.getByRole('button', { name: 'New ticket' }).click();
      await page.locator('#new-steps-1-text-faults').waitFor();
      await page.getByRole('combobox', { name: 'Add to labels' }).fill('bug');
      await page.getByRole('option', { name: 'bug' }).waitFor();
      await seen('a form with faults and children');
      await page.goto(`${TICKETS}/1?expand=comments`);
      await page.getByLabel('Title').fill('Mine');
      const current = (await read('ada', `${TICKETS}/1`)) as { minutes_spent: number };
      await send('ben', 'PATCH', `${TICKETS}/1`, { minutes_spent: current.minutes_spent + 1 });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Changed in the meantime').waitFor();
      await seen('a conflict');
      await page.getByRole('button', { name: 'Edit as JSON' }).click();
      await seen('JSON');
      await page.goto('/api/tickets/1');
      await page.getByText('Read only.').waitFor();
      await seen('a record to be read');
      await page.goto('/api/projects/lighthouse/tickets/1/comments?search=nothing-like-this');
      await page.getByText('Nothing fits the search').waitFor();
      await seen('nothing found');
      await page.goto('/api/tickets/4711');
      await page.getByText('There is nothing here').waitFor();
      await seen('not there');
      await page.goto(`${TICKETS}#new=`);
      await page.getByLabel('Title').fill('Entered');
      await page.locator('.crumbs').getByRole('link', { name: 'Lighthouse' }).click();
      await page.goBack();
      await page.getByText('What you had entered is still here.').waitFor();
      await seen('a form that is shown again');
      await endLogin(page);
      await page.getByRole('button', { name: 'New ticket' }).click();
      await page.getByText('Your login has ended').waitFor();
      await seen('a login that has ended');
      const nobody = await visit('chiara', `${TICKETS}#new=`, { colorScheme, viewport, bypassCSP: true });
      await nobody.getByText('Your account has no permission for it.').waitFor();
      await look(t, nobody, 'a form that is not permitted');
    });
  }
});
