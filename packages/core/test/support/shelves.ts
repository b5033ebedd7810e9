import { defineEntity, p, type MikroORM } from '@mikro-orm/core';

/** Authors with books, which have chapters and tags: children at two levels, and a many-to-many relation from both sides. */
export const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
    books: () => p.oneToMany(Book).mappedBy('author'),
  },
});

export const Book = defineEntity({
  name: 'Book',
  filters: { shown: { name: 'shown', cond: { hidden: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    title: p.string().length(30),
    isbn: p.string().length(20).unique().nullable(),
    hidden: p.boolean().default(false),
    author: () => p.manyToOne(Author).nullable(),
    tags: () => p.manyToMany(Tag),
    chapters: () => p.oneToMany(Chapter).mappedBy('book'),
  },
});

export const Chapter = defineEntity({
  name: 'Chapter',
  properties: {
    id: p.integer().primary(),
    heading: p.string().length(30),
    book: () => p.manyToOne(Book).deleteRule('cascade'),
    tags: () => p.manyToMany(Tag),
  },
});

export const Tag = defineEntity({
  name: 'Tag',
  filters: { open: { name: 'open', cond: { secret: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    secret: p.boolean().default(false),
    owner: p.string().length(20).nullable(),
    books: () => p.manyToMany(Book).mappedBy('tags'),
  },
});

export const SHELVES = [Author, Book, Chapter, Tag];

/** Empties the tables; leaves the tags `red`, `blue`, `green` (101 to 103) and the secret `black` (104). */
export async function fillTags(orm: MikroORM): Promise<void> {
  await orm.schema.clear();
  const em = orm.em.fork();
  await em.insertMany(Tag, [
    { id: 101, name: 'red', owner: 'Ada' },
    { id: 102, name: 'blue', owner: 'Ada' },
    { id: 103, name: 'green', owner: 'Bob' },
    { id: 104, name: 'black', secret: true, owner: 'Ada' },
  ]);
}
