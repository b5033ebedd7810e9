/** What is made of a condition is kept with it, so that a filter which asks the same again must be the same condition. */
import { raw } from '@mikro-orm/core';
import t from 'tap';
import { whereCondition } from '../../src/query/language/where-condition.ts';
import { openSqlite } from '../support/databases.ts';
import { entities } from './random-conditions.ts';

t.test('equal filters through relations are the same condition', async (t) => {
  const orm = await openSqlite(t, { entities });
  const [writer, label] = ['Writer', 'Label'].map((name) => orm.getMetadata().getByClassName(name));
  const made = (where: object, meta = writer!) => whereCondition(meta, where);
  const day = '2026-01-02T00:00:00.000Z';
  const asked: (() => object)[] = [
    () => ({ papers: { name: 'a', level: { $in: [1, 2] } } }),
    () => ({ papers: { name: day } }),
    () => ({ papers: { name: new Date(day) } }),
    () => ({ papers: { level: 1 } }),
    () => ({ papers: { level: 1n } }),
    () => ({ papers: { level: '1' } }),
    () => ({ papers: { level: [1, 2] } }),
    () => ({ papers: { level: [[1], 2] } }),
    () => ({ papers: { level: null } }),
    () => ({ papers: { level: 'null' } }),
    () => ({ $or: [{ papers: { level: 1 } }, { level: true }] }),
  ];
  for (const where of asked) t.equal(made(where()), made(where()), JSON.stringify(where(), bigints));
  t.equal(new Set(asked.map((where) => made(where()))).size, asked.length, 'and another one if it asks another thing');
  t.not(made({ papers: { level: 1 } }, label), made({ papers: { level: 1 } }), 'or another entity');
  const fragment = () => ({ papers: { [raw('lower(name)')]: 'a' } });
  t.not(made(fragment()), made(fragment()), 'a fragment of SQL has no text to compare');
});

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
