import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

t.test('the summary of a collection is a table of its groups', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit } = await openTracker(t);
  const page = await visit('ada', '/api/projects/lighthouse/tickets');
  await page.getByRole('link', { name: 'Summarize the tickets' }).click();
  for (const [button, name, index] of [
    ['Add to group', 'status', 0],
    ['Add to group', 'project.key', 1],
    ['Add to max', 'priority', 0],
  ] as const) {
    await page.getByRole('button', { name: button }).click();
    const list = page.getByRole('group', { name: button.slice('Add to '.length), exact: false });
    await list.getByRole('combobox').nth(index).selectOption({ label: name });
  }
  const asked = page.waitForRequest((request) => request.url().includes('/summary?'));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const { searchParams } = new URL((await asked).url());
  t.strictSame(
    [...searchParams],
    [
      ['group', 'status,project.key'],
      ['max', 'priority'],
    ],
  );
  const table = page.getByRole('table');
  await table.getByRole('cell', { name: 'doing' }).waitFor();
  t.strictSame(await table.getByRole('columnheader').allInnerTexts(), [
    'Status',
    'Project key',
    'Count',
    'Max priority',
  ]);
});
