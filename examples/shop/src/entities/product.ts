import { defineEntity, p, type InferEntity } from '@mikro-orm/core';

export const Product = defineEntity({
  name: 'Product',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200),
    price: p.decimal('number').precision(10).scale(2),
    stock: p.integer().default(0),
  },
});

export type Product = InferEntity<typeof Product>;
