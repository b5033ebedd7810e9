/** Second factors in several processes at once: each code works once, wherever it comes. */
import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import type { Answer } from '../support/http-client.ts';
import { PASSWORD, type Shop } from '../support/shop.ts';
import type { Shops } from '../support/shops.ts';
import { codeOf, enrol } from '../support/two-factor.ts';

const MANY = 8;

export async function factorsTogether(t: Test, shops: Shops): Promise<void> {
  const [first, second] = shops.all as readonly Shop[] as readonly [Shop, Shop];
  const begin = async (): Promise<{ email: string; token: string; secret: string; codes: string[] }> => {
    const email = `${randomBytes(6).toString('hex')}@example.com`;
    const token = await first.newUser(email);
    return { email, token, ...(await enrol(second, token)) };
  };
  const attempt = async (shop: Shop, email: string): Promise<string> => {
    const answer = await shop.post<{ two_factor_token: string }>('/api/auth/login', { email, password: PASSWORD });
    return answer.body.two_factor_token;
  };
  /** Sends one code for logins that were begun in both processes. */
  const useAtOnce = async (email: string, code: string): Promise<Answer[]> => {
    const tokens = await Promise.all(Array.from({ length: MANY }, (_, index) => attempt(shops.at(index), email)));
    return Promise.all(
      tokens.map((two_factor_token, index) =>
        shops.at(index + 1).post('/api/auth/login/two-factor', { two_factor_token, code }),
      ),
    );
  };
  const statuses = (answers: readonly Pick<Answer, 'status'>[]): number[] =>
    answers.map(({ status }) => status).toSorted((a, b) => a - b);
  const once = (success: number, failure: number, of = MANY): number[] => [
    success,
    ...Array.from({ length: of - 1 }, () => failure),
  ];

  await t.test('of many concurrent logins with one code, exactly one succeeds', async (t) => {
    const { email, secret } = await begin();
    t.strictSame(statuses(await useAtOnce(email, codeOf(secret, 1))), once(200, 401));
  });

  await t.test('of many concurrent logins with one recovery code, exactly one succeeds', async (t) => {
    const { email, codes } = await begin();
    t.strictSame(statuses(await useAtOnce(email, codes[0]!)), once(200, 401));
    const two_factor_token = await attempt(second, email);
    const next = await second.post('/api/auth/login/two-factor', { two_factor_token, code: codes[1] });
    t.equal(next.status, 200, 'the other ones are as good as before');
  });

  await t.test('of many concurrent confirmations, exactly one gets recovery codes, which are valid', async (t) => {
    const email = `${randomBytes(6).toString('hex')}@example.com`;
    const token = await first.newUser(email);
    const { body } = await first.post<{ secret: string }>('/api/auth/two-factor', {}, { token });
    const code = codeOf(body.secret);
    const answers = await Promise.all(
      Array.from({ length: MANY }, (_, index) =>
        shops.at(index).post<{ recovery_codes?: string[] }>('/api/auth/two-factor/confirm', { code }, { token }),
      ),
    );
    const [confirmed, ...others] = answers.toSorted((a, b) => a.status - b.status);
    t.equal(confirmed!.status, 200);
    t.ok(
      others.every(({ status }) => status === 400 || status === 409),
      String(statuses(answers)),
    );
    const two_factor_token = await attempt(second, email);
    const used = confirmed!.body.recovery_codes![0];
    t.equal((await second.post('/api/auth/login/two-factor', { two_factor_token, code: used })).status, 200);
  });

  await t.test('wrong codes are counted across processes: the fifth ends the attempt', async (t) => {
    const { email, codes } = await begin();
    const two_factor_token = await attempt(first, email);
    for (let index = 0; index < 5; index++) {
      const answer = await shops.at(index).post('/api/auth/login/two-factor', { two_factor_token, code: '000000' });
      t.equal(answer.status, 401);
    }
    const late = await second.post('/api/auth/login/two-factor', { two_factor_token, code: codes[0] });
    t.equal(late.status, 401);
  });
}
