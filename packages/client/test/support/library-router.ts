import { defineEntity, p } from '@mikro-orm/core';
import {
  action,
  computed,
  csv,
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  OrderingFilter,
  PageNumberPagination,
  readShape,
  Router,
  SearchFilter,
  ViewSet,
  writeShape,
} from '@viewset/core';
import { Type } from 'typebox';
import { Book, Publisher } from '../../../core/test/support/library.ts';

const read = readShape(Book, ['id', 'title', 'price', 'published_at'], { publisher: 'publisher.name' });
const Titles = Type.Object({ titles: Type.Array(Type.String()) });

/** Every kind of filter, and every kind of action. */
export class BookViewSet extends ModelViewSet(Book, {
  read,
  write: writeShape(Book, ['title', 'price', 'pages', 'publisher', 'published_at']),
  searchFields: ['title'],
  filterFields: {
    min_price: 'price__gte',
    ids: 'id__in',
    pages: 'pages__range',
    published_after: 'published_at__gt',
    no_price: 'price__isnull',
    publisher: 'publisher',
    house: 'publisher__name__icontains',
  },
  orderingFields: { id: 'id', price: 'price', title: 'title' },
}) {
  featured = action({ response: Type.Object({ results: Type.Array(read.schema) }) }, async (request) => {
    const narrowed = await this.filterQueryset(request, this.getQueryset(request));
    return { results: await this.rows(narrowed.slice(0, 2)) };
  });

  addPages = action(
    {
      methods: ['post', 'put'],
      detail: true,
      body: Type.Object({ pages: Type.Integer({ minimum: 1 }) }),
      responses: { 200: Type.Object({ pages: Type.Integer() }), 402: Type.Object({ owed: Type.Number() }) },
    },
    async (request, reply) => {
      const book = await this.getObject(request);
      if (request.body.pages > 1000) return reply.code(402).send({ owed: 9.5 });
      book.pages += request.body.pages;
      await request.em.flush();
      return { pages: book.pages };
    },
  );

  topTen = action(
    {
      urlPath: 'lists/top_ten',
      listParameters: false,
      querystring: Type.Object({ titles: Type.Array(Type.String()) }),
      response: Titles,
    },
    (request) => ({ titles: request.query.titles }),
  );

  each = action({ listParameters: false, response: Titles }, () => ({ titles: ['each'] }));

  importText = action({ methods: ['post'], contentTypes: ['text/csv'], response: Titles }, (request) => ({
    titles: String(request.body).split('\n'),
  }));

  shelve = action(
    {
      methods: ['post'],
      detail: true,
      querystring: Type.Object({ shelf: Type.String(), row: Type.Optional(Type.Integer()) }),
      response: Type.Object({ place: Type.String() }),
    },
    ({ query, params }) => ({ place: `${params.pk}@${query.shelf}${query.row ?? ''}` }),
  );

  clear = action({ methods: ['delete'], responses: { 204: null } }, (_request, reply) => reply.code(204).send());
}

const byCursor = { read: readShape(Book, ['id', 'title']), orderingFields: { title: 'title' } } as const;
export class CursorViewSet extends ModelViewSet(Book, { ...byCursor, pagination: CursorPagination }) {}
export class LimitViewSet extends ModelViewSet(Book, {
  ...byCursor,
  pagination: LimitOffsetPagination,
  count: 'none',
}) {}
export class UnpagedViewSet extends ModelViewSet(Book, { ...byCursor, pagination: null }) {}

class CustomPages extends PageNumberPagination {
  override readonly pageParameter = 'p';
  override readonly pageSizeParameter = 'n';
}
class CustomSearch extends SearchFilter {
  override readonly parameter = 'q';
}
export class RenamedViewSet extends ModelViewSet(Book, {
  ...byCursor,
  pagination: CustomPages,
  searchFields: ['title'],
  filters: [CustomSearch, OrderingFilter],
}) {}

const LoanSchema = defineEntity({
  name: 'Loan',
  properties: {
    id: p.bigint().primary(),
    state: p.enum(['open', 'late', 'over'] as const).default('open'),
    fee: p.decimal('string').precision(12).scale(2).nullable(),
    due: p.date(),
    lent_at: p.datetime(3),
    ticket: p.uuid(),
    is_paid: p.boolean().default(false),
  },
});
export class Loan extends LoanSchema.class {}
LoanSchema.setClass(Loan);

/** A field of every kind that a query can say. */
export class LoanViewSet extends ModelViewSet(Loan, {
  read: readShape(Loan, ['id', 'state', 'fee', 'due', 'lent_at', 'ticket', 'is_paid']),
  write: writeShape(Loan, ['id', 'state', 'fee', 'due', 'lent_at', 'ticket', 'is_paid']),
  filterFields: {
    id: 'id',
    ids: 'id__in',
    state: 'state',
    states: 'state__in',
    min_fee: 'fee__gte',
    due: 'due__range',
    lent_before: 'lent_at__lt',
    lent: 'lent_at__range',
    tickets: 'ticket__in',
    is_paid: 'is_paid',
    no_fee: 'fee__isnull',
  },
}) {}

class PublisherViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
  operations: ['list', 'retrieve', 'create'],
}) {}

const brief = readShape(Book, ['id', 'title']);
const staff = readShape(Book, ['id', 'pages']);
/** Answers in several shapes. */
class ShapedViewSet extends ModelViewSet(Book, {
  read: { default: read, list: brief, update: Type.Object({ id: Type.Integer() }) },
  write: writeShape(Book, ['title']),
}) {}
class ByUserViewSet extends ModelViewSet(Book, { read: { list: brief, retrieve: read, staff } }) {
  override readShapeFor() {
    return 'staff' as const;
  }
}

/** A client chooses the fields. */
class SelectingViewSet extends ModelViewSet(Book, {
  read: { default: read, list: brief },
  write: writeShape(Book, ['title']),
  expand: {
    publisher: readShape(Publisher, ['id', 'name']),
    label: computed(Type.String(), ['title'], (book) => book.title),
  },
}) {}

/** Takes several records in one request, and sends its list as a file. */
class ManyViewSet extends ModelViewSet(Book, {
  read,
  write: writeShape(Book, ['title', 'price', 'publisher']),
  expand: { publisher: readShape(Publisher, ['id', 'name']) },
  orderingFields: { id: 'id' },
  exports: [csv({ delimiter: ',' }), 'ndjson'],
  bulk: 3,
}) {}
class NamedViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
  lookupField: 'name',
  bulk: { update: 2, destroy: 2 },
}) {}

class StatusViewSet extends ViewSet {
  override list() {
    return { since: new Date(0), isUp: true };
  }
}

export function libraryRouter() {
  return new Router({ prefix: 'api' })
    .register('books', BookViewSet)
    .register('by-cursor', CursorViewSet)
    .register('by-limit', LimitViewSet)
    .register('unpaged', UnpagedViewSet)
    .register('renamed', RenamedViewSet)
    .register('/shelf/publishers/', PublisherViewSet)
    .register('shelf/publishers/:publisher/books', BookViewSet)
    .register('loans', LoanViewSet)
    .register('shaped', ShapedViewSet)
    .register('by-user', ByUserViewSet)
    .register('selecting', SelectingViewSet)
    .register('many', ManyViewSet)
    .register('named', NamedViewSet)
    .register('status', StatusViewSet);
}

export type Api = ReturnType<typeof libraryRouter>;
