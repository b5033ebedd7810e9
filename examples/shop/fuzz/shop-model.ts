import { isDeepStrictEqual } from 'node:util';
import type { Answer } from '../test/support/http-client.ts';
import type { Product } from './product.ts';

/** The correct response. Parts that are left out are not compared. */
export interface Expectation {
  readonly status: number;
  readonly code?: string;
  /** The parameters or fields that `details` name, each once and no other. */
  readonly paths?: readonly string[];
  readonly body?: object;
  /** The product in the response, which exists from then on; without an id it is a new one. */
  readonly stores?: object;
  readonly removes?: number;
}

/** The products that the shop should have. */
export class ShopModel {
  readonly products = new Map<number, Product>();

  constructor(products: readonly Product[]) {
    for (const product of products) this.products.set(product.id, product);
  }

  /** Returns the difference between a response and the model, or applies its changes to the model. */
  check(expected: Expectation, { status, headers, body, text }: Answer): string | undefined {
    const error = status < 400 ? undefined : body;
    if (status !== expected.status) return `the status should be ${expected.status}`;
    if (expected.code !== undefined && error?.code !== expected.code) return `the code should be ${expected.code}`;
    if (expected.paths !== undefined) {
      const named = [...new Set(error?.details?.map(({ path }) => path))].toSorted();
      const wanted = [...new Set(expected.paths)].map((path) => `/${path}`).toSorted();
      if (!isDeepStrictEqual(named, wanted)) return `details should name ${wanted.join(', ')}`;
    }
    if (expected.body !== undefined && !isDeepStrictEqual(body, expected.body)) {
      return `the body should be ${JSON.stringify(expected.body)}`;
    }
    if (expected.removes !== undefined) {
      this.products.delete(expected.removes);
      if (text !== '') return 'there should be no body';
    }
    return expected.stores === undefined ? undefined : this.#store(expected.stores as Product, body, headers);
  }

  #store(expected: Product, body: unknown, headers: Headers): string | undefined {
    const { id } = body as Product;
    const isNew = expected.id === undefined;
    const product = { ...expected, id: isNew ? id : expected.id };
    if (!isDeepStrictEqual(body, product)) return `the body should be ${JSON.stringify(product)}`;
    if (isNew && (!Number.isInteger(id) || this.products.has(id))) return 'the id should be a new one';
    if (isNew && headers.get('location') !== `/api/products/${id}`) return 'Location should be its path';
    this.products.set(product.id, product);
    return undefined;
  }
}
