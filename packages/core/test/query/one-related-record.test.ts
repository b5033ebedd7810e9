/** The lookups of one filter() through a relation to many ask for one related record that meets them all. */
import t from 'tap';
import { some } from '../../src/query/language/condition.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { numbers } from '../support/numbers.ts';
import { fillTags, Author as ShelfAuthor, Book, SHELVES, Tag as ShelfTag } from '../support/shelves.ts';
import { entities, Maker, pick, Product, type ProductEntity, Tag } from './catalog.ts';
import { recordQueries } from './record-queries.ts';

type Lookups = Parameters<QuerySet<ProductEntity>['filter']>[0];

forEachDatabase(t, { entities }, async (t, orm) => {
  const em = orm.em.fork();
  const random = numbers(0x0e);
  const pickOf = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)]!;
  const makers = ['ACME', 'Nobody'].map((name) => em.create(Maker, { name }));
  const tags = Array.from({ length: 6 }, (_, index) => em.create(Tag, { label: 'abc'[index % 3]!, rank: index % 4 }));
  const all: ProductEntity[] = [];
  for (let index = 0; index < 40; index++) {
    all.push(
      em.create(Product, {
        name: pickOf(['cup', 'lid', 'box']),
        note: pickOf([null, 'new', 'old']),
        stock: Math.floor(random() * 3),
        maker: pickOf([null, ...makers]),
        parent: pickOf([null, null, ...all]),
        tags: tags.filter(() => random() < 0.25),
      }),
    );
  }
  await em.flush();
  all.sort((one, other) => one.id - other.id);
  const products = QuerySet.of(orm.em.fork(), Product);
  const idsOf = async (queryset: typeof products): Promise<unknown[]> =>
    (await queryset.rows(pick(orm, Product, 'id'))).flat();

  await t.test('the lookups of one call share one sub-query, and every call has another one', async (t) => {
    const queries = recordQueries(orm);
    const both = await idsOf(products.filter({ tags__label: 'a', tags__rank: 0 }));
    const questions = (text: string | undefined) => text?.match(/ exists |\$lookup/g)?.length;
    t.equal(questions(queries.texts[0]), 1);
    const each = await idsOf(products.filter({ tags__label: 'a' }).filter({ tags__rank: 0 }));
    t.equal(questions(queries.texts[1]), 2);
    const model = (rank: number) => (tag: { label: string; rank: number }) => tag.label === 'a' && tag.rank === rank;
    t.strictSame(
      both,
      all.filter((one) => one.tags.getItems().some(model(0))).map(({ id }) => id),
    );
    t.ok(each.length > both.length, 'another tag may have the rank');
    t.strictSame(
      await idsOf(products.exclude({ tags__label: 'a', tags__rank: 0 })),
      all.map(({ id }) => id).filter((id) => !both.includes(id)),
    );
  });

  await t.test('a lookup with a value that does not fit the column matches no record', async (t) => {
    t.strictSame(await idsOf(products.filter({ tags__rank: 3_000_000_000, tags__label: 'a' })), []);
    t.equal(some([], { kind: 'constant', value: false }).kind, 'constant');
  });

  await t.test('random combinations of lookups find the same records as a model in JavaScript', async (t) => {
    const lookups: Lookups[] = [
      { name: 'cup' },
      { maker__name: 'ACME' },
      { tags__label: 'a' },
      { tags__label__ne: 'b' },
      { tags__label__in: ['a', 'c'] },
      { tags__rank__gte: 2 },
      { tags__rank__lt: 2 },
      { tags__isnull: true },
      { tags__isnull: false },
      { children__name: 'cup' },
      { children__name__ne: 'lid' },
      { children__note__isnull: true },
      { children__note__isnull: false },
      { children__stock__gt: 0 },
      { children__maker__name: 'ACME' },
      { children__tags__label: 'a' },
      { children__tags__label__ne: 'b' },
      { children__tags__rank__gte: 1 },
      { parent__name: 'box' },
      { parent__tags__label: 'a' },
      { parent__tags__rank__lt: 3 },
      { maker__products__name: 'lid' },
      { maker__products__stock: 2 },
    ];
    let found = 0;
    for (let time = 0; time < 300; time++) {
      const chosen = Object.assign({}, ...Array.from({ length: 1 + Math.floor(random() * 4) }, () => pickOf(lookups)));
      const more: Lookups = pickOf(lookups);
      const about = JSON.stringify([chosen, more]);
      const expected = all.filter((one) => isTrue(one, chosen)).map(({ id }) => id);
      t.strictSame(await idsOf(products.filter(chosen)), expected, about);
      t.strictSame(
        await idsOf(products.exclude(chosen)),
        all.filter((one) => !isTrue(one, chosen)).map(({ id }) => id),
        `not ${about}`,
      );
      t.strictSame(
        await idsOf(products.filter(chosen).filter(more)),
        all.filter((one) => isTrue(one, chosen) && isTrue(one, more)).map(({ id }) => id),
        `then ${about}`,
      );
      found += expected.length > 0 ? 1 : 0;
    }
    t.ok(found > 100, 'most questions have an answer');
  });
});

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  await fillTags(orm);
  const em = orm.em.fork();
  await em.insertMany(ShelfAuthor, [
    { id: 1, name: 'Ada' },
    { id: 2, name: 'Bob' },
  ]);
  em.create(Book, { id: 1, title: 'Seen', author: 1, tags: [101, 104] });
  em.create(Book, { id: 2, title: 'Hidden', hidden: true, author: 2, tags: [101] });
  await em.flush();
  const authors = QuerySet.of(orm.em.fork(), ShelfAuthor);

  await t.test('a related record that a filter of MikroORM hides is not found, at no level', async (t) => {
    t.equal(await authors.filter({ books__title: 'Seen', books__tags__name: 'red' }).count(), 1);
    t.equal(await authors.filter({ books__title: 'Hidden', books__tags__name: 'red' }).count(), 0);
    t.equal(await authors.filter({ books__title: 'Seen', books__tags__name: 'black' }).count(), 0);
    t.equal(await authors.filter({ books__tags__owner: 'Ada', books__tags__name: 'black' }).count(), 0);
    t.equal(await authors.filter({ books__tags__owner: 'Ada', books__tags__name: 'red' }).count(), 1);
    const open = authors.withFilters(false);
    t.equal(await open.filter({ books__title: 'Hidden', books__tags__name: 'red' }).count(), 1);
    const tags = QuerySet.of(orm.em.fork(), ShelfTag);
    t.equal(await tags.filter({ books__title: 'Hidden', books__author__name: 'Bob' }).count(), 0);
  });
});

interface Asked {
  readonly names: readonly string[];
  readonly lookup: string;
  readonly value: unknown;
}

/** The meaning of filter() by itself: every lookup is true of the record. */
function isTrue(record: object, lookups: object): boolean {
  const asked = Object.entries(lookups).map(([name, value]): Asked => {
    const [, path, lookup = 'exact'] = /^(.*?)(?:__(ne|in|gte|lt|gt|isnull))?$/.exec(name)!;
    return { names: path!.split('__'), lookup, value };
  });
  return isTrueOf(record, asked);
}

function isTrueOf(record: object, asked: readonly Asked[]): boolean {
  const groups = Map.groupBy(asked, ({ names }) => names.slice(0, lengthToMany(names)).join('.'));
  return [...groups].every(([key, group]) => {
    if (key === '') return group.every((one) => isTrueOfValue(valueOf(record, one.names), one));
    const related = relatedOf(record, key.split('.'));
    const rest = group.map((one) => ({ ...one, names: restOf(one.names, key.split('.').length) }));
    if (group.length > 1 && !group.every(isNegative)) return related.some((one) => isTrueOf(one, rest));
    return rest.every((one) =>
      isNegative(one)
        ? !related.some((each) => isTrueOf(each, [opposite(one)]))
        : related.some((each) => isTrueOf(each, [one])),
    );
  });
}

const TO_MANY = new Set(['tags', 'children', 'products']);

function lengthToMany(names: readonly string[]): number {
  return names.findIndex((name) => TO_MANY.has(name)) + 1;
}

function restOf(names: readonly string[], length: number): readonly string[] {
  return names.length === length ? ['id'] : names.slice(length);
}

function isNegative({ lookup, value }: Asked): boolean {
  return lookup === 'ne' || (lookup === 'isnull' && value === true);
}

function opposite(asked: Asked): Asked {
  return asked.lookup === 'ne' ? { ...asked, lookup: 'exact' } : { ...asked, value: false };
}

function valueOf(record: object, names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name] ?? null, record);
}

function relatedOf(record: object, names: readonly string[]): object[] {
  const owner = valueOf(record, names.slice(0, -1)) as Record<string, { getItems(): object[] }> | null;
  return owner?.[names.at(-1)!]!.getItems() ?? [];
}

function isTrueOfValue(found: unknown, { lookup, value }: Asked): boolean {
  if (lookup === 'isnull') return (found === null) === value;
  if (lookup === 'ne') return found !== value;
  if (found === null) return false;
  if (lookup === 'in') return (value as unknown[]).includes(found);
  if (lookup === 'gte') return (found as number) >= (value as number);
  if (lookup === 'gt') return (found as number) > (value as number);
  return lookup === 'lt' ? (found as number) < (value as number) : found === value;
}
