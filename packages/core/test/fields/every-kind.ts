import type { MikroORM } from '@mikro-orm/core';
import { Country, Maker, Product, type ProductEntity, Tag } from '../query/catalog.ts';

/** How many products `fillEveryKind` makes. */
export const RECORDS = 10;

/** What the ids of the `serial` field begin with; the last digit is the product's. */
export const SERIAL = '018f2f6e-0000-7000-8000-00000000000';

/** Ten products: every field with values at its edges, and NULL where it may be. */
export async function fillEveryKind(orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  const france = em.create(Country, { code: 'FR', name: 'França' });
  const norway = em.create(Country, { code: 'NO', name: 'Norge' });
  const makers = [
    em.create(Maker, { name: 'North', country: france }),
    em.create(Maker, { name: 'Élan', country: null }),
    em.create(Maker, { name: 'South', country: norway }),
  ];
  const hot = em.create(Tag, { label: 'hot' });
  const names = [
    'Tea',
    'Green Tea',
    'tea',
    'Cup',
    'É élan',
    '100% a_b\\c',
    'Straße 😀',
    'Green and Tea',
    'x"y\'z',
    'Pot',
  ];
  let parent: ProductEntity | null = null;
  for (const [index, name] of names.entries()) {
    const n = index + 1;
    const isFull = n % 3 === 0;
    const product: ProductEntity = em.create(Product, {
      name,
      stock: index,
      active: n % 2 === 0,
      note: isFull ? `Élan ${n}\n\u2028` : null,
      price: n % 4 === 0 ? null : n * 2.5 + 0.01,
      cost: isFull ? ['0.0001', '1234567890123456.5000', '1.5000'][(n / 3) % 3]! : null,
      shelf: n % 2 === 0 ? -32_768 : 32_767,
      sold: isFull ? 9_007_199_254_740_990n + BigInt(n) : n % 2 === 0 ? -1n : null,
      weight: n % 2 === 0 ? -1e-7 * n : n / 3,
      height: n % 2 === 0 ? 0.5 : null,
      color: ([null, 'red', 'green'] as const)[n % 3]!,
      added: n % 4 === 0 ? null : new Date(Date.UTC(2024, 1, 29, n, 30, 0)),
      day: n % 4 === 1 ? null : `2024-02-${19 + n}`,
      opens: n % 2 === 0 ? '09:30:00' : null,
      serial: isFull ? `${SERIAL}${n % 10}` : null,
      data: isFull ? { a: n, deep: { list: [1, null, 'é'] } } : n % 2 === 0 ? { a: 0.1 } : null,
      image: null,
      maker: n % 4 === 0 ? null : makers[n % 3]!,
      origin: n % 2 === 0 ? france : null,
      parent: isFull ? parent : null,
    } as never);
    if (isFull) product.tags.add(hot);
    await em.flush();
    if (isFull) parent = product;
  }
}
