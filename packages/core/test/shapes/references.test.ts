import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import t from 'tap';
import type { InvalidUsage } from '../../src/errors/errors.ts';
import { type FindReferred, findVisible, type RecordData } from '../../src/shapes/write/references.ts';
import { writeShape } from '../../src/shapes/write/write-shape.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Country, Maker, SPECIMENS, Specimen } from './specimens.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary(),
    makerId: () => p.manyToOne(Maker).mapToPk().nullable(),
    big: () => p.manyToOne(Box).nullable(),
  },
});
const Box = defineEntity({
  name: 'Box',
  properties: { id: p.bigint().primary(), label: p.string().length(20), open: p.boolean() },
  uniques: [{ properties: 'label' }],
  filters: { onlyOpen: { name: 'onlyOpen', cond: { open: true }, default: true } },
});

forEachDatabase(t, { entities: [...SPECIMENS, Shelf, Box] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Maker, { name: "O'Brien ü", id: 7 });
  em.create(Country, { code: 'DE', name: 'Germany' });
  em.create(Box, { id: 9007199254740993n, label: 'open', open: true });
  em.create(Box, { id: 2n, label: 'closed', open: false });
  await em.flush();
  const resolved = async <Data extends object>(
    shape: {
      resolveReferences(em: EntityManager, records: readonly RecordData[], find: FindReferred): Promise<Data[]>;
    },
    em: EntityManager,
    data: object,
  ): Promise<Data> => {
    const find: FindReferred = (reference, condition) => findVisible(em, reference, condition);
    return (await shape.resolveReferences(em, [{ data, path: '' }], find))[0]!;
  };
  const shapeOf = <Shape extends { entity: unknown; bind(meta: never): unknown }>(shape: Shape) =>
    shape.bind(orm.getMetadata().get(shape.entity as never) as never) as ReturnType<Shape['bind']>;

  t.test('a reference by a unique field becomes the related entity', async (t) => {
    const shape = shapeOf(writeShape(Specimen, ['name'], { maker: 'maker.name', country: 'country.name' }));
    const fork = orm.em.fork();
    const data = await resolved(shape, fork, shape.validate({ name: 'a', maker: "O'Brien ü", country: 'Germany' }));
    t.match(data, { maker: { id: 7 } });
    t.equal(fork.create(Specimen, data as never).maker?.name, "O'Brien ü");
    await fork.flush();
    t.equal(
      (await orm.em.fork().findOneOrFail(Specimen, { name: 'a' }, { populate: ['country'] })).country?.unwrap().code,
      'DE',
    );
  });

  t.test('a reference by the primary key does too', async (t) => {
    const shape = shapeOf(writeShape(Specimen, ['name', 'maker', 'country']));
    const data = await resolved(shape, orm.em.fork(), shape.validate({ name: 'b', maker: 7, country: 'DE' }));
    t.match(data, { maker: { name: "O'Brien ü" }, country: { name: 'Germany' } });
    const big = shapeOf(writeShape(Shelf, ['big']));
    t.match(await resolved(big, orm.em.fork(), big.validate({ big: '9007199254740993' })), {
      big: { label: 'open' },
    });
  });

  t.test('null and absent references are not changed', async (t) => {
    const shape = shapeOf(writeShape(Specimen, ['name'], { maker: 'maker.name', country: 'country.name' }));
    t.strictSame(await resolved(shape, orm.em.fork(), shape.validate({ maker: null }, 'change')), {
      maker: null,
    });
    t.strictSame(await resolved(shape, orm.em.fork(), shape.validate({}, 'change')), {});
  });

  t.test('a property that holds a key gets the key', async (t) => {
    const shape = shapeOf(writeShape(Shelf, ['makerId']));
    t.strictSame(await resolved(shape, orm.em.fork(), shape.validate({ makerId: 7 })), { makerId: 7 });
    const byName = shapeOf(writeShape(Shelf, [], { makerId: 'makerId.name' as never }));
    t.strictSame(await resolved(byName, orm.em.fork(), byName.validate({ makerId: "O'Brien ü" })), {
      makerId: 7,
    });
  });

  t.test('every reference to a record that is not there is named', async (t) => {
    const shape = shapeOf(writeShape(Specimen, ['name', 'country'], { maker: 'maker.name' }));
    for (const maker of ["o'brien ü", "' or 1=1 --", '%', '']) {
      const data = shape.validate({ name: 'a', maker, country: 'XX' });
      await t.rejects(resolved(shape, orm.em.fork(), data), {
        statusCode: 400,
        message:
          'Invalid body: country must be the code of an existing Country; maker must be the name of an existing Maker',
        details: [
          { in: 'body', path: '/country', message: 'must be the code of an existing Country' },
          { in: 'body', path: '/maker', message: 'must be the name of an existing Maker' },
        ],
      } satisfies Partial<InvalidUsage>);
    }
  });

  t.test('a record that a filter of its entity hides cannot be referred to', async (t) => {
    const shape = shapeOf(writeShape(Shelf, [], { big: 'big.label' }));
    t.match(await resolved(shape, orm.em.fork(), shape.validate({ big: 'open' })), {
      big: { id: 9007199254740993n },
    });
    await t.rejects(resolved(shape, orm.em.fork(), shape.validate({ big: 'closed' })), {
      name: 'InvalidUsage',
    });
  });
});
