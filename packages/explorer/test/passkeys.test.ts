import t from 'tap';
import { addAuthenticator, skipWithoutBrowser } from './support/browser.ts';
import { goToAccount, openMembers } from './support/members.ts';
import { READER } from './support/shelves.ts';

t.setTimeout(110_000);

t.test('passkeys in a browser', { skip: skipWithoutBrowser() }, async (t) => {
  const { base, visit, logIn } = await openMembers(t);
  // Passkeys are of a domain, and an address is none.
  const baseURL = base.replace('127.0.0.1', 'localhost');
  const page = await visit('/api/books', { baseURL });
  await page.goto(`${baseURL}/api/books`);
  const { devTools, authenticatorId } = await addAuthenticator(page);
  const add = async (name: string): Promise<void> => {
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Password').fill(READER.password);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Save the passkey' }).click();
  };
  const logOut = async (): Promise<void> => {
    await page.getByRole('banner').getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('banner').getByRole('button', { name: 'Log in' }).waitFor();
  };

  t.test('a passkey is added, with the password', async (t) => {
    await logIn(page);
    await goToAccount(page, 'Passkeys');
    await page.getByText('You have no passkeys.').waitFor();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('alert').first().waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await add('Phone');
    await page.getByText('The passkey “Phone” is added.').waitFor();
    await page.getByText('Never used').waitFor();
    const { credentials } = await devTools.send('WebAuthn.getCredentials', { authenticatorId });
    t.match(credentials, [{ isResidentCredential: true, rpId: 'localhost' }]);
  });

  t.test('a device that has a passkey already gets a message', async () => {
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Password').fill(READER.password);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('This device has a passkey of your account already.').waitFor();
  });

  t.test('it logs in without an email address or password', async () => {
    await logOut();
    await page.getByRole('banner').getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('banner').getByText(READER.email).waitFor();
    await goToAccount(page, 'Passkeys');
    await page.getByText('Last used').waitFor();
  });

  t.test('it is deleted with the password, and cannot log in afterwards', async () => {
    await page.getByRole('button', { name: 'Delete the passkey Phone' }).click();
    await page.getByLabel('Password').fill(READER.password);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('The passkey “Phone” is deleted.').waitFor();
    await page.getByText('You have no passkeys.').waitFor();
    await logOut();
    await page.getByRole('banner').getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
  });
});
