import t from 'tap';
import { compare } from '../../src/query/language/compare.ts';
import { not, or } from '../../src/query/language/condition.ts';
import { fieldPath } from '../../src/fields/field-path.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Country, entities, Maker, pick, Product, Tag } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm) => {
  const em = orm.em.fork();
  const germany = em.create(Country, { code: 'de', name: 'Germany' });
  const acme = em.create(Maker, { name: 'ACME', country: germany });
  const nobody = em.create(Maker, { name: 'Nobody' });
  const [hot, cold, old] = ['hot', 'cold', 'old'].map((label, rank) => em.create(Tag, { label, rank }));
  const cup = em.create(Product, { name: 'cup', maker: acme, origin: germany, tags: [hot!, cold!] });
  em.create(Product, { name: 'lid', maker: nobody, parent: cup, tags: [hot!] });
  em.create(Product, { name: 'box', parent: cup, tags: [old!] });
  em.create(Product, { name: 'bag' });
  await em.flush();

  const products = QuerySet.of(orm.em.fork(), Product).orderBy('name');
  const path = (name: string) => fieldPath(orm.getMetadata().get(Product), name, '.');
  const namesOf = async (queryset: typeof products): Promise<unknown[]> =>
    (await queryset.rows(pick(orm, Product, 'name'))).flat();

  t.test('a path to one is joined once for all its uses', async (t) => {
    const queries = recordQueries(orm);
    const rows = await products
      .filter({ maker__name__icontains: 'a', maker__country__name: 'Germany' })
      .orderBy('maker__name')
      .rows(pick(orm, Product, 'name', 'maker.name', 'maker.country.name', 'origin.name'));
    t.strictSame(rows, [['cup', 'ACME', 'Germany', 'Germany']]);
    t.equal(queries.texts.length, 1);
    t.equal(queries.texts[0]?.match(/ join |\$lookup/g)?.length, 3);
  });

  t.test('the key of a related record is the foreign key, and joins nothing', async (t) => {
    const queries = recordQueries(orm);
    t.strictSame(await namesOf(products.filter({ maker__id: acme.id })), ['cup']);
    t.strictSame(await namesOf(products.filter({ maker: acme.id })), ['cup']);
    t.strictSame(await namesOf(products.filter({ maker: acme })), ['cup'], 'an entity stands for its key');
    t.strictSame(await namesOf(products.filter({ origin: germany })), ['cup']);
    t.strictSame(await namesOf(products.filter({ maker__in: [acme.id, nobody.id] })), ['cup', 'lid']);
    t.strictSame(await namesOf(products.filter({ maker: null })), ['bag', 'box']);
    t.strictSame(await namesOf(products.filter({ maker__isnull: false })), ['cup', 'lid']);
    t.notOk(
      queries.texts.some((text) => / join |\$lookup/.test(text)),
      queries.texts.join('\n'),
    );
  });

  t.test('missing related records read as NULL', async (t) => {
    const rows = await products.rows(pick(orm, Product, 'name', 'maker', 'maker.name', 'maker.country.name'));
    t.strictSame(rows, [
      ['bag', null, null, null],
      ['box', null, null, null],
      ['cup', acme.id, 'ACME', 'Germany'],
      ['lid', nobody.id, 'Nobody', null],
    ]);
    t.strictSame(await namesOf(products.filter({ maker__country__name__isnull: true })), ['bag', 'box', 'lid']);
    t.strictSame(
      await namesOf(products.filter({ maker__name__ne: 'ACME' })),
      ['bag', 'box', 'lid'],
      'ne is the opposite of exact',
    );
    t.strictSame(
      await namesOf(products.exclude({ maker__country__name: 'Germany' })),
      ['bag', 'box', 'lid'],
      'and so is exclude',
    );
    t.strictSame(await namesOf(products.exclude({ maker__name__gt: 'B' })), ['bag', 'box', 'cup']);
  });

  t.test('a path to many matches if one related record does, and does not repeat records', async (t) => {
    t.strictSame(await namesOf(products.filter({ tags__label__in: ['hot', 'cold'] })), ['cup', 'lid']);
    t.strictSame(await namesOf(products.filter({ tags__rank__gte: 0 })), ['box', 'cup', 'lid']);
    t.strictSame(await namesOf(products.filter({ tags__rank__range: [1, 1] })), ['cup']);
    t.strictSame(
      await namesOf(products.filter({ tags__label: 'hot' }).filter({ tags__label: 'cold' })),
      ['cup'],
      'each condition for itself',
    );
    t.strictSame(await namesOf(products.filter({ children__name: 'lid' })), ['cup']);
    t.strictSame(await namesOf(products.filter({ children__tags__label: 'old' })), ['cup'], 'through another to many');
    t.strictSame(await namesOf(products.filter({ maker__products__name: 'cup' })), ['cup'], 'from a joined relation');
    t.strictSame(await namesOf(products.filter({ parent__tags__label: 'cold' })), ['box', 'lid']);
    t.equal(await products.filter({ tags__rank__gte: 0 }).count(), 3);
  });

  t.test('the negation of a path to many matches if no related record does', async (t) => {
    t.strictSame(await namesOf(products.filter({ tags__label__ne: 'hot' })), ['bag', 'box']);
    t.strictSame(await namesOf(products.exclude({ tags__label: 'hot' })), ['bag', 'box']);
    t.strictSame(await namesOf(products.filter({ tags__isnull: true })), ['bag']);
    t.strictSame(await namesOf(products.filter({ tags__isnull: false })), ['box', 'cup', 'lid']);
    t.strictSame(await namesOf(products.filter({ tags: hot!.id })), ['cup', 'lid']);
    t.strictSame(
      await namesOf(
        products.where(or(compare(path('tags.rank'), 'range', [1, 2]), compare(path('tags'), 'isnull', true))),
      ),
      ['bag', 'box', 'cup'],
    );
    t.strictSame(await namesOf(products.where(not(not(compare(path('tags.label'), 'exact', 'old'))))), ['box']);
  });

  t.test('from the other side of many to many', async (t) => {
    const tags = QuerySet.of(orm.em.fork(), Tag).filter({ products__maker__name: 'ACME' }).orderBy('label');
    t.strictSame((await tags.rows(pick(orm, Tag, 'label'))).flat(), ['cold', 'hot']);
  });

  t.test('a relation to many can be neither read nor ordered by', async (t) => {
    await t.rejects(products.rows(pick(orm, Product, 'tags.label')), {
      name: 'ImproperlyConfigured',
      message: /"tags.label" cannot be read: it has several values/,
    });
    // @ts-expect-error it has several values for each record
    t.throws(() => products.orderBy('tags__label'), {
      name: 'ImproperlyConfigured',
      message: /several values for each record/,
    });
    t.throws(() => products.orderBy('data'), { message: /of type json/ });
  });
});
