/** A mistake that somebody may make with a view of books, and the first line of what the compiler says of it. */
export interface Mistake {
  readonly name: string;
  readonly code: string;
  readonly message: string;
}

/** Stands before the code of each mistake. */
export const PRELUDE = `
import { action, computed, field, type InputOf, IsAuthenticated, ModelViewSet, PathRateLimit, Permission, type PermissionView } from '@viewset/core';
import { file, type FileStore, many, readShape, Router, scoped, type WriteData, writeShape } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Author, Book, Publisher } from './entities.ts';
const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title'], { author: 'author.email', publisher: 'publisher.name' });
`;

export const MISTAKES: readonly Mistake[] = [
  {
    name: 'a nested shape of another entity',
    code: `
export const shape = readShape(Book, ['id'], { publisher: readShape(Author, ['email']) });`,
    message: "Type 'ReadShape<Author, { email: string; }>' is not assignable to type 'ObjectSource<Publisher, Book>'.",
  },
  {
    name: 'a nested shape under a name that is no relation',
    code: `
export const shape = readShape(Book, ['id'], { publishr: readShape(Publisher, ['name']) });`,
    message: "Type 'ReadShape<Publisher, { name: string; }>' is not assignable to type 'ExtraSource<Book>'.",
  },
  {
    name: 'an action that answers with a record, and returns nothing',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  x = action({ detail: true, answers: 'record' }, async (request) => { this.represent(await this.getObject(request)); });
}`,
    message:
      "Argument of type '(request: ActionRequest<undefined, undefined, true, readonly []>) => Promise<void>' is not assignable to parameter of type 'ActionHandler<undefined, undefined, undefined, undefined, true, readonly [], \"record\">'.",
  },
  {
    name: 'an action that answers with a page, and returns a list',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  x = action({ answers: 'page' }, async (request) => this.rows(this.getQueryset(request)));
}`,
    message:
      "Type 'Promise<{ id: number; title: string; }[]>' is not assignable to type 'Promise<Reply | (object & AnswerOfView)> | Reply | (object & AnswerOfView)'.",
  },
  {
    name: 'a write override of another kind',
    code: `
export const shape = writeShape(Book, ['title'], { pages: Type.String() });`,
    message:
      'Type \'TString\' is not assignable to type \'Renamed<WritableName<Book>, unknown> | SchemaOf<"integer" | "number">\'.',
  },
  {
    name: 'a misspelt property under another name in a write shape',
    code: `
export const shape = writeShape(Book, ['pages'], { heading: 'titel' });`,
    message: "Type '\"titel\"' is not assignable to type 'OtherSource<Book>'. Did you mean '\"title\"'?",
  },
  {
    name: 'a misspelt property in field()',
    code: `
export const shape = writeShape(Book, ['pages'], { heading: field('titel', Type.String()) });`,
    message: "Type 'Renamed<\"titel\", TString>' is not assignable to type 'OtherSource<Book>'.",
  },
  {
    name: 'a schema under a name that no property has',
    code: `
export const shape = writeShape(Book, ['title'], { heading: Type.String() });`,
    message: "Type 'TString' is not assignable to type 'OtherSource<Book>'.",
  },
  {
    name: 'a misspelt name in extend() of a read shape',
    code: `
export const shape = read.extend(['pags']);`,
    message: "Type '\"pags\"' is not assignable to type 'ShownName<Book>'. Did you mean '\"pages\"'?",
  },
  {
    name: 'a misspelt path in extend() of a read shape',
    code: `
export const shape = read.extend([], { by: 'author.emial' });`,
    message: "Type '\"author.emial\"' is not assignable to type 'ExtraSource<Book>'. Did you mean '\"author.email\"'?",
  },
  {
    name: 'a misspelt name in pick() of a read shape',
    code: `
export const shape = read.pick(['titel']);`,
    message: 'Type \'"titel"\' is not assignable to type \'"id" | "title"\'. Did you mean \'"title"\'?',
  },
  {
    name: 'a misspelt name in extend() of a write shape',
    code: `
export const shape = write.extend(['pags']);`,
    message: "Type '\"pags\"' is not assignable to type 'WritableName<Book>'. Did you mean '\"pages\"'?",
  },
  {
    name: 'a misspelt name in omit() of a write shape',
    code: `
export const shape = write.omit(['autor']);`,
    message:
      'Type \'"autor"\' is not assignable to type \'"author" | "publisher" | "title"\'. Did you mean \'"author"\'?',
  },
  {
    name: 'a related record of another kind in performCreate',
    code: `
export class V extends ModelViewSet(Book, { read, write }) {
  override performCreate(request: FastifyRequest, data: WriteData<Book, InputOf<typeof write>>) {
    return super.performCreate(request, { ...data, author: 'Ann' });
  }
}`,
    message: "Type 'string' is not assignable to type 'Author'.",
  },
  {
    name: 'a value of another kind in performCreate',
    code: `
export class V extends ModelViewSet(Book, { read, write }) {
  override performCreate(request: FastifyRequest, data: WriteData<Book, InputOf<typeof write>>) {
    return super.performCreate(request, { ...data, pages: 'many' });
  }
}`,
    message:
      "Type 'string' is not assignable to type 'RawQueryFragment<string> | Opt<number> | (number & Brand) | undefined'.",
  },
  {
    name: 'a misspelt field in performCreate',
    code: `
export class V extends ModelViewSet(Book, { read, write }) {
  override performCreate(request: FastifyRequest, data: WriteData<Book, InputOf<typeof write>>) {
    return super.performCreate(request, { ...data, autor: 1 });
  }
}`,
    message:
      "Object literal may only specify known properties, but 'autor' does not exist in type 'WriteData<Book, { author: string; publisher?: string | null; title: string; }>'. Did you mean to write 'author'?",
  },
  {
    name: 'records() without its type argument',
    code: `
export class P extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records(view, { titel: 'x' });
  }
}`,
    message:
      "Argument of type '{ titel: string; }' is not assignable to parameter of type '\"name the entity whose records these are: this.records<Order>(view, …)\"'.",
  },
  {
    name: 'params.pk in an action of the collection',
    code: `
export class V extends ModelViewSet(Book, { read, write }) {
  featured = action({}, async (request) => ({ pk: request.params.pk }));
}`,
    message: "'request.params' is of type 'unknown'.",
  },
  {
    name: 'getObject in an action of the collection',
    code: `
export class V extends ModelViewSet(Book, { read, write }) {
  featured = action({}, async (request) => ({ title: (await this.getObject(request)).title }));
}`,
    message:
      "Argument of type 'ActionRequest<undefined, undefined, false, readonly []>' is not assignable to parameter of type 'RecordRequest' with 'exactOptionalPropertyTypes: true'. Consider adding 'undefined' to the types of the target's properties.",
  },
  {
    name: 'a number to search',
    code: `
export class V extends ModelViewSet(Book, { read, write, searchFields: ['pages'] }) {}`,
    message: "Type '\"pages\"' is not assignable to type 'SearchField<Book>'.",
  },
  {
    name: 'a hidden column to read',
    code: `
export const a = readShape(Book, ['id', 'secret']);`,
    message: "Type '\"secret\"' is not assignable to type 'ShownName<Book>'.",
  },
  {
    name: 'a hidden column of a related record',
    code: `
export const b = readShape(Book, ['id'], { password: 'author.password' });`,
    message: "Type '\"author.password\"' is not assignable to type 'ExtraSource<Book>'.",
  },
  {
    name: 'represent adds what the read shape lacks',
    code: `
export class V extends ModelViewSet(Book, { read, write }) {
  override represent(book: Book) { return { ...super.represent(book), labl: book.title }; }
}
new Router().register('books', V);`,
    message:
      "Argument of type 'typeof V' is not assignable to parameter of type 'typeof V & { readonly 'not in the read shape, so never sent': \"labl\"; }' with 'exactOptionalPropertyTypes: true'. Consider adding 'undefined' to the types of the target's properties.",
  },
  {
    name: 'a misspelt path of JSON Logic',
    code: `
export class V extends ModelViewSet(Book, { read, write, jsonLogicFields: ['publisher.nmae'] }) {}`,
    message:
      "Type '\"publisher.nmae\"' is not assignable to type 'JsonValue<Book, string | number | boolean, string> | JsonLogicField<Book>'. Did you mean '\"publisher.name\"'?",
  },
  {
    name: 'request.user, who may be nobody',
    code: `
export class V extends ModelViewSet(Book, { read, write, permissionClasses: [IsAuthenticated] }) {
  mine = action({}, async (request) => ({ id: request.user.id }));
}`,
    message: "'request.user' is possibly 'null'.",
  },
  {
    name: 'a misspelt name in a read shape',
    code: `
export const x = readShape(Book, ['id', 'titel']);`,
    message: "Type '\"titel\"' is not assignable to type 'ShownName<Book>'. Did you mean '\"title\"'?",
  },
  {
    name: 'a misspelt path in a read shape',
    code: `
export const x = readShape(Book, ['id'], { p: 'publisher.nmae' });`,
    message:
      "Type '\"publisher.nmae\"' is not assignable to type 'ExtraSource<Book>'. Did you mean '\"publisher.name\"'?",
  },
  {
    name: 'a misspelt name in a write shape',
    code: `
export const x = writeShape(Book, ['titel']);`,
    message: "Type '\"titel\"' is not assignable to type 'WritableName<Book>'. Did you mean '\"title\"'?",
  },
  {
    name: 'a misspelt reference',
    code: `
export const x = writeShape(Book, ['title'], { publisher: 'publisher.nmae' });`,
    message:
      'Type \'"publisher.nmae"\' is not assignable to type \'"publisher.city" | "publisher.id" | "publisher.name" | Nested<Publisher & object, object, boolean> | Renamed<WritableName<Book>, unknown> | SchemaOf<...>\'. Did you mean \'"publisher.name"\'?',
  },
  {
    name: 'a misspelt option',
    code: `
export class V extends ModelViewSet(Book, { read, wriet: write }) {}`,
    message:
      "Object literal may only specify known properties, but 'wriet' does not exist in type 'ModelViewSetOptions<Book>'. Did you mean to write 'write'?",
  },
  {
    name: 'one field where a list of them belongs',
    code: `
export class V extends ModelViewSet(Book, { read, searchFields: 'title' }) {}`,
    message: "Type 'string' is not assignable to type 'readonly SearchField<Book>[] | TextSearch<Book>'.",
  },
  {
    name: 'a class in the place of a throttle',
    code: `
export class V extends ModelViewSet(Book, { read, throttles: [PathRateLimit] }) {}`,
    message: "Type 'typeof PathRateLimit' is not assignable to type 'RateLimitRuleInstance'.",
  },
  {
    name: 'a class in the place of a throttle of an action',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  top = action({ throttles: [PathRateLimit] }, () => []);
}`,
    message: "Type 'typeof PathRateLimit' is not assignable to type 'RateLimitRuleInstance'.",
  },
  {
    name: 'a misspelt search field',
    code: `
export class V extends ModelViewSet(Book, { read, searchFields: ['titel'] }) {}`,
    message: "Type '\"titel\"' is not assignable to type 'SearchField<Book>'. Did you mean '\"title\"'?",
  },
  {
    name: 'a misspelt lookup',
    code: `
export class V extends ModelViewSet(Book, { read, filterFields: { p: 'pages__gtee' } }) {}`,
    message:
      "Type '\"pages__gtee\"' is not assignable to type 'LookupName<Book> | ValueLookup<Book>'. Did you mean '\"pages__gte\"'?",
  },
  {
    name: 'a misspelt ordering field',
    code: `
export class V extends ModelViewSet(Book, { read, orderingFields: { p: 'pagse' } }) {}`,
    message:
      'Type \'"pagse"\' is not assignable to type \'JsonValue<Book, string | number | boolean, string> | RelatedValue<Book, number | boolean> | PathOf<Book, "__">\'. Did you mean \'"pages"\'?',
  },
  {
    name: 'a misspelt ordering',
    code: `
export class V extends ModelViewSet(Book, { read, ordering: ['-pagse'] }) {}`,
    message: "Type '\"-pagse\"' is not assignable to type 'OrderName<Book>'. Did you mean '\"-pages\"'?",
  },
  {
    name: 'a misspelt operation',
    code: `
export class V extends ModelViewSet(Book, { read, operations: ['list', 'retreive'] }) {}`,
    message:
      'Type \'"retreive"\' is not assignable to type \'"create" | "destroy" | "list" | "retrieve" | "update"\'. Did you mean \'"retrieve"\'?',
  },
  {
    name: 'an instance of a permission',
    code: `
export class V extends ModelViewSet(Book, { read, permissionClasses: [new IsAuthenticated()] }) {}`,
    message:
      "Type 'IsAuthenticated' is missing the following properties from type 'PermissionClass': name, and, or, not",
  },
  {
    name: 'a read shape of another entity',
    code: `
export class V extends ModelViewSet(Book, { read: readShape(Publisher, ['id', 'name']) }) {}`,
    message: "Type 'ReadShape<Publisher, { id: number; name: string; }>' is not assignable to type 'ReadOption<Book>'.",
  },
  {
    name: 'a write shape of another entity',
    code: `
export class V extends ModelViewSet(Book, { read, write: writeShape(Publisher, ['name']) }) {}`,
    message: "Type 'WriteShape<Publisher, { name: string; }>' is not assignable to type 'WriteOption<Book>'.",
  },
  {
    name: 'a misspelt field in a query',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  override getQueryset(request: FastifyRequest) { return super.getQueryset(request).filter({ titel: 'x' }); }
}`,
    message:
      "Object literal may only specify known properties, but 'titel' does not exist in type 'Lookups<Book>'. Did you mean to write 'title'?",
  },
  {
    name: 'a value of another kind in a query',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  override getQueryset(request: FastifyRequest) { return super.getQueryset(request).filter({ pages__gte: 'x' }); }
}`,
    message: "Type 'string' is not assignable to type 'number'.",
  },
  {
    name: 'a misspelt option of an action',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  x = action({ method: ['post'] }, async () => ({}));
}`,
    message:
      "Object literal may only specify known properties, but 'method' does not exist in type 'ActionOptions<undefined, undefined, undefined, undefined, \"get\", false, undefined, undefined, undefined, readonly []>'. Did you mean to write 'methods'?",
  },
  {
    name: 'an answer that is not declared',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  x = action({ response: Type.Object({ total: Type.Integer() }) }, async () => ({ totl: 1 }));
}`,
    message:
      "Type 'Promise<{ totl: number; }>' is not assignable to type 'Promise<Reply | { total: number; }> | Reply | { total: number; }'.",
  },
  {
    name: 'a parameter that is not declared',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  x = action({ querystring: Type.Object({ q: Type.String() }) }, async (request) => ({ q: request.query.k }));
}`,
    message: "Property 'k' does not exist on type '{ q: string; }'.",
  },
  {
    name: 'a hook that does not say override',
    code: `
export class V extends ModelViewSet(Book, { read }) {
  getQueryset(request: FastifyRequest) { return super.getQueryset(request); }
}`,
    message:
      "This member must have an 'override' modifier because it overrides a member in the base class 'ModelViewSetBase<Book, TypesOf<{ read: ReadShape<Book, { id: number; title: string; }>; }>>'.",
  },
  {
    name: 'a computed field reads what it does not name',
    code: `
export const x = readShape(Book, ['id'], { l: computed(Type.String(), ['title'], (book) => book.pages) });`,
    message: "Property 'pages' does not exist on type 'ComputedRecord<Book, \"title\">'.",
  },
  {
    name: 'a computed field of another kind',
    code: `
export const x = readShape(Book, ['id'], { l: computed(Type.String(), ['pages'], (book) => book.pages) });`,
    message: "Type 'number' is not assignable to type 'string'.",
  },
  {
    name: 'a misspelt field in performUpdate',
    code: `
export class V extends ModelViewSet(Book, { read, write }) {
  override performUpdate(request: FastifyRequest, book: Book, data: WriteData<Book, InputOf<typeof write>>) {
    if (data.titel !== undefined) return super.performUpdate(request, book, data);
    return super.performUpdate(request, book, data);
  }
}`,
    message:
      "Property 'titel' does not exist on type 'WriteData<Book, { author: string; publisher?: string | null; title: string; }>'. Did you mean 'title'?",
  },
  {
    name: 'a misspelt reference in referencePermissions',
    code: `
export class V extends ModelViewSet(Book, { read, write, referencePermissions: { publiser: [IsAuthenticated] } }) {}`,
    message:
      "Object literal may only specify known properties, but 'publiser' does not exist in type 'Readonly<Partial<Record<ReferencePath<Book>, readonly PermissionClass[]>>>'. Did you mean to write 'publisher'?",
  },
  {
    name: 'a text for a number',
    code: `
export class V extends ModelViewSet(Book, { read, pageSize: '10', maxPageSize: 5 }) {}`,
    message: "Type 'string' is not assignable to type 'number'.",
  },
  {
    name: 'a misspelt count',
    code: `
export class V extends ModelViewSet(Book, { read, count: 'exakt' }) {}`,
    message: 'Type \'"exakt"\' is not assignable to type \'"estimated" | "exact" | "none"\'. Did you mean \'"exact"\'?',
  },
  {
    name: 'a misspelt operation of bulk',
    code: `
export class V extends ModelViewSet(Book, { read, write, bulk: { create: 5, updat: 5 } }) {}`,
    message:
      'Object literal may only specify known properties, but \'updat\' does not exist in type \'Readonly<Partial<Record<"create" | "destroy" | "update", number>>>\'. Did you mean to write \'update\'?',
  },
  {
    name: 'a misspelt lookup field',
    code: `
export class V extends ModelViewSet(Book, { read, lookupField: 'titel' }) {}`,
    message: "Type '\"titel\"' is not assignable to type 'LookupField<Book>'. Did you mean '\"title\"'?",
  },
  {
    name: 'a misspelt name in a schema by hand',
    code: `
export class V extends ModelViewSet(Book, { read: Type.Object({ id: Type.Integer(), titel: Type.String() }) }) {}`,
    message:
      "Type 'TObject<{ id: TInteger; titel: TString; }>' is not assignable to type 'ReadOption<Book> & { readonly properties: { readonly titel: never; }; }'.",
  },
  {
    name: 'words about a misspelt field',
    code: `
export class V extends ModelViewSet(Book, { read, fieldWords: { titel: { description: 'x' } } }) {}`,
    message:
      "Object literal may only specify known properties, but 'titel' does not exist in type 'FieldWords<Book, \"id\" | \"title\">'. Did you mean to write 'title'?",
  },
  {
    name: 'a misspelt field in the lookups of a scope',
    code: `
export const Own = scoped(Book, () => ({ autor__email: 'ann' }));`,
    message: "Type '{ autor__email: string; }' is not assignable to type 'Awaitable<Lookups<Book>>'.",
  },
  {
    name: 'a value of another kind in the lookups of a scope',
    code: `
export const Own = scoped(Book, async () => ({ pages__gt: 'ann' }));`,
    message: "Type 'Promise<{ pages__gt: string; }>' is not assignable to type 'Awaitable<Lookups<Book>>'.",
  },
  {
    name: 'a misspelt media type of a file',
    code: `
declare const store: FileStore;
export const image = file({ store, maxBytes: 1, types: ['images/*'] });`,
    message:
      "Type '\"images/*\"' is not assignable to type '`application/${string}` | `audio/${string}` | `font/${string}` | `haptics/${string}` | `image/${string}` | `message/${string}` | `model/${string}` | `multipart/${string}` | `text/${string}` | `video/${string}`'.",
  },
  {
    name: 'a misspelt relation to the parent',
    code: `
class V extends ModelViewSet(Book, { read }) {}
export const router = new Router().register('people/:person/books', V, { parent: 'autor' });`,
    message: "Type '\"autor\"' is not assignable to type 'FieldName<Book> | undefined'. Did you mean '\"author\"'?",
  },
  {
    name: 'an unknown order in many()',
    code: `
export const shape = readShape(Publisher, ['id'], { books: many(read, { orderBy: 'titel' }) });`,
    message:
      "Type '\"titel\"' is not assignable to type 'readonly OrderName<Book>[] | OrderName<Book> | undefined'. Did you mean '\"title\"'?",
  },
  {
    name: 'a misspelt option beside hooks that other options type',
    code: `
export class V extends ModelViewSet(Book, { read, write, serchFields: ['title'], filterFields: { pages: 'pages' } }) {
  override performCreate(request: FastifyRequest, data: WriteData<Book, InputOf<typeof write>>) {
    return super.performCreate(request, { ...data, title: data.title.trim() });
  }
  override represent(book: Book) { return { ...super.represent(book), title: book.title }; }
}
export const router = new Router().register('books', V);`,
    message:
      "Object literal may only specify known properties, but 'serchFields' does not exist in type 'ModelViewSetOptions<Book>'. Did you mean to write 'searchFields'?",
  },
  {
    name: 'another parameter in performCreate',
    code: `
export class V extends ModelViewSet(Book, { read, write, searchFields: ['title'], filterFields: { pages: 'pages' } }) {
  override performCreate(request: FastifyRequest, data: { titel: string }) {
    return super.performCreate(request, data as never);
  }
}`,
    message:
      "Property 'performCreate' in type 'V' is not assignable to the same property in base type 'ModelViewSetBase<Book, TypesOf<{ read: ReadShape<Book, { id: number; title: string; }>; write: WriteShape<Book, { author: string; publisher?: string | null; title: string; }>; }>>'.",
  },
  {
    name: 'an unknown name in readShapeFor',
    code: `
export class V extends ModelViewSet(Book, { read: { default: read, staff: read }, searchFields: ['title'] }) {
  override readShapeFor() { return 'stuff' as const; }
}`,
    message:
      "Property 'readShapeFor' in type 'V' is not assignable to the same property in base type 'ModelViewSetBase<Book, TypesOf<{ read: { readonly default: ReadShape<Book, { id: number; title: string; }>; readonly staff: ReadShape<Book, { id: number; title: string; }>; }; }>>'.",
  },
];
