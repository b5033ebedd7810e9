/** The names of statements: kinds and tables, and never a value. */
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { LIBRARY } from '../../core/test/support/library.ts';
import { StatementNames } from '../src/statement-names.ts';

const CASES = [
  ['select "b0"."id" from "book" as "b0" where "b0"."title" = ?', 'SELECT', 'book'],
  ['select `b0`.`id` from `book` as `b0`', 'SELECT', 'book'],
  ['select * from "public"."publisher"', 'SELECT', 'publisher'],
  ['insert into "book" ("title") values (\'from "secret"\')', 'INSERT', 'book'],
  ['update "book" set "title" = \'x\'', 'UPDATE', 'book'],
  ['delete from book where id = 1', 'DELETE', 'book'],
  ['with "n" as (select 1) select * from "n" join "book"', 'WITH', undefined],
  ['select \'from secret\' from "book"', 'SELECT', 'book'],
  ['select 1', 'SELECT', undefined],
  ['begin', 'BEGIN', undefined],
  ['BEGIN IMMEDIATE', 'BEGIN', undefined],
  ['release savepoint `trx1`', 'RELEASE', undefined],
  ['pragma foreign_keys = on', 'OTHER', undefined],
  ["db.getCollection('book').find({ title: 'secret' }, {}).toArray();", 'find', 'book'],
  ['book.aggregate([{"$match":{"title":"secret"}}])', 'aggregate', 'book'],
  ["db.getCollection('secret').insertMany([])", 'insertMany', undefined],
  ['db.commit();', 'commit', undefined],
  ["db.getCollection('book').secret()", 'OTHER', undefined],
  ['', 'OTHER', undefined],
] as const;

t.test('a statement has its kind and its table', async (t) => {
  const names = new StatementNames(await openSqlite(t, { entities: LIBRARY }));
  for (const [text, operation, collection] of CASES) t.strictSame(names.of(text), { operation, collection }, text);
});

t.test('the time is linear in the length of a text', async (t) => {
  const names = new StatementNames(await openSqlite(t, { entities: LIBRARY }));
  const words = `select ${'from '.repeat(100_000)}${'from a.'.repeat(100_000)}`;
  t.strictSame(names.of(words), { operation: 'SELECT', collection: undefined });
});
