import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { Account } from '../../src/entities/account.ts';
import { pastShop } from '../support/database.ts';
import { isError, isInvalid } from '../support/expect.ts';
import { PASSWORD } from '../support/shop.ts';
import type { Shops } from '../support/shops.ts';

const MANY = 24;

export async function codesTogether(t: Test, shops: Shops): Promise<void> {
  const address = (): string => `${randomBytes(6).toString('hex')}@example.com`;
  const register = (index: number, email: string, code: string) =>
    shops.at(index).post('/api/auth/register', { email, password: PASSWORD, name: `N${index}`, code });
  const many = <Result>(make: (index: number) => Promise<Result>): Promise<Result[]> =>
    Promise.all(Array.from({ length: MANY }, (_, index) => make(index)));
  const accountsOf = (email: string) => pastShop(shops.at(0).databaseUrl, (em) => em.find(Account, { email }));

  await t.test('a code that one process sends registers on another, and a third knows the account', async (t) => {
    const email = address();
    const code = await shops.at(0).verificationCode(email);
    t.equal((await register(1, email, code)).status, 201);
    const token = await shops.at(2).login({ email, password: PASSWORD });
    t.equal((await shops.at(0).get('/api/roles', { token })).status, 200);
    isInvalid(t, await register(2, email, code), ['/code'], 'the code is used up everywhere');
  });

  await t.test('of many concurrent registrations with one code on all processes, exactly one succeeds', async (t) => {
    const email = address();
    const code = await shops.at(0).verificationCode(email);
    const answers = await many((index) => register(index, email, code));
    t.equal(answers.filter(({ status }) => status === 201).length, 1);
    for (const answer of answers) if (answer.status !== 201) isError(t, answer, 'invalid_usage');
    t.equal((await accountsOf(email)).length, 1);
  });

  await t.test('five wrong tries void a code, wherever they are made', async (t) => {
    const email = address();
    const code = await shops.at(0).verificationCode(email);
    const wrong = code === '000000' ? '000001' : '000000';
    for (const index of [0, 1, 2, 3]) isInvalid(t, await register(index, email, wrong), ['/code']);
    t.equal((await register(1, email, code)).status, 201, 'after four, the code is still good');

    const other = address();
    const second = await shops.at(1).verificationCode(other);
    const wrongToo = second === '000000' ? '000001' : '000000';
    const five = await Promise.all([0, 1, 2, 3, 4].map((index) => register(index, other, wrongToo)));
    for (const answer of five) isError(t, answer, 'invalid_usage');
    isInvalid(t, await register(2, other, second), ['/code'], 'after five at once, it is void');
    t.same(await accountsOf(other), []);
  });

  await t.test('wrong tries and the right one at once: one account at most', async (t) => {
    const email = address();
    const code = await shops.at(0).verificationCode(email);
    const wrong = code === '000000' ? '000001' : '000000';
    const answers = await many((index) => register(index, email, index % 4 === 0 ? code : wrong));
    const registered = answers.filter(({ status }) => status === 201).length;
    t.ok(registered <= 1, `${registered} succeeded`);
    t.equal((await accountsOf(email)).length, registered);
    isError(t, await register(0, email, code), 'too_many_requests', 'and the address is blocked');
  });

  await t.test('of many concurrent wrong codes on all processes, ten are checked', async (t) => {
    const email = address();
    const code = await shops.at(0).verificationCode(email);
    const wrong = code === '000000' ? '000001' : '000000';
    const answers = await many((index) => register(index, email, wrong));
    t.equal(answers.filter(({ status }) => status === 400).length, 10);
    t.equal(answers.filter(({ status }) => status === 429).length, MANY - 10);
    const blocked = await register(1, email, code);
    isError(t, blocked, 'too_many_requests', 'the right one too');
    t.ok(Number(blocked.headers.get('retry-after')) > 60);
  });

  await t.test('sends are counted together: exactly five', async (t) => {
    const email = address();
    const answers = await many((index) => shops.at(index).post('/api/auth/send-verification-email', { email }));
    t.equal(answers.filter(({ status }) => status === 200).length, 5);
    for (const answer of answers) if (answer.status !== 200) isError(t, answer, 'too_many_requests');
  });
}
