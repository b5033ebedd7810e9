/** What must compile, and what must not: tsc is the test. */
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  type ActionRequest,
  getCurrentUser,
  type InputOf,
  ModelViewSet,
  type ModelViewSetOptions,
  readShape,
  requireUser,
  Router,
  serverOptions,
  type SearchField,
  type JsonLogicField,
  Unauthorized,
  ViewSet,
  type WriteData,
  writeShape,
} from '../../src/index.ts';
import type { ProductEntity } from '../query/catalog.ts';
import { Book, Publisher } from '../support/library.ts';
import { Author, Book as ShelfBook, Tag } from '../support/shelves.ts';

type BookRecord = InferEntity<typeof Book>;
type Options = ModelViewSetOptions<BookRecord>;
const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title']);

export class BookViewSet extends ModelViewSet(Book, { read, write }) {
  override performCreate(request: FastifyRequest, data: WriteData<BookRecord, InputOf<typeof write>>) {
    void ([
      { ...data, publisher: request.em.getReference(Publisher, 1), pages: undefined },
      // @ts-expect-error -- a publisher is none of its names
      { ...data, publisher: 'North' },
      // @ts-expect-error -- a number
      { ...data, pages: 'many' },
      // @ts-expect-error -- never NULL
      { ...data, in_print: null },
      // @ts-expect-error -- misspelt
      { ...data, publsher: 1 },
    ] satisfies WriteData<BookRecord, InputOf<typeof write>>[]);
    return super.performCreate(request, { ...data, publisher: 1, pages: 3, published_at: new Date(), price: null });
  }

  ofCollection = action({ querystring: Type.Object({ q: Type.String() }) }, async (request) => {
    // @ts-expect-error -- an action of the collection has no record
    void request.params.pk;
    // @ts-expect-error -- an action of the collection has no record
    void this.getObject(request);
    return { shop: (request.params as { shop: string }).shop, count: await this.getQueryset(request).count() };
  });

  ofRecord = action({ detail: true }, async (request) => {
    return { pk: request.params.pk, title: (await this.getObject(request)).title };
  });

  /** A handler that stands elsewhere says what it is of. */
  written = action({ detail: true }, (request: ActionRequest<undefined, undefined>) => request.params.pk);

  override async retrieve(request: FastifyRequest) {
    return this.represent(await this.getObject(request));
  }
}

/** Several shapes: a name is chosen by `readShapeFor`, an operation lacks none. */
export class ShapedViewSet extends ModelViewSet(Book, { read: { default: read, list: read, staff: read } }) {
  // @ts-expect-error -- no such shape
  override readShapeFor() {
    return 'stuff' as const;
  }
}
/** Each operation answers with the record of its own shape, or of one that `readShapeFor` may choose. */
const detail = readShape(Book, ['id', 'title', 'pages']);
const ofStaff = readShape(Book, ['id', 'price']);
class PlainlyShaped extends ModelViewSet(Book, { read: { default: detail, list: read, create: ofStaff }, write }) {}
export class DetailedViewSet extends ModelViewSet(Book, {
  read: { default: detail, list: read, create: ofStaff },
  write,
}) {
  override async retrieve(request: FastifyRequest, reply: FastifyReply) {
    const record = await super.retrieve(request, reply);
    return { ...record, pages: record.pages + 1 };
  }

  override async create(request: FastifyRequest, reply: FastifyReply) {
    const record = await super.create(request, reply);
    // @ts-expect-error -- not in the shape of create
    void record.pages;
    return { ...record, price: record.price };
  }

  override represent(book: BookRecord) {
    const record = super.represent(book);
    return { ...record, title: record.title.toUpperCase(), pages: record.pages };
  }

  brief = action({ detail: true }, async (request) => {
    const record = new PlainlyShaped().represent(await this.getObject(request), request, 'list');
    // @ts-expect-error -- not in the shape of lists
    void record.pages;
    return record.title;
  });

  longest = action({}, async (request) => {
    const [first] = await this.rows(this.getQueryset(request), request);
    // @ts-expect-error -- not in the shape of lists
    void first?.pages;
    return first?.title;
  });
}
new Router().register('detailed', DetailedViewSet);
export class ChosenViewSet extends ModelViewSet(Book, { read: { default: detail, staff: ofStaff } }) {
  override async retrieve(request: FastifyRequest, reply: FastifyReply) {
    const record = await super.retrieve(request, reply);
    // @ts-expect-error -- of the shape for staff, which readShapeFor may choose, it has none
    void record.pages;
    return 'pages' in record ? { ...record, pages: record.pages + 1 } : record;
  }
}

// @ts-expect-error -- nothing for retrieve
void (() => ModelViewSet(Book, { read: { list: read } }));
// @ts-expect-error -- nothing for create and update
void (() => ModelViewSet(Book, { read: { list: read, retrieve: read }, write }));
void (() => ModelViewSet(Book, { read: { list: read, retrieve: read }, write, operations: ['list', 'retrieve'] }));
// @ts-expect-error -- a shape of another entity
void (() => ModelViewSet(Book, { read: { default: readShape(Publisher, ['name']) } }));
// @ts-expect-error -- a schema of what the entity has not
void (() => ModelViewSet(Book, { read: { default: read, list: Type.Object({ name: Type.String() }) } }));

const texts: readonly SearchField<ProductEntity>[] = ['name', '^name', '=maker__country__name', 'tags__label'];
// @ts-expect-error -- a number has no words
const numbers: SearchField<ProductEntity> = 'stock';
const logic: readonly JsonLogicField<ProductEntity>[] = ['stock', 'maker.country.name', 'tags.label', 'tags'];
// @ts-expect-error -- misspelt beyond a relation to many
const misspelt: JsonLogicField<ProductEntity> = 'tags.lable';
const options: Pick<Options, 'searchFields' | 'jsonLogicFields'> = {
  searchFields: ['publisher__name'],
  jsonLogicFields: ['publisher.name'],
};

t.test('the user of a request is there, or it is refused', async (t) => {
  t.ok([texts, numbers, logic, misspelt, options].length > 0);
  const request = (user: unknown) => ({ user }) as FastifyRequest;
  const ada = { id: 1 };
  t.equal(requireUser(request(ada)), ada);
  t.equal(getCurrentUser(request(ada)), ada);
  t.throws(() => requireUser(request(null)), Unauthorized);
});

t.test('a misspelt option of the server does not compile', async (t) => {
  const options = serverOptions({ logger: true, trustProxy: true, http: { maxHeaderSize: 9000 } });
  t.equal(options.logger, true);
  serverOptions({ https: null, bodyLimit: 1 });
  serverOptions();
  // @ts-expect-error -- misspelt
  serverOptions({ logegr: true });
});

t.test("the type of a view's input is inferred", async () => {
  class Typed extends ModelViewSet(Book, {
    read: readShape(Book, ['id']),
    write: { create: writeShape(Book, ['title', 'published_at']), update: writeShape(Book, ['pages']) },
    extra: Type.Object({ note: Type.String() }),
    fill: {
      in_print: () => true,
      // @ts-expect-error -- a value of another type
      price: () => 'dear',
    },
    validate: (data, problems, _request, record) => {
      const at: Date | null | undefined = data.published_at;
      const note: string | undefined = data.note;
      const pages: number | undefined = data.pages ?? record?.pages;
      problems.add('/title', `${String(at)} ${note} ${pages}`);
      problems.add('', 'is wrong');
      // @ts-expect-error -- no field of the body
      problems.add('/titel', 'is wrong');
      // @ts-expect-error -- no field of the body
      void data.price;
    },
  }) {
    override performCreate(
      request: FastifyRequest,
      data: WriteData<InferEntity<typeof Book>, { title: string; published_at?: string | null }>,
      extra: { note: string },
    ) {
      return super.performCreate(request, { ...data, title: extra.note });
    }
    override performUpdate(request: FastifyRequest, book: InferEntity<typeof Book>, data: { pages?: number }) {
      return super.performUpdate(request, book, data);
    }
  }
  void Typed;
  // @ts-expect-error -- no property of the entity
  void ModelViewSet(Book, { read, write, fill: { prise: () => 1 } });
});

class ShelfBookViewSet extends ModelViewSet(ShelfBook, { read: readShape(ShelfBook, ['id']) }) {}
class TagViewSet extends ModelViewSet(Tag, { read: readShape(Tag, ['id']) }) {}
class PublisherViewSet extends ModelViewSet(Publisher, { read: readShape(Publisher, ['id', 'name']) }) {}
const referring = writeShape(Book, ['title', 'publisher']);
ModelViewSet(Book, { read, write: referring, referenceViews: { publisher: PublisherViewSet } });
ModelViewSet(Author, {
  read: readShape(Author, ['id']),
  write: writeShape(Author, ['name']),
  referenceViews: { books: ShelfBookViewSet, 'books.tags': TagViewSet, 'books.author': 'self' },
});
// @ts-expect-error -- a view of another entity
ModelViewSet(Book, { read, write: referring, referenceViews: { publisher: BookViewSet } });
ModelViewSet(Author, {
  read: readShape(Author, ['id']),
  write: writeShape(Author, ['name']),
  // @ts-expect-error -- a view of another entity than that of the children's relation
  referenceViews: { 'books.tags': ShelfBookViewSet },
});
// @ts-expect-error -- misspelt
ModelViewSet(Book, { read, write: referring, referenceViews: { publiser: PublisherViewSet } });
// @ts-expect-error -- no relation
ModelViewSet(Book, { read, write: referring, referenceViews: { title: PublisherViewSet } });
// @ts-expect-error -- no view of an entity
ModelViewSet(Book, { read, write: referring, referenceViews: { publisher: class extends ViewSet {} } });
