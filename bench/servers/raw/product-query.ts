import type { ProductsQuery } from '../schemas.ts';

/** The differences of the two databases: a numbered or an anonymous parameter, and LIKE that ignores case. */
export interface Dialect {
  readonly parameter: (position: number) => string;
  readonly like: (parameter: string, pattern: string) => string;
}

/** The part of a statement that depends on which parameters are present; their values are separate. */
export interface ProductQuery {
  readonly where: string;
  readonly order: string;
  readonly values: readonly unknown[];
}

const FIELDS = new Set(['id', 'name', 'price', 'stock']);

export class BadQuery extends Error {
  readonly statusCode = 400;
}

/** Conditions and order of a list of products. Only names from `FIELDS` come into the text. */
export function productQuery(query: ProductsQuery, { parameter, like }: Dialect): ProductQuery {
  const values: unknown[] = [];
  const bind = (value: unknown): string => parameter(values.push(value));
  const conditions: string[] = [];
  if (query.search !== undefined) {
    for (const word of query.search.split(/\s+/)) {
      if (word === '') continue;
      const pattern = `%${escapeLike(word)}%`;
      conditions.push(`name ${like(bind(pattern), pattern)}`);
    }
  }
  if (query.min_price !== undefined) conditions.push(`price >= ${bind(query.min_price)}`);
  if (query.max_price !== undefined) conditions.push(`price <= ${bind(query.max_price)}`);
  if (query.min_stock !== undefined) conditions.push(`stock >= ${bind(query.min_stock)}`);
  if (query.name !== undefined && query.name !== '') conditions.push(`name = ${bind(query.name)}`);
  return {
    where: conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`,
    order: query.sort === undefined || query.sort === '' ? 'id' : orderBy(query.sort),
    values,
  };
}

function orderBy(sort: string): string {
  const keys = sort.split(',').map((key) => {
    const descending = key.startsWith('-');
    const name = descending ? key.slice(1) : key;
    if (!FIELDS.has(name)) throw new BadQuery(`Unknown sort name; allowed: ${[...FIELDS].join(', ')}`);
    return descending ? `${name} desc` : name;
  });
  return `${keys.join(', ')}, id`;
}

function escapeLike(word: string): string {
  return word.replaceAll(/[%_\\]/g, String.raw`\$&`);
}
