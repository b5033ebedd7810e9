import { Type } from 'typebox';

/** The schemas of raw and hand for validation and serialization; ours derives them. */
const MAX_INTEGER = 2_147_483_647;

export const ProductShape = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  price: Type.Number(),
  stock: Type.Integer(),
});

export const AccountShape = Type.Object({
  id: Type.Integer(),
  email: Type.String(),
  name: Type.String(),
  is_active: Type.Boolean(),
  role: Type.Union([Type.String(), Type.Null()]),
});

export const BasketShape = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  lines: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), amount: Type.Integer() })),
  labels: Type.Array(Type.String()),
});

const Page = {
  page: Type.Integer({ minimum: 1, maximum: MAX_INTEGER, default: 1 }),
  page_size: Type.Integer({ minimum: 1, maximum: MAX_INTEGER, default: 10 }),
};

export const PageQuery = Type.Object(Page, { additionalProperties: false });

export const ProductsQuery = Type.Object(
  {
    ...Page,
    search: Type.Optional(Type.String()),
    sort: Type.Optional(Type.String()),
    min_price: Type.Optional(Type.Number()),
    max_price: Type.Optional(Type.Number()),
    min_stock: Type.Optional(Type.Integer()),
    name: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

export const PkParams = Type.Object({ pk: Type.Integer({ minimum: 1, maximum: MAX_INTEGER }) });

export const DraftBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  price: Type.Number({ exclusiveMinimum: 0, maximum: 99_999_999.99 }),
  stock: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_INTEGER })),
});

export const StockBody = Type.Object({ stock: Type.Integer({ minimum: 0, maximum: MAX_INTEGER }) });

export type ProductsQuery = Type.Static<typeof ProductsQuery>;
export type PageQuery = Type.Static<typeof PageQuery>;
export type DraftBody = Type.Static<typeof DraftBody>;
export type StockBody = Type.Static<typeof StockBody>;
export type PkParams = Type.Static<typeof PkParams>;
export type Product = Type.Static<typeof ProductShape>;
export type Basket = Type.Static<typeof BasketShape>;
export type Account = Type.Static<typeof AccountShape>;

export function pageOf(item: Type.TSchema): Type.TSchema {
  return Type.Object({
    count: Type.Integer(),
    next: Type.Boolean(),
    previous: Type.Boolean(),
    results: Type.Array(item),
  });
}

export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

const MAX_PAGE_SIZE = 100;

export function sliceOf({ page, page_size: pageSize }: PageQuery): Slice {
  const limit = Math.min(pageSize, MAX_PAGE_SIZE);
  return { offset: (page - 1) * limit, limit };
}

export interface Envelope<Item> {
  readonly count: number;
  readonly next: boolean;
  readonly previous: boolean;
  readonly results: readonly Item[];
}

export function envelope<Item>(count: number, { offset, limit }: Slice, results: readonly Item[]): Envelope<Item> {
  return { count, next: offset + limit < count, previous: offset > 0, results };
}
