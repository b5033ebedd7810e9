import {
  type AggregationCursor,
  type Collection,
  Decimal128,
  type Document,
  type Filter,
  MongoClient,
  type Sort,
} from 'mongodb';
import { COUNTERS } from '../../data/mongo.ts';
import type { Account, Basket, DraftBody, Product, ProductsQuery, Slice } from '../schemas.ts';
import { BadQuery } from './product-query.ts';
import type { Page, Store, User } from './store.ts';

interface ProductDocument {
  readonly _id: number;
  readonly name: string;
  readonly price: Decimal128;
  readonly stock: number;
}

type AccountDocument = Omit<Account, 'id' | 'role'> & {
  readonly _id: number;
  readonly of: readonly [{ name: string }?];
};

interface BasketDocument {
  readonly _id: number;
  readonly name: string;
  readonly labels: readonly number[];
}

interface Counter {
  readonly _id: string;
  readonly last: number;
}

const FIELDS: Readonly<Record<string, string>> = { id: '_id', name: 'name', price: 'price', stock: 'stock' };
const PRODUCT = { projection: { _id: 1, name: 1, price: 1, stock: 1 } } as const;
const BY_ID = { _id: 1 } as const;
const ACCOUNT = { _id: 1, email: 1, name: 1, is_active: 1, 'of.name': 1 } as const;
const ROLE = { $lookup: { from: 'role', localField: 'role', foreignField: '_id', as: 'of' } } as const;

/**
 * The driver with its defaults. A page comes with its count in one command, unless a client has narrowed it: then it often shows its count
 * itself.
 */
export class MongoStore implements Store {
  readonly #client: MongoClient;
  readonly #products: Collection<ProductDocument>;
  readonly #drafts: Collection<ProductDocument>;
  readonly #accounts: Collection<{ _id: number }>;
  readonly #baskets: Collection<BasketDocument>;
  readonly #lines: Collection<Basket['lines'][number] & { readonly _id: number; readonly basket: number }>;
  readonly #labels: Collection<{ readonly _id: number; readonly name: string }>;
  readonly #counters: Collection<Counter>;

  constructor(location: string) {
    this.#client = new MongoClient(location);
    const database = this.#client.db();
    this.#products = database.collection('product');
    this.#drafts = database.collection('draft');
    this.#accounts = database.collection('account');
    this.#baskets = database.collection('basket');
    this.#lines = database.collection('line');
    this.#labels = database.collection('label');
    this.#counters = database.collection(COUNTERS);
  }

  async products(query: ProductsQuery, { offset, limit }: Slice): Promise<Page<Product>> {
    const filter = productFilter(query);
    const sort = productSort(query.sort);
    if (Object.keys(filter).length === 0) {
      const stages = [{ $sort: sort }, { $skip: offset }, { $limit: limit }, { $project: PRODUCT.projection }];
      const found = this.#products.aggregate<ProductDocument>(withCount(stages, 'product'), batchOf(limit));
      const { count, rows } = await readPage(found);
      return { count, rows: rows.map(toProduct) };
    }
    const rows = await this.#products.find(filter, { ...PRODUCT, sort, skip: offset, limit }).toArray();
    const isLast = rows.length < limit && (rows.length > 0 || offset === 0);
    const count = isLast ? offset + rows.length : await this.#products.countDocuments(filter);
    return { count, rows: rows.map(toProduct) };
  }

  async accounts({ offset, limit }: Slice): Promise<Page<Account>> {
    const stages = [{ $sort: BY_ID }, { $skip: offset }, { $limit: limit }, ROLE, { $project: ACCOUNT }];
    const found = this.#accounts.aggregate<AccountDocument>(withCount(stages, 'account'), batchOf(limit));
    const { count, rows } = await readPage(found);
    return { count, rows: rows.map(toAccount) };
  }

  async baskets({ offset, limit }: Slice): Promise<Page<Basket>> {
    const shown = { _id: 1, name: 1, labels: 1 };
    const stages = [{ $sort: BY_ID }, { $skip: offset }, { $limit: limit }, { $project: shown }];
    const paged = this.#baskets.aggregate<BasketDocument>(withCount(stages, 'basket'), batchOf(limit));
    const { count, rows: found } = await readPage(paged);
    const baskets = found.map(({ _id: id, name }): Basket => ({ id, name, lines: [], labels: [] }));
    const byId = new Map(baskets.map((basket) => [basket.id, basket]));
    const lines = this.#lines.find({ basket: { $in: [...byId.keys()] } }, { sort: BY_ID });
    for (const { _id: id, name, amount, basket } of await lines.toArray()) {
      byId.get(basket)!.lines.push({ id, name, amount });
    }
    const labels = await this.#labels
      .find({ _id: { $in: [...new Set(found.flatMap((one) => one.labels))] } })
      .toArray();
    const names = new Map(labels.map(({ _id: id, name }) => [id, name]));
    for (const { _id: id, labels: ids } of found) {
      byId.get(id)!.labels = ids.toSorted((a, b) => a - b).map((label) => names.get(label)!);
    }
    return { count, rows: baskets };
  }

  async product(id: number): Promise<Product | undefined> {
    const product = await this.#products.findOne({ _id: id }, PRODUCT);
    return product === null ? undefined : toProduct(product);
  }

  async user(id: number): Promise<User | undefined> {
    const stages = [{ $match: { _id: id } }, ROLE, { $project: ACCOUNT }];
    const [user] = await this.#accounts.aggregate<AccountDocument>(stages).toArray();
    return user === undefined ? undefined : toAccount(user);
  }

  async setStock(id: number, stock: number): Promise<Product | undefined> {
    const options = { ...PRODUCT, returnDocument: 'after' } as const;
    const product = await this.#products.findOneAndUpdate({ _id: id }, { $set: { stock } }, options);
    return product === null ? undefined : toProduct(product);
  }

  async createDraft({ name, price, stock = 0 }: DraftBody): Promise<Product> {
    const counted = { upsert: true, returnDocument: 'after' } as const;
    const counter = await this.#counters.findOneAndUpdate({ _id: 'draft' }, { $inc: { last: 1 } }, counted);
    const draft = { _id: counter!.last, name, price: Decimal128.fromString(price.toFixed(2)), stock };
    await this.#drafts.insertOne(draft);
    return toProduct(draft);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** One batch, with the number and room for one more: after a full batch the driver requests another one. */
function batchOf(limit: number): { batchSize: number } {
  return { batchSize: limit + 2 };
}

/** Adds the number of all records to those of a page. */
function withCount(stages: readonly Document[], collection: string): Document[] {
  return [...stages, { $unionWith: { coll: collection, pipeline: [{ $count: 'count' }] } }];
}

async function readPage<Row extends Document>(cursor: AggregationCursor<Row>): Promise<Page<Row>> {
  const rows = await cursor.toArray();
  const count = Number(rows.pop()?.['count'] ?? 0);
  return { count, rows };
}

function productFilter(query: ProductsQuery): Filter<ProductDocument> {
  const conditions: Filter<ProductDocument>[] = [];
  for (const word of query.search?.split(/\s+/).filter(Boolean) ?? []) {
    conditions.push({ name: { $regex: word.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`), $options: 'i' } });
  }
  if (query.min_price !== undefined) conditions.push({ price: { $gte: toDecimal(query.min_price) } });
  if (query.max_price !== undefined) conditions.push({ price: { $lte: toDecimal(query.max_price) } });
  if (query.min_stock !== undefined) conditions.push({ stock: { $gte: query.min_stock } });
  if (query.name !== undefined && query.name !== '') conditions.push({ name: query.name });
  return conditions.length === 0 ? {} : { $and: conditions };
}

function productSort(sort: string | undefined): Sort {
  const keys: Record<string, 1 | -1> = {};
  for (const key of sort?.split(',').filter(Boolean) ?? []) {
    const isDescending = key.startsWith('-');
    const field = FIELDS[isDescending ? key.slice(1) : key];
    if (field === undefined) throw new BadQuery(`Unknown sort name; allowed: ${Object.keys(FIELDS).join(', ')}`);
    keys[field] = isDescending ? -1 : 1;
  }
  return { ...keys, _id: keys['_id'] ?? 1 };
}

function toDecimal(value: number): Decimal128 {
  return Decimal128.fromString(String(value));
}

/** A product's price fits a number exactly enough for the wire. */
function toProduct({ _id: id, name, price, stock }: ProductDocument): Product {
  return { id, name, price: Number(price.toString()), stock };
}

function toAccount({ _id: id, email, name, is_active, of: [role] }: AccountDocument): Account {
  return { id, email, name, is_active, role: role?.name ?? null };
}
