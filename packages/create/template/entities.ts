import { defineEntity, p } from '@mikro-orm/core';
import { Account, Role } from './accounts.ts';

const BookSchema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(200).index(),
    pages: p.integer().index(),
  },
});
export class Book extends BookSchema.class {}
BookSchema.setClass(Book);

export const entities = [
  Book,
  // if accounts
  Account,
  Role,
  // end
];
