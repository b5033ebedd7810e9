import t from 'tap';
import { encode } from 'uqr';
import { skipWithoutBrowser } from './support/browser.ts';
import { goToAccount, openMembers, openTab, refreshesOf } from './support/members.ts';
import { totpCode } from './support/totp.ts';

t.setTimeout(110_000);

t.test('accounts in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { app, visit, logIn, codeOf } = await openMembers(t);

  t.test('a token that is refused is renewed, and the request sent again; a write that was done is not', async (t) => {
    const page = await visit('/api/books/3');
    await logIn(page);
    await page.getByRole('button', { name: 'Save' }).waitFor();
    const refreshes = refreshesOf(page.context());
    const headers = { 'www-authenticate': 'Bearer error="invalid_token"' };
    let times = 0;
    await page.route('**/api/books/3', (route) => {
      if (route.request().method() !== 'PATCH' || times++ > 0) return route.fallback();
      return route.fulfill({ status: 401, headers, json: { error: 'The token has expired', code: 'unauthorized' } });
    });
    await page.getByLabel('Title').fill('Once');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.equal(times, 2);
    t.equal(refreshes.length, 1);
    await page.unrouteAll();
    let done = 0;
    await page.route('**/api/books/3', async (route) => {
      if (route.request().method() !== 'PATCH') return route.fallback();
      done++;
      const response = await route.fetch();
      return route.fulfill({ response, headers: { ...response.headers(), ...headers } });
    });
    await page.getByLabel('Title').fill('Twice');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.equal(done, 1);
  });

  t.test('an account is made, its password forgotten, and another one set', async (t) => {
    const page = await visit('/api/books');
    await page.getByRole('button', { name: 'Log in' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Create an account' }).click();
    await dialog.getByLabel('Email').fill('new@example.com');
    await dialog.getByLabel('Email').press('Enter');
    await dialog.getByText('A code is on its way to new@example.com').waitFor();
    const code = dialog.getByLabel('Code');
    t.ok(await code.evaluate((field) => document.activeElement === field), 'the next field has the focus');
    t.equal(await code.getAttribute('autocomplete'), 'one-time-code');
    await code.fill('12');
    await dialog.getByLabel('Name').fill('Nia');
    await dialog.getByLabel('Password').fill('first-password');
    await dialog.getByRole('button', { name: 'Create an account' }).click();
    await dialog.getByRole('alert').waitFor();
    await code.fill(await codeOf('new@example.com'));
    await dialog.getByRole('button', { name: 'Create an account' }).click();
    await dialog.getByText('Your account is there now. Log in.').waitFor();
    t.equal(await dialog.getByLabel('Email').inputValue(), 'new@example.com');

    await dialog.getByRole('button', { name: 'Forgot your password?' }).click();
    await dialog.getByLabel('Email').fill('new@example.com');
    await dialog.getByRole('button', { name: 'Send the code' }).click();
    await dialog.getByLabel('Code').fill(await codeOf('new@example.com'));
    await dialog.getByLabel('New password').fill('second-password');
    await dialog.getByRole('button', { name: 'Change the password' }).click();
    await dialog.getByText('Your password is changed. Log in with it.').waitFor();
    await dialog.getByLabel('Password').fill('second-password');
    await dialog.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('banner').getByText('new@example.com').waitFor();
  });

  t.test('people change their name, password and address, and delete their account', async (t) => {
    const person = { email: 'mia@example.com', password: 'mia-password' };
    await register(person);
    const page = await visit('/api/books');
    await logIn(page, person);
    await goToAccount(page, 'Profile');
    await page.getByLabel('Name').fill('Mia M.');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.reload();
    t.equal(await page.getByLabel('Name').inputValue(), 'Mia M.');

    await goToAccount(page, 'Password');
    await page.getByLabel('Current password').fill('wrong');
    await page.getByLabel('New password').fill('mia-password-2');
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.locator('#account-current_password-faults').waitFor();
    await page.getByLabel('Current password').fill(person.password);
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('Your password is changed.').waitFor();
    t.equal(await page.getByLabel('New password').inputValue(), '', 'nothing stays in the fields');

    await goToAccount(page, 'E-mail address');
    await page.getByLabel('New email').fill('mia2@example.com');
    await page.getByLabel('Password').fill('mia-password-2');
    await page.getByRole('button', { name: 'Send the code' }).click();
    await page.getByLabel('Code').fill(await codeOf('mia2@example.com'));
    await page.getByRole('button', { name: 'Change the address' }).click();
    await page.getByRole('banner').getByText('mia2@example.com').waitFor();

    await goToAccount(page, 'Profile');
    await page.getByRole('button', { name: 'Delete your account' }).click();
    await page.getByLabel('Password').fill('mia-password-2');
    await page.getByRole('button', { name: 'Delete your account' }).click();
    await page.getByText('Your account is deleted.').waitFor();
    await page.getByRole('button', { name: 'Log in' }).first().waitFor();
    const payload = { email: 'mia2@example.com', password: 'mia-password-2' };
    t.equal((await app.inject({ method: 'POST', url: '/api/auth/login', payload })).statusCode, 401);
  });

  async function register({ email, password }: { readonly email: string; readonly password: string }): Promise<void> {
    await app.inject({ method: 'POST', url: '/api/auth/send-verification-email', payload: { email } });
    const payload = { email, password, name: 'Mia', code: await codeOf(email) };
    const { statusCode } = await app.inject({ method: 'POST', url: '/api/auth/register', payload });
    t.equal(statusCode, 201);
  }

  t.test('devices are listed, and logged out one by one and all at once', async (t) => {
    const person = { email: 'leo@example.com', password: 'leo-password' };
    await register(person);
    const page = await visit('/api/books');
    await logIn(page, person);
    const phone = await visit('/api/books/5', { userAgent: 'Mozilla/5.0 (Android 15; Mobile) Firefox/140.0' });
    await logIn(phone, person);
    const laptop = await visit('/api/books/5', { userAgent: 'Mozilla/5.0 (Macintosh; Mac OS X) Safari/605' });
    await logIn(laptop, person);
    await goToAccount(page, 'Devices');
    const cards = page.getByRole('listitem').filter({ hasText: 'Last used' });
    await cards.nth(2).waitFor();
    t.match(await cards.first().innerText(), /This device/, 'comes first');
    t.match(await page.locator('.card time').first().getAttribute('title'), /\d{4}/, 'with the exact time');
    await page.getByRole('button', { name: 'Log out Firefox on Android' }).click();
    await page.getByText('Firefox on Android is logged out.').waitFor();
    await cards.nth(2).waitFor({ state: 'detached' });
    await phone.reload();
    await phone.getByText('Read only until you log in.').waitFor();
    await page.getByRole('button', { name: 'Log out everywhere' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Log out everywhere' }).click();
    await page.getByText('You are logged out on all devices.').waitFor();
    await laptop.reload();
    await laptop.getByText('Read only until you log in.').waitFor();
    t.equal((await page.context().cookies()).filter(({ name }) => name === 'refresh_token').length, 0);
  });

  t.test('a login takes two steps if somebody wants it to, and one again', async (t) => {
    const person = { email: 'tia@example.com', password: 'tia-password' };
    await register(person);
    const page = await visit('/api/books');
    await logIn(page, person);
    await goToAccount(page, 'Two-step login');
    await page.getByRole('button', { name: 'Set up two-step login' }).click();
    const secret = await page.locator('.secret pre').innerText();
    const uri = await page.getByRole('link', { name: 'Open in an authenticator app' }).getAttribute('href');
    t.match(uri, /^otpauth:/);
    const code = await page
      .getByRole('img', { name: 'The key for the camera of your phone' })
      .locator('path')
      .getAttribute('d');
    const dark = encode(uri!, { ecc: 'M', border: 4 }).data.flat().filter(Boolean);
    t.equal(code?.match(/M/g)?.length, dark.length, 'the QR code is the same address');
    await page.getByLabel('Code').fill('000000');
    await page.getByRole('button', { name: 'Switch on' }).click();
    await page.locator('#account-code-faults').waitFor();
    await page.getByLabel('Code').fill(totpCode(secret));
    await page.getByRole('button', { name: 'Switch on' }).click();
    await page.getByText('Two-step login is on.').waitFor();
    const codes = (await page.locator('.secret pre').innerText()).split('\n');
    t.equal(codes.length, 10);
    await page.getByRole('button', { name: 'Requests' }).click();
    t.notMatch(await page.locator('.log').innerText(), new RegExp(`${secret}|${codes[0]}`), 'they are shown once');
    await page.getByRole('button', { name: 'Requests' }).click();

    const other = await visit('/api/books');
    await other.getByRole('button', { name: 'Log in' }).first().click();
    const dialog = other.getByRole('dialog');
    await dialog.getByLabel('Email').fill(person.email);
    await dialog.getByLabel('Password').fill(person.password);
    await dialog.getByRole('button', { name: 'Log in' }).click();
    await dialog.getByLabel('Code').fill('wrong');
    await dialog.getByRole('button', { name: 'Log in' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Code').fill(codes[0]!);
    await dialog.getByRole('button', { name: 'Log in' }).click();
    await other.getByRole('banner').getByText(person.email).waitFor();

    await goToAccount(other, 'Two-step login');
    await other.getByText('Switch two-step login off').first().click();
    await other.getByLabel('Password').fill(person.password);
    await other.getByLabel('Code').fill(codes[1]!);
    await other.getByRole('button', { name: 'Switch two-step login off' }).click();
    await other.getByText('Two-step login is off.').waitFor();
  });

  t.test('API keys are made, shown once, and revoked', async (t) => {
    const page = await visit('/api/books', { permissions: ['clipboard-read', 'clipboard-write'] });
    await logIn(page);
    await goToAccount(page, 'API keys');
    await page.getByText('You have no API keys.').waitFor();
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill('Nightly import');
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByText('it is not shown again').waitFor();
    const key = await page.locator('.secret pre').innerText();
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    t.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
    const headers = { authorization: `Bearer ${key}` };
    t.equal((await app.inject({ url: '/api/books/7', headers })).statusCode, 200);
    await page.getByRole('button', { name: 'Requests' }).click();
    t.notMatch(await page.locator('.log').innerText(), new RegExp(key));
    await page.getByRole('button', { name: 'Requests' }).click();
    await page.reload();
    await page.getByText('Nightly import').waitFor();
    t.equal(await page.locator('.secret').count(), 0);
    await page.getByRole('button', { name: 'Revoke Nightly import' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('“Nightly import” is revoked.').waitFor();
    await page.getByText('You have no API keys.').waitFor();
    t.equal((await app.inject({ url: '/api/auth/me', headers })).statusCode, 401);
  });

  t.test('a logout ends the session, in every tab', async (t) => {
    const page = await visit('/api/books/6');
    await logIn(page);
    const token = await page.evaluate(() => sessionStorage.getItem('viewset.explorer.token'));
    const other = await openTab(page.context(), '/api/books/6');
    await other.getByRole('button', { name: 'Save' }).waitFor();
    const ended = page.waitForResponse((response) => response.url().endsWith('/logout'));
    await page.getByRole('button', { name: 'Log out' }).click();
    await (await ended).finished();
    await other.getByText('Read only until you log in.').waitFor();
    const headers = { authorization: `Bearer ${token}` };
    t.equal((await app.inject({ url: '/api/auth/me', headers })).statusCode, 401);
    await page.reload();
    await page.getByText('Read only until you log in.').waitFor();
  });

  t.test('a logout that does not reach the server is not taken for one that did', async () => {
    const page = await visit('/api/books/6');
    await logIn(page);
    await page.route('**/api/auth/logout', (route) => route.abort());
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('your session may still be there').waitFor();
    await page.getByText('Read only until you log in.').waitFor();
  });

  t.test('a page of the account asks an anonymous user to log in, and then shows itself', async () => {
    const page = await visit('/api#account=sessions');
    await page.getByText('This needs a login.').waitFor();
    await logIn(page);
    await page.getByRole('heading', { name: 'Devices' }).waitFor();
  });
});
