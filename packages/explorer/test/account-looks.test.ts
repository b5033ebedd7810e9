import t from 'tap';
import { skipWithoutBrowser } from './support/browser.ts';
import { look } from './support/look.ts';
import { goToAccount, openMembers } from './support/members.ts';

t.setTimeout(110_000);

t.test('looks of accounts in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { visit, logIn } = await openMembers(t);

  for (const [name, colorScheme, viewport] of [
    ['wide, light', 'light', { width: 1440, height: 900 }],
    ['phone, dark', 'dark', { width: 390, height: 844 }],
  ] as const) {
    t.test(`axe finds nothing, and nothing sticks out: ${name}`, async (t) => {
      const page = await visit('/api', { colorScheme, viewport, bypassCSP: true });
      await page.getByRole('button', { name: 'Log in' }).first().click();
      await look(t, page, 'login');
      await page.getByRole('button', { name: 'Forgot your password?' }).click();
      await look(t, page, 'forgotten password');
      await page.keyboard.press('Escape');
      await logIn(page);
      for (const place of ['Profile', 'Password', 'E-mail address', 'Two-step login', 'API keys', 'Devices']) {
        await goToAccount(page, place);
        await page.locator('.waiting.on').waitFor({ state: 'detached' });
        await look(t, page, place);
      }
      await page.getByRole('button', { name: 'Log out everywhere' }).click();
      await look(t, page, 'question');
    });
  }
});
