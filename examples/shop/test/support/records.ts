import type { Shop } from './shop.ts';

export interface Product {
  id: number;
  name: string;
  price: number;
  stock: number;
}

export interface Page<Record> {
  count: number;
  next: boolean;
  previous: boolean;
  results: Record[];
}

/** Leaves these products in the shop, and no others; their ids ascend in the order given. */
export async function onlyProducts(
  shop: Shop,
  token: string,
  products: readonly Partial<Product>[],
): Promise<Product[]> {
  for (;;) {
    const { results } = (await shop.get<Page<Product>>('/api/products?page_size=100')).body;
    if (results.length === 0) break;
    await Promise.all(results.map(({ id }) => shop.delete(`/api/products/${id}`, { token })));
  }
  const created: Product[] = [];
  for (const product of products) {
    const answer = await shop.post<Product>('/api/products', { name: 'A', price: 1, ...product }, { token });
    if (answer.status !== 201) throw new Error(`${JSON.stringify(product)}: ${answer.status} ${answer.text}`);
    created.push(answer.body);
  }
  return created;
}

/** The names in a list, in its order; the response itself if it is not a list. */
export async function namesOf(shop: Shop, query: string): Promise<string[] | string> {
  const answer = await shop.get<Page<Product>>(`/api/products?page_size=100&${query}`);
  return answer.status === 200 ? answer.body.results.map(({ name }) => name) : `${answer.status} ${answer.text}`;
}
