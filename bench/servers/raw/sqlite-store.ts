import Sqlite, { type Statement } from 'better-sqlite3';
import { SQLITE_PRAGMA } from '../../data/open-orm.ts';
import type { Account, Basket, DraftBody, Product, ProductsQuery, Slice } from '../schemas.ts';
import { type BasketRow, type LabelRow, type LineRow, toBaskets } from './baskets.ts';
import { type Dialect, productQuery } from './product-query.ts';
import type { Page, Store, User } from './store.ts';

/** An escape character costs time, so that it is named only if one is needed. With a bare parameter SQLite plans again for each pattern. */
const DIALECT: Dialect = {
  parameter: () => '?',
  like: (parameter, pattern) => `like +${parameter}${pattern.includes('\\') ? " escape '\\'" : ''}`,
};

/** SQLite plans a statement again whenever a bare `limit ?` is bound, but not with a sum. */
const SLICE = 'limit +? offset +?';

type ProductRow = [id: number, name: string, price: number, stock: number];
type AccountRow = [id: number, email: string, name: string, isActive: number, role: string | null];

interface UserRow extends Omit<User, 'is_active'> {
  readonly is_active: 0 | 1;
}

interface ListStatements<Row> {
  readonly page: Statement<unknown[], Row>;
  readonly count: Statement<unknown[], number>;
}

/** better-sqlite3 on one connection, every statement prepared once. Rows come as arrays, which it makes faster. */
export class SqliteStore implements Store {
  readonly #database: Sqlite.Database;
  readonly #lists = new Map<string, ListStatements<ProductRow>>();
  readonly #accounts: ListStatements<AccountRow>;
  readonly #baskets: ListStatements<BasketRow>;
  readonly #lines: Statement<unknown[], LineRow>;
  readonly #labels: Statement<unknown[], LabelRow>;
  readonly #product: Statement<unknown[], ProductRow>;
  readonly #user: Statement<[number], UserRow>;
  readonly #createDraft: Statement<unknown[], ProductRow>;
  readonly #setStock: Statement<unknown[], ProductRow>;

  constructor(location: string) {
    const database = new Sqlite(location);
    this.#database = database;
    database.exec(SQLITE_PRAGMA);
    this.#accounts = {
      page: rawPrepare(
        database,
        `select a.id, a.email, a.name, a.is_active, r.name
         from account a left join role r on r.id = a.role_id order by a.id ${SLICE}`,
      ),
      count: pluckPrepare(database, 'select count(*) from account'),
    };
    this.#baskets = {
      page: rawPrepare(database, `select id, name from basket order by id ${SLICE}`),
      count: pluckPrepare(database, 'select count(*) from basket'),
    };
    this.#lines = rawPrepare(
      database,
      `select basket_id, id, name, amount from line
       where basket_id in (select value from json_each(?)) order by id`,
    );
    this.#labels = rawPrepare(
      database,
      `select bl.basket_id, l.name from basket_labels bl join label l on l.id = bl.label_id
       where bl.basket_id in (select value from json_each(?)) order by l.id`,
    );
    this.#product = rawPrepare(database, 'select id, name, price, stock from product where id = ?');
    this.#user = database.prepare(
      `select a.id, a.name, a.email, a.is_active, r.name as role
       from account a left join role r on r.id = a.role_id where a.id = ?`,
    );
    this.#setStock = rawPrepare(database, 'update product set stock = ? where id = ? returning id, name, price, stock');
    this.#createDraft = rawPrepare(
      database,
      'insert into draft (name, price, stock) values (?, ?, ?) returning id, name, price, stock',
    );
  }

  products(query: ProductsQuery, { limit, offset }: Slice): Page<Product> {
    const { where, order, values } = productQuery(query, DIALECT);
    const { page, count } = this.#list(where, order);
    return { count: count.get(...values) ?? 0, rows: page.all(...values, limit, offset).map(toProduct) };
  }

  accounts({ limit, offset }: Slice): Page<Account> {
    const { page, count } = this.#accounts;
    return { count: count.get() ?? 0, rows: page.all(limit, offset).map(toAccount) };
  }

  baskets({ limit, offset }: Slice): Page<Basket> {
    const { page, count } = this.#baskets;
    const rows = page.all(limit, offset);
    const ids = JSON.stringify(rows.map(([id]) => id));
    return { count: count.get() ?? 0, rows: toBaskets(rows, this.#lines.all(ids), this.#labels.all(ids)) };
  }

  product(id: number): Product | undefined {
    const row = this.#product.get(id);
    return row === undefined ? undefined : toProduct(row);
  }

  user(id: number): User | undefined {
    const user = this.#user.get(id);
    return user === undefined ? undefined : { ...user, is_active: user.is_active === 1 };
  }

  setStock(id: number, stock: number): Product | undefined {
    const row = this.#setStock.get(stock, id);
    return row === undefined ? undefined : toProduct(row);
  }

  createDraft({ name, price, stock }: DraftBody): Product {
    return toProduct(this.#createDraft.get(name, price, stock ?? 0)!);
  }

  close(): void {
    this.#database.close();
  }

  #list(where: string, order: string): ListStatements<ProductRow> {
    const key = `${where} ${order}`;
    let statements = this.#lists.get(key);
    if (statements === undefined) {
      statements = {
        page: rawPrepare(
          this.#database,
          `select id, name, price, stock from product ${where} order by ${order} ${SLICE}`,
        ),
        count: pluckPrepare(this.#database, `select count(*) from product ${where}`),
      };
      this.#lists.set(key, statements);
    }
    return statements;
  }
}

/** Rows are arrays; the text of the statement defines their columns. */
function rawPrepare<Row extends unknown[]>(database: Sqlite.Database, sql: string): Statement<unknown[], Row> {
  return database.prepare<unknown[], Row>(sql).raw(true);
}

function pluckPrepare(database: Sqlite.Database, sql: string): Statement<unknown[], number> {
  return database.prepare<unknown[], number>(sql).pluck(true);
}

function toProduct(row: ProductRow): Product {
  return { id: row[0], name: row[1], price: row[2], stock: row[3] };
}

function toAccount(row: AccountRow): Account {
  return { id: row[0], email: row[1], name: row[2], is_active: row[3] === 1, role: row[4] };
}
