import { defineEntity, p } from '@mikro-orm/core';

/** The shop's entities, and one more: creates use a separate table, so that they do not change the lists. */
export const Role = defineEntity({
  name: 'Role',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
    description: p.text().nullable(),
  },
});

export const Account = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable().deleteRule('restrict'),
    is_active: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
    created_at: p.datetime(3).onCreate(() => new Date()),
  },
});

export const Product = defineEntity({
  name: 'Product',
  indexes: [{ name: 'product_price_id', properties: ['price', 'id'] }],
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200),
    price: p.decimal('number').precision(10).scale(2),
    stock: p.integer().default(0),
  },
});

export const Draft = defineEntity({
  name: 'Draft',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200),
    price: p.decimal('number').precision(10).scale(2),
    stock: p.integer().default(0),
  },
});

/** Shown with two relations to many. */
export const Basket = defineEntity({
  name: 'Basket',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200),
    lines: () => p.oneToMany(Line).mappedBy('basket'),
    labels: () => p.manyToMany(Label),
  },
});

export const Line = defineEntity({
  name: 'Line',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200),
    amount: p.integer(),
    basket: () => p.manyToOne(Basket).index(),
  },
});

export const Label = defineEntity({
  name: 'Label',
  properties: { id: p.integer().primary(), name: p.string().length(50) },
});

export const entities = [Role, Account, Product, Draft, Basket, Line, Label];
