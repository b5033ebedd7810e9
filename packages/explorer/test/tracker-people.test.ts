import type { Page } from 'playwright-core';
import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { openTracker } from './support/tracker.ts';

t.setTimeout(110_000);

const TICKETS = '/api/projects/lighthouse/tickets';

interface Comment {
  readonly id: number;
  readonly author: { readonly name: string };
}

interface Member {
  readonly id: number;
  readonly account: { readonly name: string };
}

t.test('the people of the tracker in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, read, send } = await openTracker(t);
  const offered = async (page: Page, name: string): Promise<number> =>
    (await page.getByRole('button', { name, exact: true }).count()) +
    (await page.getByRole('link', { name, exact: true }).count());

  t.test('an administrator is offered more than a user', async (t) => {
    const admin = await visit('ada', '/api/labels/bug');
    await admin.getByRole('button', { name: 'Save' }).waitFor();
    t.equal(await offered(admin, 'Delete'), 1);
    await admin.getByRole('link', { name: 'Labels' }).first().click();
    await admin.getByRole('link', { name: 'New label' }).waitFor();
    const user = await visit('ben', '/api/labels/bug');
    await user.getByText('Read only.').waitFor();
    t.equal(await offered(user, 'Save'), 0);
    t.equal(await offered(user, 'Delete'), 0);
    await user.getByRole('link', { name: 'Labels' }).first().click();
    await user.getByRole('link', { name: 'docs' }).waitFor();
    t.equal(await offered(user, 'New label'), 0);
    const readers = await visit('ben', '/api/tickets');
    await readers.getByRole('checkbox', { name: 'Select all' }).check();
    await readers.getByRole('button', { name: 'Copy as JSON' }).waitFor();
    t.equal(await offered(readers, 'Delete'), 0, 'where nobody writes');
    t.equal(await offered(readers, 'Change…'), 0);
  });

  t.test(
    'operations that only the server knows to be forbidden are not offered, with one request per page',
    async (t) => {
      const page = await visit('chiara', `${TICKETS}/1`);
      await page.getByText('Read only.').waitFor();
      t.strictSame([await offered(page, 'Save'), await offered(page, 'Delete')], [0, 0], 'to a guest');
      await page.goto(`${TICKETS}/2`);
      await page.getByRole('region', { name: 'Comments' }).locator('time').first().waitFor();
      await page.goto(TICKETS);
      await page.getByRole('link', { name: 'Dark mode' }).waitFor();
      t.equal(await offered(page, 'New ticket'), 0);
      await page.getByRole('checkbox', { name: 'Select all' }).check();
      await page.getByRole('button', { name: 'Copy as JSON' }).waitFor();
      t.strictSame([await offered(page, 'Change…'), await offered(page, 'Delete')], [0, 0]);
      await page.getByRole('link', { name: 'Projects' }).first().click();
      await page.getByRole('link', { name: 'Compass' }).click();
      await page.locator('.below').getByRole('link', { name: 'Tickets' }).click();
      await page.getByRole('link', { name: 'New ticket' }).waitFor();
      const asked: string[] = [];
      page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
      for (const person of ['ada', 'ben'] as const) {
        t.equal(await send(person, 'POST', `${TICKETS}/1/comments`, { text: 'Mine.' }), 201);
      }
      const { results } = (await read('ben', `${TICKETS}/1/comments?page_size=100`)) as { results: Comment[] };
      for (const own of [true, false]) {
        const { id } = results.find(({ author }) => (author.name === 'Ben Okafor') === own)!;
        const member = await visit('ben', `${TICKETS}/1/comments/${id}`);
        await member.getByText(own ? 'Save' : 'Read only.', { exact: true }).waitFor();
        t.equal(await offered(member, 'Delete'), own ? 1 : 0, 'by the record');
      }
      const comments = await visit('ben', `${TICKETS}/1/comments`);
      await comments.getByRole('checkbox', { name: 'Select all' }).check();
      await comments.getByRole('button', { name: 'Copy as JSON' }).waitFor();
      t.strictSame(
        [await offered(comments, 'Change…'), await offered(comments, 'Delete')],
        [0, 0],
        'of rows, nobody has asked',
      );
      await page.goto(`${TICKETS}/1`);
      await page.getByText('Read only.').waitFor();
      t.equal(asked.filter((each) => each.startsWith('OPTIONS')).length, 1);
    },
  );

  t.test('a permission granted later is offered then, and a revoked one is refused', async (t) => {
    const page = await visit('dov', '/api/projects/compass/tickets');
    await page.getByRole('link', { name: 'New ticket' }).click();
    await page.getByLabel('Title').fill('Too late');
    const { results } = (await read('chiara', '/api/projects/compass/members')) as { results: Member[] };
    const { id } = results.find(({ account }) => account.name.startsWith('Dov'))!;
    t.equal(await send('chiara', 'PATCH', `/api/projects/compass/members/${id}`, { role: 'guest' }), 200);
    await page.getByRole('button', { name: 'New ticket' }).click();
    await page.getByText('Your account has no permission for it').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), 'Too late', 'with what was entered');
    await page.getByRole('link', { name: 'Back' }).click();
    await page.getByRole('row').nth(1).waitFor();
    t.equal(await offered(page, 'New ticket'), 0);
    t.equal(await send('chiara', 'PATCH', `/api/projects/compass/members/${id}`, { role: 'member' }), 200);
    await page.reload();
    await page.getByRole('link', { name: 'New ticket' }).waitFor();
  });

  t.test('a record that the user may not change after the save is not offered for editing', async (t) => {
    const page = await visit('ada', `${TICKETS}/15`);
    await page.getByLabel('Title').fill('The last change');
    // The API permits nothing but reading as soon as the record is written.
    await page.route(`**${TICKETS}/15`, async (route) => {
      if (route.request().method() !== 'OPTIONS') return route.fallback();
      const response = await route.fetch();
      const permitted = { 'permitted-methods': 'GET, HEAD, OPTIONS', 'permitted-operations': '' };
      return route.fulfill({ response, headers: { ...response.headers(), ...permitted } });
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByText('Read only.').waitFor();
    t.strictSame([await offered(page, 'Save'), await offered(page, 'Delete')], [0, 0]);
  });

  t.test('without permissions in OPTIONS, everything is offered until it is refused', async (t) => {
    const page = await visit('chiara', '/api');
    // As @fastify/cors does, unless it is told to answer preflight requests alone.
    await page.route('**/*', (route) =>
      route.request().method() === 'OPTIONS' ? route.fulfill({ status: 204 }) : route.fallback(),
    );
    await page.goto(`${TICKETS}/1`);
    await page.getByLabel('Title').fill('As a guest');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your account has no permission for it').waitFor();
    t.equal(await page.getByLabel('Title').inputValue(), 'As a guest');
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByText('Read only.').waitFor();
    t.equal(await offered(page, 'Save'), 0);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('You may not see or do this').waitFor();
    t.equal(await offered(page, 'Delete'), 0);
    t.match(await read('chiara', `${TICKETS}/1`), { title: /^Login fails/ });
  });

  t.test('hidden records show as missing, and no login is requested', async (t) => {
    const page = await visit('dov', '/api/projects/lighthouse');
    await page.getByText('There is nothing here').waitFor();
    await page.goto(TICKETS);
    await page.getByText('There is nothing here').waitFor();
    t.equal(await offered(page, 'New ticket'), 0);
    const nobody = await visit(undefined, '/api/tickets');
    await nobody.getByText('Log in to see this').waitFor();
    await nobody.evaluate(() => sessionStorage.setItem('viewset.explorer.token', 'no.token.at-all'));
    await nobody.reload();
    await nobody.getByText('Log in to see this').waitFor();
    t.equal(await nobody.evaluate(() => sessionStorage.length), 0, 'a token that is none is forgotten');
  });

  t.test('an unreadable response shows a message', async (t) => {
    const page = await visit('ada', '/api');
    const answers = async (path: string, body: string): Promise<void> => {
      await page.unrouteAll();
      await page.route(`**${path}`, (route) =>
        route.request().resourceType() === 'fetch' && route.request().method() === 'GET'
          ? route.fulfill({ body, contentType: 'text/html' })
          : route.fallback(),
      );
    };
    for (const body of ['<html>A proxy</html>', 'null', '[]', '']) {
      await answers(`${TICKETS}/1`, body);
      await page.goto(`${TICKETS}/1`);
      await page.getByRole('alert').filter({ hasText: 'This answer cannot be read' }).waitFor();
    }
    for (const body of ['<html>A proxy</html>', 'null', '{"results": 5}']) {
      await answers(TICKETS, body);
      await page.goto(TICKETS);
      await page.getByRole('alert').filter({ hasText: 'This answer cannot be read' }).waitFor();
    }
    for (const body of ['<html>A proxy</html>', 'null', '[]', '{"paths": {"/api": {"get": null}}}']) {
      await answers('/openapi.json', body);
      await page.goto(TICKETS);
      await page.getByText('The description of this API cannot be read').waitFor();
    }
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'New ticket' }).waitFor();
    await page.goto(`${TICKETS}?page=4711`);
    await page.getByText('The list ends before this page.').waitFor();
    t.equal(await page.getByText('No tickets yet').count(), 0);
  });

  t.test('a search for a related record that fails is not taken for one that finds nothing', async (t) => {
    const page = await visit('ada', `${TICKETS}#new=`);
    await page.route('**/api/people?**', (route) =>
      route.fulfill({ status: 503, json: { error: 'Down for now', code: 'service_unavailable' } }),
    );
    const box = page.getByRole('combobox', { name: 'Assignee' });
    await box.fill('ben');
    await page.locator('.proposals').getByText('Down for now').waitFor();
    t.equal(await page.getByText('Nothing found').count(), 0);
    await page.unrouteAll();
    await box.fill('ben o');
    await page.getByRole('option', { name: 'Ben Okafor' }).waitFor();
  });

  t.test('copying works on a page served by plain HTTP too', async (t) => {
    const page = await visit('ada', '/api', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${TICKETS}/1`);
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.getByRole('button', { name: 'Requests' }).click();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied.').waitFor();
    const other = await page.context().newPage();
    await other.goto('/api');
    t.match(await other.evaluate(() => navigator.clipboard.readText()), /^curl '/);
  });

  t.test('every refusal is a sentence', async (t) => {
    const page = await visit('ada', `${TICKETS}/1`);
    await page.getByLabel('Title').fill('Refused');
    for (const [status, sentence] of [
      [401, /needs a login/],
      [409, /is taken/],
      [413, /too large/],
      [415, /not understood/],
      [428, /Reload the record to read it/],
      [429, /Try again in 7 seconds/],
      [503, /down for now/],
    ] as const) {
      const words = { 401: 'needs a login', 409: 'is taken', 413: 'too large', 415: 'not understood' };
      const error = (words as Record<number, string>)[status] ?? 'down for now';
      await page.route(`**${TICKETS}/1`, (route) => {
        if (route.request().method() !== 'PATCH') return route.continue();
        const headers = status === 429 ? { 'retry-after': '7' } : {};
        return route.fulfill({ status, headers, json: { error, code: 'test' } });
      });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('alert').filter({ hasText: sentence }).waitFor();
      t.equal(await page.getByLabel('Title').inputValue(), 'Refused', `${status}: what was entered stays`);
      await page.unroute(`**${TICKETS}/1`);
    }
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'The server does not answer' }).waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.match(await read('ada', `${TICKETS}/1`), { title: 'Refused' });
  });
});
