/** Concurrent changes of an account in several processes: a new password, a new address, its deletion. */
import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import type { Answer } from '../support/http-client.ts';
import { codeIn, PASSWORD, type Shop } from '../support/shop.ts';
import type { Shops } from '../support/shops.ts';

const MANY = 16;
/** One of them is right. As many as are wrong then do not hold the account yet. */
const PASSWORDS = 10;

export async function accountsTogether(t: Test, shops: Shops): Promise<void> {
  const [first, second] = shops.all as readonly Shop[] as readonly [Shop, Shop];
  const address = (): string => `${randomBytes(6).toString('hex')}@example.com`;
  const many = (make: (shop: Shop, index: number) => Promise<Answer>, length = MANY): Promise<Answer[]> =>
    Promise.all(Array.from({ length }, (_, index) => make(shops.at(index), index)));
  const count = (answers: Answer[], status: number): number => answers.filter((each) => each.status === status).length;
  const resetCode = async (shop: Shop, email: string): Promise<string> => {
    const before = shop.process.log.length;
    await shop.post('/api/auth/forgot-password', { email });
    return codeIn((await shop.process.logged(({ mail }) => mail?.recipient === email, before)).mail!.content);
  };
  const emailCode = async (shop: Shop, token: string, new_email: string): Promise<string> => {
    const before = shop.process.log.length;
    const body = { new_email, password: PASSWORD };
    const answer = await shop.post('/api/auth/change-email', body, { token });
    if (answer.status !== 200) throw new Error(answer.text);
    return codeIn((await shop.process.logged(({ mail }) => mail?.recipient === new_email, before)).mail!.content);
  };

  await t.test('of many concurrent resets with one code, exactly one sets its password', async (t) => {
    const email = address();
    await first.register(email);
    const code = await resetCode(first, email);
    const password = (index: number): string => `new password ${index}`;
    const answers = await many((shop, index) =>
      shop.post('/api/auth/reset-password', { email, code, new_password: password(index) }),
    );
    t.equal(count(answers, 204), 1);
    t.equal(count(answers, 400), MANY - 1);
    const winner = answers.findIndex(({ status }) => status === 204);
    for (const shop of shops.all) t.ok(await shop.login({ email, password: password(winner) }));
    t.equal((await second.post('/api/auth/login', { email, password: PASSWORD })).status, 401);
  });

  await t.test('of many concurrent changes of a password, exactly one succeeds', async (t) => {
    const email = address();
    const token = await first.newUser(email);
    const answers = await many((shop, index) => {
      const body = { current_password: PASSWORD, new_password: `new password ${index}` };
      return shop.post('/api/auth/change-password', body, { token });
    }, PASSWORDS);
    t.equal(count(answers, 204), 1, JSON.stringify(answers.map(({ status }) => status)));
    const winner = answers.findIndex(({ status }) => status === 204);
    t.ok(await second.login({ email, password: `new password ${winner}` }));
  });

  await t.test('a code that one process sent confirms an address on another, once', async (t) => {
    const token = await first.newUser(address());
    const email = address();
    const code = await emailCode(first, token, email);
    const answers = await many((shop) => shop.post('/api/auth/confirm-email', { code }, { token }));
    t.equal(count(answers, 200), 1);
    t.equal(count(answers, 400), MANY - 1);
    t.match((await second.get('/api/auth/me', { token })).body, { email });
  });

  await t.test('of two accounts that concurrently confirm one address, one gets it', async (t) => {
    const email = address();
    const tokens = [await first.newUser(address()), await second.newUser(address())];
    const codes = [await emailCode(first, tokens[0]!, email), await emailCode(second, tokens[1]!, email)];
    const answers = await Promise.all(
      tokens.map((token, index) => shops.at(index).post('/api/auth/confirm-email', { code: codes[index] }, { token })),
    );
    t.strictSame(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400],
    );
    const addresses = await Promise.all(
      tokens.map(async (token) => (await first.get<{ email: string }>('/api/auth/me', { token })).body.email),
    );
    t.equal(addresses.filter((each) => each === email).length, 1);
  });

  await t.test('an address that somebody confirms and somebody registers at once is one account’s', async (t) => {
    const email = address();
    const token = await first.newUser(address());
    const code = await emailCode(first, token, email);
    const registration = { email, password: PASSWORD, name: 'N', code: await second.verificationCode(email) };
    const [confirmed, registered] = await Promise.all([
      first.post('/api/auth/confirm-email', { code }, { token }),
      second.post('/api/auth/register', registration),
    ]);
    t.equal([confirmed.status, registered.status].filter((status) => status < 300).length, 1);
    t.equal([confirmed.status, registered.status].filter((status) => status === 400).length, 1);
  });

  await t.test(
    'of many concurrent deletions, exactly one succeeds, and a concurrent reset does not restore the account',
    async (t) => {
      const email = address();
      const token = await first.newUser(email);
      const code = await resetCode(second, email);
      const answers = await many((shop, index) =>
        index === 0
          ? shop.post('/api/auth/reset-password', { email, code, new_password: PASSWORD })
          : shop.request('DELETE', '/api/auth/me', { json: { password: PASSWORD }, token }),
      );
      const [reset, ...deletions] = answers as [Answer, ...Answer[]];
      t.ok([204, 400].includes(reset.status), String(reset.status));
      t.ok(count(deletions, 204) <= 1, JSON.stringify(deletions.map(({ status }) => status)));
      if (count(deletions, 204) === 0) {
        t.equal(reset.status, 204, 'the password that was reset counts');
        const again = await first.login({ email, password: PASSWORD });
        const last = await second.request('DELETE', '/api/auth/me', { json: { password: PASSWORD }, token: again });
        t.equal(last.status, 204);
      }
      for (const shop of shops.all) {
        t.equal((await shop.post('/api/auth/login', { email, password: PASSWORD })).status, 401);
      }
      t.equal((await second.get('/api/auth/me', { token })).status, 401);
    },
  );
}
