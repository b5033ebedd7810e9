import { type AccountOperations, type AccountPageName, accountOperations, accountPages } from './account-operations.ts';
import { type ApiDocument, type DocumentOperation, follow, type Parameter, type Schema } from './openapi.ts';
import { templatePattern } from './path-template.ts';
import { textOf } from './records.ts';
import { describe, propertiesOf } from './schema.ts';
import { insideOf, totalHeaderAmong, usualPage, type WireNames } from './wire-names.ts';
import { humanized } from './words.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One operation of the API. */
export interface Operation {
  readonly id: string;
  readonly method: Method;
  /** The path with its parameters in braces, `/api/products/{pk}`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string | undefined;
  readonly deprecated: boolean;
  readonly needsToken: boolean;
  /** True of the operations of logins and of one's own account, which are sent with the cookies of the server. */
  readonly isOfAccounts: boolean;
  /** The names of the permission classes, all of which must hold. */
  readonly permissions: readonly string[];
  readonly query: readonly Parameter[];
  /** Undefined if the operation takes no body. */
  readonly body: Body | undefined;
  /** The schema of the body of the first answer of success. */
  readonly answer: Schema | undefined;
  /** True of a list that can be followed as it changes. */
  readonly isLive: boolean;
  /** True if this answer has an entity tag. */
  readonly isTagged: boolean;
  /** The envelopes of the body and the answer, which their schemas leave out. */
  readonly wire: WireNames;
  /** What the view says of the operation; undefined if no view has it. */
  readonly facts: DocumentOperation['x-viewset'];
}

/** The body of an operation. */
export interface Body {
  /** Of a body that may have one of several shapes, the operation's own. */
  readonly schema: Schema;
  /** The schemas by the names of shapes; undefined if there is one. */
  readonly shapes: ReadonlyMap<string, Schema> | undefined;
  readonly type: string;
  readonly required: boolean;
}

/** A collection of records, and what can be done with it. */
export interface Resource {
  readonly name: string;
  /** What one of its records is called. */
  readonly singular: string;
  readonly entity: string | undefined;
  readonly description: string | undefined;
  /** The path of the collection. */
  readonly path: string;
  readonly recordPath: string;
  /** True if the record has no key in its path. */
  readonly isSingleton: boolean;
  /** The field by which a record is found. */
  readonly key: string;
  /** The schema of a record in the list. */
  readonly row: Schema;
  readonly list: Operation | undefined;
  /** The endings of the list's path that send it as a file. */
  readonly exports: readonly string[];
  readonly create: Operation | undefined;
  readonly retrieve: Operation | undefined;
  readonly update: Operation | undefined;
  readonly destroy: Operation | undefined;
  /** Changes several records in one request. */
  readonly updateMany: Operation | undefined;
  /** Deletes several records in one request. */
  readonly destroyMany: Operation | undefined;
  readonly collectionActions: readonly Operation[];
  readonly recordActions: readonly Operation[];
}

/** Everything that the page knows of an API. */
export interface Api {
  readonly title: string;
  readonly version: string | undefined;
  readonly description: string | undefined;
  readonly document: ApiDocument;
  readonly roots: readonly string[];
  readonly resources: readonly Resource[];
  readonly login: Operation | undefined;
  readonly account: AccountOperations;
}

interface PlannedOperation extends Operation {
  readonly facts: NonNullable<DocumentOperation['x-viewset']>;
}

/** Reads the document of an API. */
export function readApi(document: ApiDocument): Api {
  const all = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(document, path, method, operation)),
  );
  const planned = all.filter((operation): operation is PlannedOperation => operation.facts !== undefined);
  const views = Map.groupBy(planned, ({ facts }) => facts.view);
  return {
    title: document.info?.title ?? 'API',
    version: document.info?.version,
    description: document.info?.description,
    document,
    roots: planned.filter(isRoot).map(({ path }) => path),
    resources: [...views.values()]
      .filter(([first]) => !isRoot(first!))
      .map((operations) => readResource(document, operations)),
    login: all.find(
      ({ id, facts, method, body }) =>
        (id === 'login' || facts?.action === 'login') && method === 'POST' && body !== undefined,
    ),
    account: accountOperations(all),
  };
}

/** Tells if an operation is one of a router's root. */
function isRoot({ facts }: PlannedOperation): boolean {
  return facts.entity === undefined && facts.view.endsWith('-root');
}

function readOperation(document: ApiDocument, path: string, method: string, given: DocumentOperation): Operation {
  const parameters = (given.parameters ?? []).map((parameter) => follow<Parameter>(document, parameter));
  const content = Object.entries(given.requestBody?.content ?? {});
  const [type, media] =
    content.find(([name, { schema }]) => name.startsWith('multipart/') && schema !== undefined) ?? content[0] ?? [];
  const success = Object.keys(given.responses ?? {}).find((status) => status.startsWith('2'));
  const response = success === undefined ? {} : follow(document, given.responses![success]!);
  const answer = response.content?.['application/json']?.schema;
  const facts = given['x-viewset'];
  const { envelope, pageMembers } = facts ?? {};
  const sentInside = type?.endsWith('json') === true ? insideOf(document, media?.schema, envelope) : undefined;
  const answeredInside = insideOf(document, answer, envelope);
  return {
    id: given.operationId,
    method: method.toUpperCase() as Method,
    path,
    summary: given.summary ?? given.operationId,
    description: given.description === `${given.summary}. ${tokenWords(given)}` ? undefined : given.description,
    deprecated: given.deprecated === true,
    needsToken: (given.security ?? []).length > 0,
    isOfAccounts: given.tags?.includes('auth') === true,
    permissions: facts?.permissions ?? [],
    query: parameters.filter((parameter) => parameter.in === 'query'),
    body:
      type === undefined
        ? undefined
        : {
            ...schemasOf(document, sentInside ?? follow<Schema>(document, media?.schema ?? {}), facts?.writeShapes),
            type,
            required: given.requestBody?.required === true,
          },
    isLive: facts?.live === true,
    isTagged: response.headers?.['ETag'] !== undefined,
    answer: answeredInside ?? (pageMembers === undefined ? answer : usualPage(document, answer, pageMembers)),
    wire: {
      body: sentInside && envelope,
      answer: answeredInside && envelope,
      page: pageMembers ?? {},
      total: totalHeaderAmong(response.headers),
    },
    facts,
  };
}

/** Reads the schemas of a body, which stand in `anyOf` in the order of their names: of the body itself, or of the items of an array. */
function schemasOf(
  document: ApiDocument,
  schemaGiven: Schema,
  names: readonly string[] | undefined,
): Pick<Body, 'schema' | 'shapes'> {
  const kinds = schemaGiven.items?.anyOf ?? schemaGiven.anyOf;
  if (names === undefined || kinds === undefined) return { schema: schemaGiven, shapes: undefined };
  const schemas = kinds.map((kind) => {
    return schemaGiven.items === undefined ? follow<Schema>(document, kind) : { ...schemaGiven, items: kind };
  });
  return { schema: schemas[0]!, shapes: new Map(names.map((name, index) => [name, schemas[index]!])) };
}

/** The sentence that the document adds to a summary where nobody has written a description. */
function tokenWords({ security = [] }: DocumentOperation): string {
  return security.length > 0 ? 'Needs a token.' : 'Needs no token.';
}

function isUsual({ facts }: PlannedOperation): boolean {
  return facts.variant === undefined;
}

const BUILT_IN = new Set(['list', 'create', 'retrieve', 'update', 'destroy']);

function readResource(document: ApiDocument, operations: readonly PlannedOperation[]): Resource {
  const { view, entity, key = 'id' } = operations[0]!.facts;
  const [usual, variants] = [operations.filter(isUsual), operations.filter((operation) => !isUsual(operation))];
  const ofAction = (action: string, method: Method, detail: boolean): Operation | undefined =>
    usual.find(({ facts, method: each }) => facts.action === action && each === method && facts.detail === detail);
  const list = ofAction('list', 'GET', false);
  const create = ofAction('create', 'POST', false);
  const retrieve = ofAction('retrieve', 'GET', true);
  const update = ofAction('update', 'PATCH', true);
  const destroy = ofAction('destroy', 'DELETE', true);
  const recordPath = (retrieve ?? update ?? destroy)?.path ?? '';
  const path = (list ?? create)?.path ?? recordPath.replace(/\/\{[^{}]+\}$/, '');
  // The bytes of a file are shown where the file is.
  const files = new Set(
    propertiesOf(document, retrieve?.answer)
      .filter(isFile(document))
      .map(([name]) => name),
  );
  const further = operations.filter(({ facts }) => !BUILT_IN.has(facts.action) && !files.has(facts.action));
  const tag = document.tags?.find(({ name }) => name === view);
  const isSaid = tag?.description !== undefined && tag.description !== `Operations on ${view}.`;
  return {
    name: humanized(path.split('/').at(-1) ?? view),
    singular: humanized(entity ?? view).toLowerCase(),
    entity,
    description: isSaid ? tag.description : undefined,
    path,
    recordPath,
    isSingleton: recordPath !== '' && !recordPath.endsWith('}'),
    key,
    row: rowOf(document, list?.answer) ?? retrieve?.answer ?? {},
    list,
    exports: variants.filter(({ facts }) => facts.action === 'list').map(({ facts }) => facts.variant!),
    create,
    retrieve,
    update,
    destroy,
    updateMany: ofAction('update', 'PATCH', false),
    destroyMany: ofAction('destroy', 'DELETE', false),
    collectionActions: further.filter(({ facts }) => !facts.detail),
    recordActions: further.filter(({ facts }) => facts.detail),
  };
}

/** Tells if the resource has a page at its path: a list, or the record of a singleton. */
export function hasPage({ list, retrieve, isSingleton }: Resource): boolean {
  return list !== undefined || (isSingleton && retrieve !== undefined);
}

/** Tells if a field is a file, as records show one. */
function isFile(document: ApiDocument) {
  return ([, schema]: readonly [string, Schema]): boolean => {
    return describe(document, schema).kind === 'stored file';
  };
}

/** Returns the schema of the records of a list: of a page's `results`, or of an array's items. */
export function rowOf(document: ApiDocument, answer: Schema | undefined): Schema | undefined {
  const schema = follow<Schema>(document, answer ?? {});
  const results = schema.properties?.['results'];
  return (results === undefined ? schema : follow<Schema>(document, results)).items;
}

/** A place of the API that has a page. */
export type Place =
  | { readonly kind: 'root'; readonly path: string }
  | { readonly kind: 'collection'; readonly path: string; readonly resource: Resource }
  | { readonly kind: 'record'; readonly path: string; readonly resource: Resource }
  | { readonly kind: 'account'; readonly path: string; readonly page: AccountPageName }
  | { readonly kind: 'unknown'; readonly path: string };

/** Finds the page of one's own account that the fragment of a URL names; undefined if it names none. */
export function accountPlaceOf({ account }: Api, fragment: URLSearchParams): Place | undefined {
  const page = accountPages(account).find((each) => each === fragment.get('account'));
  return page && { kind: 'account', path: '', page };
}

/** The address of a page of one's own account: that of the first router's root, where the server has a page for everybody. */
export function accountHref({ roots }: Api, page: AccountPageName): string {
  return `${roots[0] ?? ''}#account=${page}`;
}

/** Finds the place that a URL's path names; a collection before a record, as the server does. */
export function placeOf(api: Api, pathname: string): Place {
  const path = pathOfPlace(pathname);
  if (api.roots.includes(path)) return { kind: 'root', path };
  for (const kind of ['collection', 'record'] as const) {
    const resource = api.resources.find((each) => {
      const isThere = kind === 'collection' ? each.list !== undefined : each.retrieve !== undefined;
      return isThere && templatePattern(kind === 'collection' ? each.path : each.recordPath).test(path);
    });
    if (resource !== undefined) return { kind, path, resource };
  }
  return { kind: 'unknown', path };
}

/** Returns the path of a place, with which a slash at the end makes no difference. */
export function pathOfPlace(pathname: string): string {
  return pathname === '/' ? pathname : pathname.replace(/\/+$/, '');
}

/** Fills the parameters of a template with the steps of a path above it: of `/authors/7/books`, `{author}` is 7. */
export function fillPath(template: string, path: string): string {
  const given = path.split('/');
  return template
    .split('/')
    .map((step, index) => (step.startsWith('{') ? (given[index] ?? step) : step))
    .join('/');
}

/** Fills the one parameter of the path of an operation. */
export function pathFor({ path }: Operation, key: unknown): string {
  return path.replace(/\{[^{}]+\}/, encodeURIComponent(textOf(key)));
}

/** Returns the path of a record of a collection; undefined if no URL can name it: `..` is the collection above. */
export function recordPathOf(resource: Resource, collectionPath: string, key: unknown): string | undefined {
  const step = textOf(key);
  if (['', '.', '..'].includes(step)) return undefined;
  const filled = fillPath(resource.recordPath.replace(/\/\{[^{}]+\}$/, ''), collectionPath);
  return `${filled}/${encodeURIComponent(step)}`;
}

/** Finds the collections that stand below the records of a resource: `/authors/{author}/books` below `/authors/{pk}`. */
export function collectionsBelow(api: Api, resource: Resource): readonly Resource[] {
  const depth = resource.recordPath.split('/').length;
  return api.resources.filter((each) => {
    const steps = each.path.split('/');
    return (
      each.list !== undefined &&
      steps.length === depth + 1 &&
      templatePattern(resource.recordPath).test(steps.slice(0, -1).join('/'))
    );
  });
}
