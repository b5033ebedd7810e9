/** Conditions as MongoDB takes them. */
import t from 'tap';
import { filterOf } from '../src/backend/condition.ts';
import { parsePreciseDate } from '../../core/src/fields/calendar.ts';
import { fieldPath } from '../../core/src/fields/field-path.ts';
import { compare } from '../../core/src/query/language/compare.ts';
import { after, and, matching, not } from '../../core/src/query/language/condition.ts';
import { Order, orderKey } from '../../core/src/query/language/order.ts';
import { entities, Product } from '../../core/test/query/catalog.ts';
import { openMongo, skipMongo } from '../../core/test/support/databases.ts';

t.test('filters', { skip: skipMongo() }, async (t) => {
  const orm = await openMongo(t, { entities });
  const meta = orm.getMetadata().get(Product);
  const filter = (condition: Parameters<typeof filterOf>[2]) => filterOf(orm.em, meta, condition);
  const path = (name: string) => fieldPath(meta, name, '.');

  t.test('a value is always the operand of an operator', async (t) => {
    t.strictSame(filter(compare(path('name'), 'exact', '$where')), { name: { $eq: '$where' } });
    t.strictSame(filter(compare(path('stock'), 'in', [1, 2])), { stock: { $in: [1, 2] } });
    for (const smuggled of [{ $gt: '' }, ['a'], { a: 1 }]) {
      t.throws(() => compare(path('name'), 'exact', smuggled), { message: /must be a string/ }, 'an object is no text');
    }
  });

  t.test('fields have the names of their columns', async (t) => {
    t.strictSame(filter(compare(path('note'), 'isnull', true)), { remark: { $eq: null } });
    t.strictSame(filter(compare(path('id'), 'gte', 3)), { _id: { $gte: 3 } });
    t.strictSame(filter(compare(path('maker'), 'exact', 3)), { maker: { $eq: 3 } });
  });

  t.test('not is the opposite, of NULL too', async (t) => {
    t.strictSame(filter(not(compare(path('shelf'), 'gt', 1))), { $nor: [{ shelf: { $gt: 1 } }] });
  });

  t.test('a date more precise than its column is compared with the milliseconds around it', async (t) => {
    const asked = parsePreciseDate('2026-01-01T00:00:00.0015Z') as Date;
    const before = new Date('2026-01-01T00:00:00.001Z');
    const between = (lookup: 'exact' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte') =>
      filter(compare(path('added'), lookup, asked));
    t.strictSame(
      [between('gt'), between('gte')],
      Array.from({ length: 2 }, () => ({ added: { $gt: before } })),
    );
    t.strictSame(
      [between('lt'), between('lte')],
      Array.from({ length: 2 }, () => ({ added: { $lte: before } })),
    );
    t.strictSame([between('exact'), between('ne')], [{ $nor: [{}] }, {}]);
  });

  t.test('a keyset goes on behind a record, NULLs last', async (t) => {
    const order = new Order(meta, [orderKey(meta, 'shelf')]);
    t.strictSame(filter(after(order.total, [5, 7])), {
      $or: [
        { $or: [{ shelf: { $gt: 5 } }, { shelf: { $eq: null } }] },
        { $and: [{ shelf: { $eq: 5 } }, { _id: { $gt: 7 } }] },
      ],
    });
    t.strictSame(filter(after(order.total, [null, 7])), { $and: [{ shelf: { $eq: null } }, { _id: { $gt: 7 } }] });
  });

  t.test('a condition in MikroORM syntax is combined with the others', async (t) => {
    const asked = and(compare(path('stock'), 'gt', 0), matching(meta, { note: { $ne: 'x' } }));
    const unlike = (name: string) => ({ $and: [{ [name]: { $ne: null } }, { [name]: { $ne: 'x' } }] });
    t.strictSame(filter(asked), { $and: [{ stock: { $gt: 0 } }, unlike('remark')] }, 'NULL is not unlike anything');
    const like = (pattern: string) => filter(matching(meta, { name: { $like: pattern } }));
    t.strictSame(like('a.%_'), { name: { $regex: '^a\\..*.\\z', $options: 's' } });
    t.strictSame(like('\\%'), { name: { $regex: '^\\%\\z', $options: 's' } });
    t.strictSame(filter(matching(meta, { $not: { name: 'x' } })), unlike('name'));
    t.strictSame(filter(matching(meta, { $not: { note: { $like: 'x' } } })), {
      $nor: [{ remark: { $regex: '^x\\z', $options: 's' } }],
      remark: { $ne: null },
    });
    t.strictSame(filter(matching(meta, { data: { a: { $nin: [] } } })), {});
    t.strictSame(filter(matching(meta, { data: { a: { $nin: [1, null] } } })), { 'data.a': { $in: [] } });
    t.throws(() => filter(matching(meta, { name: { $ilike: 'x' } })), { message: /\$ilike: MongoDB has no/ });
  });

  t.test('a condition on related records is not a condition of columns', async (t) => {
    t.throws(() => filter(compare(path('maker.name'), 'exact', 'x')), { message: /columns of the document/ });
  });
});
