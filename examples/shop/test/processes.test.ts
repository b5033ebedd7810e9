/**
 * One shop in several processes: the first start, records, sessions, codes, accounts, administrators, and stores that fail. A start
 * costs more than most tests, so each database has one set of processes for all of them.
 */
import t from 'tap';
import { accountsTogether } from './processes/accounts.ts';
import { codesTogether } from './processes/codes.ts';
import { factorsTogether } from './processes/factors.ts';
import { oneFirstStart } from './processes/first-start.ts';
import { recordsTogether } from './processes/records.ts';
import { sessionsTogether } from './processes/sessions.ts';
import { storesThatFail } from './processes/stores.ts';
import { oneStays, RACES } from './support/administrators.ts';
import { withShops } from './support/shops.ts';

withShops(t, { kind: 'sqlite', processes: 2 }, async (t, shops) => {
  await t.test('first start', (t) => oneFirstStart(t, shops));
  await t.test('records', (t) => recordsTogether(t, shops));
  await t.test('codes', (t) => codesTogether(t, shops));
});

withShops(t, { kind: 'mongodb', processes: 2 }, async (t, shops) => {
  await t.test('first start', (t) => oneFirstStart(t, shops));
  await t.test('records', (t) => recordsTogether(t, shops));
  await t.test('sessions', (t) => sessionsTogether(t, shops));
  await t.test('factors', (t) => factorsTogether(t, shops));
  await t.test('accounts', (t) => accountsTogether(t, shops));
});

withShops(t, { kind: 'postgresql', processes: 3, variables: { SHUTDOWN_DELAY: '1' } }, async (t, shops) => {
  await t.test('first start', (t) => oneFirstStart(t, shops));
  await t.test('records', (t) => recordsTogether(t, shops));
  await t.test('codes', (t) => codesTogether(t, shops));
  await t.test('sessions', (t) => sessionsTogether(t, shops));
  await t.test('factors', (t) => factorsTogether(t, shops));
  await t.test('accounts', (t) => accountsTogether(t, shops));
  await t.test('of two administrators who concurrently remove each other, one stays', async (t) => {
    for (const [round, removal] of RACES.entries()) await oneStays(t, [shops.at(0), shops.at(1)], removal, round);
  });
  await t.test('stores that fail', (t) => storesThatFail(t, shops));
});
