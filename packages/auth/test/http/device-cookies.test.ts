import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Browser } from '../support/browser.ts';
import { Account, Role } from '../support/entities.ts';

forEachDatabase(t, { entities: [Account, Role], only: ['sqlite'] }, async (t, orm) => {
  const app = await startApp(t, orm);
  const ann = 'ann@example.com';
  const bob = 'bob@example.com';
  await app.addAccount(ann);
  await app.addAccount(bob);
  const wrong = (email: string, times: number, browser = new Browser(app)) =>
    Promise.all(Array.from({ length: times }, () => browser.login(email, 'wrong-password')));
  const known = async (...emails: string[]): Promise<Browser> => {
    const browser = new Browser(app);
    for (const email of emails) await browser.login(email);
    return browser;
  };
  const copy = (browser: Browser): Browser => {
    const other = new Browser(app);
    for (const [name, value] of browser.cookies) other.cookies.set(name, value);
    return other;
  };
  /** Held by strangers. */
  const hers = await known(ann);
  const both = await known(ann, bob);
  const his = await known(bob);
  await wrong(ann, 11);

  t.test('a hold for unknown devices does not hold a device that has logged in', async (t) => {
    t.equal((await new Browser(app).login(ann)).status, 429);
    t.equal((await copy(hers).login(ann)).status, 200);
    t.equal((await copy(both).login(ann)).status, 200, 'a browser with two accounts is known to both');
    t.equal((await app.post('/auth/login', { email: ann, password: PASSWORD, refresh: 'body' })).status, 429);
  });

  t.test('a device that has logged into another account counts as unknown', async (t) => {
    t.equal((await copy(his).login(ann)).status, 429);
  });

  t.test('an invented cookie counts as an unknown device', async (t) => {
    const [id = '', proof = ''] = hers.cookies.get('device')!.split('.');
    const [other = ''] = his.cookies.get('device')!.split('.');
    const made = [
      '',
      'x',
      id,
      `${id}.`,
      `${other}.${proof}`,
      `${id}.${proof}x`,
      `${id}.${'A'.repeat(43)}`,
      `${id}.${proof}`.repeat(9),
    ];
    for (const value of made) {
      const browser = new Browser(app);
      browser.cookies.set('device', value);
      t.equal((await browser.login(ann)).status, 429, value.slice(0, 30));
    }
  });

  t.test('a device has ten separate attempts, and its hold affects no other device', async (t) => {
    const device = await known(bob);
    const answers = await wrong(bob, 12, device);
    t.equal(answers.filter(({ status }) => status === 401).length, 10);
    t.equal((await copy(device).login(bob)).status, 429, 'the device is held');
    t.equal((await copy(his).login(bob)).status, 200);
    t.equal((await new Browser(app).login(bob)).status, 200, 'strangers are not');
  });

  t.test('a browser is known to the last five accounts, by one cookie', async (t) => {
    const emails = Array.from({ length: 6 }, (_, index) => `one${index}@example.com`);
    for (const email of emails) await app.addAccount(email);
    const browser = await known(...emails, emails[5]!);
    t.equal(browser.cookies.get('device')?.split('.').length, 6);
    for (const email of emails) await wrong(email, 11);
    t.equal((await copy(browser).login(emails[0]!)).status, 429, 'the first is forgotten');
    for (const email of emails.slice(1)) t.equal((await copy(browser).login(email)).status, 200, email);
  });
});
