/** The option `where` of a relation says which records it leads to: no question finds any other. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';

const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    books: () => p.oneToMany(Book).mappedBy('author'),
    shown: () => p.oneToMany(Book).mappedBy('author').where({ hidden: false }),
    fine: () =>
      p
        .oneToMany(Book)
        .mappedBy('author')
        .where({ $not: { title: { $like: 'x%' } } }),
  },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    hidden: p.boolean().default(false),
    author: () => p.manyToOne(Author),
    tags: () => p.manyToMany(Tag).where({ secret: false }),
  },
});
const Tag = defineEntity({
  name: 'Tag',
  filters: { old: { name: 'old', cond: { label: { $ne: 'old' } }, default: true } },
  properties: { id: p.integer().primary(), label: p.string(), secret: p.boolean().default(false) },
});

const entities = [Author, Book, Tag];

for (const filtersOnRelations of [true, false]) {
  forEachDatabase(t, { entities, orm: { filtersOnRelations } }, async (t, orm) => {
    const em = orm.em.fork();
    const [red, black, old] = ['red', 'black', 'old'].map((label) =>
      em.create(Tag, { label, secret: label === 'black' }),
    );
    const ada = em.create(Author, { id: 1, name: 'Ada' });
    const bob = em.create(Author, { id: 2, name: 'Bob' });
    em.create(Book, { id: 1, title: 'ash', author: ada, tags: [red!, black!] });
    em.create(Book, { id: 2, title: 'xylem', author: ada, hidden: true, tags: [red!] });
    em.create(Book, { id: 3, title: 'box', author: bob, hidden: true, tags: [black!, old!] });
    await em.flush();
    const authors = QuerySet.of(orm.em.fork(), Author);
    const books = QuerySet.of(orm.em.fork(), Book);
    const of = async (found: typeof authors): Promise<string> =>
      (await found.entities()).map(({ name }) => name).join();

    await t.test(`a condition of columns (filters ${filtersOnRelations ? 'on' : 'off'} for relations)`, async (t) => {
      t.equal(await of(authors.filter({ books__title: 'xylem' })), 'Ada', 'a relation without one');
      t.equal(await of(authors.filter({ shown__title: 'xylem' })), '');
      t.equal(await of(authors.filter({ shown__title: 'ash' })), 'Ada');
      t.equal(await of(authors.filter({ shown: 3 })), '');
      t.equal(await of(authors.filter({ shown__isnull: true })), 'Bob');
      t.equal(await of(authors.filter({ shown__title__ne: 'box' })), 'Ada,Bob');
      t.equal(await of(authors.exclude({ shown__title: 'ash' })), 'Bob');
      t.equal(await of(authors.filter({ shown__title: 'xylem', shown__tags__label: 'red' })), '');
      t.equal(await authors.filter({ shown__title__contains: '' }).count(), 1);
    });

    await t.test('a condition in MikroORM syntax', async (t) => {
      t.equal(await of(authors.filter({ fine__hidden: true })), 'Bob');
      t.equal(await of(authors.filter({ fine__title: 'ash' })), 'Ada');
    });

    await t.test('many to many, also below another relation, together with filters', async (t) => {
      const isTagged = async (label: string): Promise<number> => books.filter({ tags__label: label }).count();
      t.equal(await isTagged('red'), 2);
      t.equal(await isTagged('black'), 0);
      t.equal(await isTagged('old'), filtersOnRelations ? 0 : 1);
      t.equal(await books.withFilters(false).filter({ tags__label: 'old' }).count(), 1);
      t.equal(await books.withFilters(false).filter({ tags__label: 'black' }).count(), 0, 'it is no filter');
      t.equal(await of(authors.filter({ shown__tags__label: 'black' })), '');
      t.equal(await of(authors.filter({ shown__tags__label: 'red' })), 'Ada');
    });
  });
}
