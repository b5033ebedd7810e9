/** The entities of the mistakes, in the two forms in which MikroORM lets them be written. */
const SCHEMAS = `
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

const PublisherSchema = defineEntity({
  name: 'Publisher',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
    city: p.string().length(50),
    books: () => p.oneToMany(Book).mappedBy('publisher'),
  },
});
<Publisher>
const AuthorSchema = defineEntity({
  name: 'Author',
  properties: { id: p.integer().primary(), email: p.string().unique(), password: p.string().hidden() },
});
<Author>
const BookSchema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(100),
    pages: p.integer().default(0),
    price: p.decimal('number').precision(8).scale(2).nullable(),
    in_print: p.boolean().default(true),
    published_at: p.datetime(3).nullable(),
    publisher: () => p.manyToOne(Publisher).nullable(),
    author: () => p.manyToOne(Author),
    secret: p.string().hidden().nullable(),
  },
});
<Book>
`;

const written = (form: (name: string) => string): string =>
  SCHEMAS.replaceAll(/<(\w+)>/g, (_, name: string) => form(name));

export const AS_CLASSES = written(
  (name) => `export class ${name} extends ${name}Schema.class {}\n${name}Schema.setClass(${name});`,
);
export const AS_CONSTANTS = written(
  (name) => `export const ${name} = ${name}Schema;\nexport type ${name} = InferEntity<typeof ${name}>;`,
);
