import type { Account, Basket, DraftBody, Product, ProductsQuery, Slice } from '../schemas.ts';

export interface Page<Item> {
  readonly count: number;
  readonly rows: readonly Item[];
}

/** The user of a request, as permissions need it. */
export interface User {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly is_active: boolean;
  readonly role: string | null;
}

type Eventually<Value> = Value | Promise<Value>;

/** The statements or commands of the raw server, written by hand for one driver. */
export interface Store {
  products(query: ProductsQuery, slice: Slice): Eventually<Page<Product>>;
  accounts(slice: Slice): Eventually<Page<Account>>;
  baskets(slice: Slice): Eventually<Page<Basket>>;
  product(id: number): Eventually<Product | undefined>;
  user(id: number): Eventually<User | undefined>;
  /** Changes the stock of a product, if there is one. */
  setStock(id: number, stock: number): Eventually<Product | undefined>;
  createDraft(draft: DraftBody): Eventually<Product>;
  close(): Eventually<void>;
}
