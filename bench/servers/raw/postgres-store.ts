import { Pool } from 'pg';
import type { Account, Basket, DraftBody, Product, ProductsQuery, Slice } from '../schemas.ts';
import { type BasketRow, type LabelRow, type LineRow, toBaskets } from './baskets.ts';
import { type Dialect, productQuery } from './product-query.ts';
import type { Page, Store, User } from './store.ts';

const DIALECT: Dialect = { parameter: (position) => `$${position}`, like: (parameter) => `ilike ${parameter}` };

type ProductRow = [id: number, name: string, price: string, stock: number, count: string];
type AccountRow = [id: number, email: string, name: string, isActive: boolean, role: string | null, count: string];

interface NamedSql {
  readonly name: string;
  readonly text: string;
}

interface ListSql {
  readonly page: NamedSql;
  readonly count: NamedSql;
}

const PRODUCT = { name: 'product', text: 'select id, name, price, stock from product where id = $1' };
const USER = {
  name: 'user',
  text: `select a.id, a.name, a.email, a.is_active, r.name as role
         from account a left join role r on r.id = a.role_id where a.id = $1`,
};
const CREATE_DRAFT = {
  name: 'create-draft',
  text: 'insert into draft (name, price, stock) values ($1, $2, $3) returning id, name, price, stock',
};
const SET_STOCK = {
  name: 'set-stock',
  text: 'update product set stock = $1 where id = $2 returning id, name, price, stock',
};
const COUNT_ACCOUNTS = { name: 'count-accounts', text: 'select count(*) from account' };
const ACCOUNTS = {
  name: 'accounts',
  text: `select a.id, a.email, a.name, a.is_active, r.name, (${COUNT_ACCOUNTS.text})
         from account a left join role r on r.id = a.role_id order by a.id limit $1 offset $2`,
};

const COUNT_BASKETS = { name: 'count-baskets', text: 'select count(*) from basket' };
const BASKETS = {
  name: 'baskets',
  text: `select id, name, (${COUNT_BASKETS.text}) from basket order by id limit $1 offset $2`,
};
const LINES = {
  name: 'lines',
  text: 'select basket_id, id, name, amount from line where basket_id = any($1) order by id',
};
const LABELS = {
  name: 'labels',
  text: `select bl.basket_id, l.name from basket_labels bl join label l on l.id = bl.label_id
         where bl.basket_id = any($1) order by l.id`,
};

/**
 * pg's pool, every statement named and so prepared once per connection, rows as arrays. A page and its count are one round trip; the count
 * is a second one only if a page is empty.
 */
export class PostgresStore implements Store {
  readonly #pool: Pool;
  readonly #lists = new Map<string, ListSql>();

  constructor(connectionString: string) {
    this.#pool = new Pool({ connectionString });
  }

  async products(query: ProductsQuery, { limit, offset }: Slice): Promise<Page<Product>> {
    const { where, order, values } = productQuery(query, DIALECT);
    const { page, count } = this.#list(where, order, values.length);
    const rows = await this.#rows<ProductRow>(page, [...values, limit, offset]);
    if (rows.length === 0) return { count: await this.#count(count, values), rows: [] };
    return { count: Number(rows[0]![4]), rows: rows.map(toProduct) };
  }

  async accounts({ limit, offset }: Slice): Promise<Page<Account>> {
    const rows = await this.#rows<AccountRow>(ACCOUNTS, [limit, offset]);
    if (rows.length === 0) return { count: await this.#count(COUNT_ACCOUNTS, []), rows: [] };
    return { count: Number(rows[0]![5]), rows: rows.map(toAccount) };
  }

  async baskets({ limit, offset }: Slice): Promise<Page<Basket>> {
    const rows = await this.#rows<BasketRow>(BASKETS, [limit, offset]);
    if (rows.length === 0) return { count: await this.#count(COUNT_BASKETS, []), rows: [] };
    const ids = rows.map(([id]) => id);
    const lines = await this.#rows<LineRow>(LINES, [ids]);
    const labels = await this.#rows<LabelRow>(LABELS, [ids]);
    return { count: Number(rows[0]![2]), rows: toBaskets(rows, lines, labels) };
  }

  async product(id: number): Promise<Product | undefined> {
    const [row] = await this.#rows<ProductRow>(PRODUCT, [id]);
    return row === undefined ? undefined : toProduct(row);
  }

  async user(id: number): Promise<User | undefined> {
    const { rows } = await this.#pool.query<User>({ ...USER, values: [id] });
    return rows[0];
  }

  async setStock(id: number, stock: number): Promise<Product | undefined> {
    const [row] = await this.#rows<ProductRow>(SET_STOCK, [stock, id]);
    return row === undefined ? undefined : toProduct(row);
  }

  async createDraft({ name, price, stock }: DraftBody): Promise<Product> {
    const [row] = await this.#rows<ProductRow>(CREATE_DRAFT, [name, price, stock ?? 0]);
    return toProduct(row!);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #count(sql: NamedSql, values: readonly unknown[]): Promise<number> {
    const [row] = await this.#rows<[string]>(sql, values);
    return Number(row![0]);
  }

  async #rows<Row extends unknown[]>({ name, text }: NamedSql, values: readonly unknown[]): Promise<Row[]> {
    const { rows } = await this.#pool.query<Row>({ name, text, rowMode: 'array', values: values as unknown[] });
    return rows;
  }

  #list(where: string, order: string, parameters: number): ListSql {
    const key = `${where}|${order}`;
    let list = this.#lists.get(key);
    if (list === undefined) {
      const count = `select count(*) from product ${where}`;
      const page = `select id, name, price, stock, (${count}) from product ${where}
        order by ${order} limit $${parameters + 1} offset $${parameters + 2}`;
      const number = this.#lists.size;
      list = { page: { name: `page-${number}`, text: page }, count: { name: `count-${number}`, text: count } };
      this.#lists.set(key, list);
    }
    return list;
  }
}

/** pg gives a numeric as text; a product's price fits a number exactly enough for the wire. */
function toProduct(row: ProductRow): Product {
  return { id: row[0], name: row[1], price: Number(row[2]), stock: row[3] };
}

function toAccount(row: AccountRow): Account {
  return { id: row[0], email: row[1], name: row[2], is_active: row[3], role: row[4] };
}
