import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { look } from './support/look.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

t.test('filters are described in plain language', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit } = await openTracker(t);

  t.test('a filter takes several values', async (t) => {
    const page = await visit('ada', '/api/tickets?page_size=50');
    await page.getByRole('button', { name: 'Filters' }).click();
    t.notMatch(await page.locator('#filter-panel').innerText(), /JSON Logic|several times/);
    await page.getByRole('combobox', { name: 'Status' }).selectOption('open');
    await page.getByRole('button', { name: 'Or another…' }).click();
    await page.getByRole('combobox', { name: 'Status' }).selectOption('done');
    await page.waitForURL((url) => url.searchParams.getAll('status').join() === 'open,done');
    await page.getByText('Any of open, done').waitFor();
    await page.getByRole('button', { name: 'Remove the filter Status open' }).click();
    await page.waitForURL((url) => url.searchParams.getAll('status').join() === 'done');
  });

  t.test('times are before and after one another, not less and greater', async (t) => {
    const rule = { '<': [{ var: 'due_on' }, '2026-12-01'] };
    const page = await visit('ada', `/api/tickets?filter=${encodeURIComponent(JSON.stringify(rule))}`);
    await page.getByRole('button', { name: 'Remove the filter Due on is before Dec 1, 2026' }).waitFor();
    await page.getByRole('button', { name: 'Filters' }).click();
    t.equal(await page.getByLabel('Comparison').locator('option:checked').innerText(), 'is before');
    t.match(await page.locator('#filter-panel').innerText(), /Due on, before this/);
  });

  t.test('a condition is built from lines and described in plain language; its text is one click away', async (t) => {
    const page = await visit('ada', '/api/tickets');
    const ruleOf = (): unknown => JSON.parse(new URL(page.url()).searchParams.get('filter') ?? 'null');
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await page.getByLabel('Value').selectOption('doing');
    await page.waitForURL(/filter=/);
    t.strictSame(ruleOf(), { '==': [{ var: 'status' }, 'doing'] });
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await page.getByLabel('Field').last().selectOption('labels.name');
    await page.getByLabel('Comparison').last().selectOption('contains');
    await page.getByLabel('Value').last().fill('bu');
    await page.getByLabel('Value').last().press('Enter');
    await page.waitForURL(/and/);
    await page.getByLabel('How many have to be true').selectOption('or');
    await page.waitForURL(/or/);
    const rule = { or: [{ '==': [{ var: 'status' }, 'doing'] }, { in: ['bu', { var: 'labels.name' }] }] };
    t.strictSame(ruleOf(), rule);
    await page.getByRole('button', { name: 'Remove the filter Status is doing or Labels name contains bu' }).waitFor();
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    const text = page.locator('#filter-filter');
    t.strictSame(JSON.parse(await text.inputValue()), rule);
    await text.fill('{"!":{"==":[{"var":"status"},"done"]}}');
    await text.blur();
    await page.waitForURL((url) => url.searchParams.get('filter')?.startsWith('{"!"') === true);
    t.equal(await page.getByRole('button', { name: 'Edit as a form' }).count(), 0, 'no line can say it');
  });

  t.test('on a phone, the filters are a sheet', async (t) => {
    const page = await visit('ada', '/api/tickets', { viewport: { width: 390, height: 844 }, bypassCSP: true });
    await page.getByRole('button', { name: 'Filters' }).click();
    const sheet = page.getByRole('dialog', { name: 'Filters' });
    await sheet.getByRole('combobox', { name: 'Status' }).selectOption('done');
    await page.waitForURL(/status=done/);
    await sheet.getByRole('button', { name: 'Add a condition' }).click();
    await look(t, page, 'the sheet');
    await sheet.getByRole('button', { name: 'Show the list' }).click();
    await sheet.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Filters (1)' }).click();
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'hidden' });
  });

  t.test('bounds and sizes are described in plain language', async (t) => {
    const page = await visit('ada', '/api/projects/lighthouse/tickets/1');
    await page.getByText('From 1 to 5').waitFor();
    await page.getByLabel('Priority').fill('9');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must be at most 5').waitFor();
    t.equal(await page.getByLabel('Priority').getAttribute('aria-invalid'), 'true');
    await page.goto('/api/projects/lighthouse/tickets/1/attachments#new=');
    t.match(await page.locator('.field.file .hint').innerText(), /A file of at most \d+ MB/);
  });
});
