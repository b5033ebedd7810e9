import type { MikroORM } from '@mikro-orm/core';
import { Account, Role } from '../../../auth/test/support/entities.ts';
import { Author, Book } from './library.ts';

export const ADMIN = { email: 'ada@example.com', password: 'admin-password' };
export const READER = { email: 'rea@example.com', password: 'reader-password' };

/** What somebody may have written into any field. */
export const HOSTILE = {
  script: '<script>window.hacked = true</script><img src=x onerror="window.hacked = true">',
  rightToLeft: '\u202Eשלום עולם gnihtyreve \u202Dיהיה',
  long: 'x'.repeat(200_000),
};

/** Fills a library that has been started, which hashes the passwords: an administrator, a reader, authors, 45 books, and three whose texts are hostile. */
export async function fillLibrary(orm: MikroORM, authors = 30): Promise<void> {
  const em = orm.em.fork();
  const admin = em.create(Role, { name: 'admin' });
  const user = em.create(Role, { name: 'user' });
  for (const [name, { email, password }, role] of [
    ['Ada', ADMIN, admin],
    ['Rea', READER, user],
  ] as const) {
    em.create(Account, { name, email, password, role, created_at: new Date() });
  }
  const writers = Array.from({ length: authors }, (_none, index) =>
    em.create(Author, { name: `Author ${String(index + 1).padStart(5, '0')}` }),
  );
  for (let index = 1; index <= 45; index++) {
    em.create(Book, {
      title: `Book ${String(index).padStart(2, '0')}`,
      price: index + 0.5,
      pages: index % 7 === 0 ? null : index * 10,
      binding: index % 2 === 0 ? 'cloth' : 'paper',
      author: writers[index % writers.length]!,
      version: 1,
    });
  }
  await em.flush();
  const texts = Object.values(HOSTILE);
  for (const text of texts) {
    em.create(Book, {
      title: text.slice(0, 200),
      summary: text,
      price: 99,
      binding: 'leather',
      author: writers[0]!,
      version: 1,
    });
  }
  await em.flush();
}
