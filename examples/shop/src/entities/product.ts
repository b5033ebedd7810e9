import { defineEntity, p } from '@mikro-orm/core';

const ProductSchema = defineEntity({
  name: 'Product',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200).index(),
    price: p.decimal('number').precision(10).scale(2).index(),
    stock: p.integer().default(0).index(),
  },
});

export class Product extends ProductSchema.class {}
ProductSchema.setClass(Product);
