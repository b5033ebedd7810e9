import 'reflect-metadata';
import { Collection, DecimalType } from '@mikro-orm/core';
import * as es from '@mikro-orm/decorators/es';
import * as legacy from '@mikro-orm/decorators/legacy';
import t from 'tap';
import { many, ModelViewSet, nested, readShape, refs, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

/** Does what `experimentalDecorators` compiles to, which Node does not take. */
function decorate(Class: { readonly prototype: object }, properties: Record<string, (...args: never[]) => unknown>) {
  for (const [name, decorator] of Object.entries(properties)) decorator(Class.prototype as never, name as never);
  legacy.Entity()(Class as never);
}

/** What `emitDecoratorMetadata` adds for a property. */
function told(type: unknown, decorator: (target: object, name: never) => unknown) {
  return (target: object, name: string) => {
    Reflect.defineMetadata('design:type', type, target, name);
    return decorator(target, name as never);
  };
}

abstract class Row {
  id!: number;
}
legacy.PrimaryKey({ type: 'integer' })(Row.prototype, 'id');

/** An enum, as the compiler makes it. */
const Genre = { Novel: 'novel', Poem: 'poem' } as const;
type Genre = (typeof Genre)[keyof typeof Genre];

class Author extends Row {
  name!: string;
  books = new Collection<Book>(this);
}
class Tag extends Row {
  label!: string;
}
class Book extends Row {
  title!: string;
  subtitle?: string | null;
  price!: string;
  genre: Genre = Genre.Novel;
  sold!: boolean;
  printed?: Date | null;
  author!: Author;
  tags = new Collection<Tag>(this);
}
decorate(Author, {
  name: legacy.Property({ type: 'string', length: 20, unique: true }),
  books: legacy.OneToMany({ entity: () => Book, mappedBy: (book: Book) => book.author, orphanRemoval: true }),
});
decorate(Tag, { label: told(String, legacy.Property({ length: 10, unique: true })) });
decorate(Book, {
  title: legacy.Property({ type: 'string', length: 20 }),
  subtitle: told(String, legacy.Property({ nullable: true })),
  price: legacy.Property({ type: new DecimalType('string'), precision: 8, scale: 2 }),
  genre: legacy.Enum({ items: () => Genre, default: Genre.Novel }),
  sold: told(Boolean, legacy.Property({ default: false })),
  printed: told(Date, legacy.Property({ nullable: true, length: 3 })),
  author: legacy.ManyToOne({ entity: () => Author }),
  tags: legacy.ManyToMany({ entity: () => Tag }),
});

const book = readShape(Book, ['id', 'title', 'subtitle', 'price', 'genre', 'sold', 'printed'], {
  author: readShape(Author, ['name']),
  tags: many('tags.label', { orderBy: 'label' }),
});
const input = writeShape(Book, ['title', 'subtitle', 'price', 'genre', 'printed'], {
  author: 'author.name',
  tags: refs('tags.label'),
});

class BookViewSet extends ModelViewSet(Book, {
  read: book,
  write: input,
  searchFields: ['title', 'author__name'],
  filterFields: { tag: 'tags__label', genre: 'genre', before: 'printed__lt' },
  orderingFields: { price: 'price' },
}) {}
class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name'], { books: many(readShape(Book, ['title'])) }),
  write: writeShape(Author, ['name'], { books: nested(writeShape(Book, ['title', 'price'])) }),
}) {}
class TagViewSet extends ModelViewSet(Tag, {
  read: readShape(Tag, ['id', 'label']),
  write: writeShape(Tag, ['label']),
}) {}

const orm = { metadataProvider: legacy.ReflectMetadataProvider };

forEachDatabase(t, { entities: [Author, Tag, Book] as never, orm }, async (t, orm) => {
  const router = new Router()
    .register('books', BookViewSet)
    .register('authors', AuthorViewSet)
    .register('tags', TagViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('a class with decorators is an entity like any other', async (t) => {
    const post = async (url: string, payload: object) => {
      const answer = await app.inject({ method: 'POST', url, payload });
      t.equal(answer.statusCode, 201, answer.body);
      return answer.json<{ id: number }>();
    };
    await post('/tags', { label: 'war' });
    await post('/tags', { label: 'peace' });
    const author = await post('/authors', { name: 'Leo', books: [{ title: 'Family Happiness', price: '4.50' }] });
    t.match(author, { name: 'Leo', books: [{ title: 'Family Happiness' }] });
    const made = await post('/books', {
      title: 'War and Peace',
      price: '12.35',
      printed: '1869-01-01T00:00:00.000Z',
      author: 'Leo',
      tags: ['war', 'peace'],
    });
    t.match(made, {
      title: 'War and Peace',
      subtitle: null,
      price: '12.35',
      genre: 'novel',
      sold: false,
      printed: '1869-01-01T00:00:00.000Z',
      author: { name: 'Leo' },
      tags: ['peace', 'war'],
    });
    const found = await app.inject('/books?tag=war&search=leo&genre=novel&before=1900-01-01T00:00:00Z&sort=-price');
    t.match(found.json(), { count: 1, results: [{ id: made.id }] });
    const wrong = await app.inject({ method: 'PATCH', url: `/books/${made.id}`, payload: { genre: 'essay' } });
    t.equal(wrong.statusCode, 400, wrong.body);
    t.equal((await app.inject({ method: 'POST', url: '/tags', payload: { label: 'war' } })).statusCode, 409);
    const long = await app.inject({ method: 'POST', url: '/tags', payload: { label: 'much too long' } });
    t.equal(long.statusCode, 400, 'the length is known');
  });
});

class City {
  id!: number;
  name!: string;
}
const metadata = {};
es.PrimaryKey({ type: 'integer' })(undefined, { kind: 'field', name: 'id', metadata } as never);
es.Property({ type: 'string', length: 20 })(undefined, { kind: 'field', name: 'name', metadata } as never);
es.Entity()(City, { kind: 'class', name: 'City', metadata } as never);
class CityViewSet extends ModelViewSet(City, {
  read: readShape(City, ['id', 'name']),
  write: writeShape(City, ['name']),
}) {}

forEachDatabase(t, { entities: [City] as never }, async (t, orm) => {
  t.test('a class with standard (TC39) decorators is an entity like any other', async (t) => {
    const app = await testApp(t, orm, [new Router().register('cities', CityViewSet)]);
    const made = await app.inject({ method: 'POST', url: '/cities', payload: { name: 'Ulm' } });
    t.match(made.json(), { id: 1, name: 'Ulm' }, made.body);
  });
});

t.test('a property whose type is known only from the source must declare it', async (t) => {
  class Silent {
    id!: number;
    name!: string;
  }
  decorate(Silent, { id: legacy.PrimaryKey({ type: 'integer' }), name: legacy.Property() });
  t.ok(readShape(Silent, ['id']));
  for (const shape of [() => readShape(Silent, ['name']), () => writeShape(Silent, ['name'])]) {
    t.throws(shape, {
      name: 'ImproperlyConfigured',
      message: `"name" has no type before MikroORM has read the sources; declare it: @Property({ type: 'string' })`,
    });
  }
  class Plain {
    id!: number;
  }
  t.throws(() => readShape(Plain, ['id']), {
    message:
      'A shape needs an entity made by defineEntity(), new EntitySchema() or the decorators of MikroORM, got Plain',
  });
});
