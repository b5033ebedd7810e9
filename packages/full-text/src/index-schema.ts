import type { EntityManager, EntityName, MikroORM } from '@mikro-orm/core';
import { ImproperlyConfigured, QuerySet, wrongOption } from '@viewset/core';
import { defineSearch, type Definition, type FullTextSearch } from './definition.ts';
import type { Form, IndexState } from './forms/form.ts';
import { formOf } from './forms/form-of.ts';

/** An application also starts if its database is down, and a Fastify hook must finish within ten seconds. */
const MAX_WAIT_MS = 5000;

/** Other instances may create the index at the same time. On MongoDB, each of them may abort the others once. */
const MAX_ATTEMPTS = 5;

/**
 * Returns the statements that make a search's index, in order, for a migration: SQL, or `mongosh` commands. It does not
 * contact the database.
 *
 * @param orm determines the kind of database
 * @throws ImproperlyConfigured for fields that are not text columns of the entity
 * @example
 * const search = fullText<Book>(['title^2'], { language: 'english' });
 * for (const sql of fullTextSchema(orm, Book, search)) console.log(`${sql};`);
 * // alter table "book" add column "full_text" tsvector generated always as (setweight(to_tsvector(…), 'A')) stored;
 * // comment on column "book"."full_text" is 'fullText(title^2; english)';
 * // create index "book_full_text" on "book" using gin ("full_text");
 */
export function fullTextSchema<Entity extends object>(
  orm: MikroORM,
  entity: EntityName<Entity>,
  search: FullTextSearch<Entity>,
): readonly string[] {
  return bind(orm, entity, search).form.statements(false);
}

/**
 * Creates a search's index in the ORM's database, or replaces one with another definition. It is for tests, and for
 * programs that call `orm.schema.update()`. It does nothing if the index is up to date. Call it after the table exists.
 * Several instances of an application may call it at the same time.
 *
 * @throws ImproperlyConfigured if something else uses the name or place of the index, or on SQLite if the ORM's schema
 * generator would change the index
 * @example
 * await orm.schema.update();
 * await updateFullText(orm, Book, fullText<Book>(['title^2'], { language: 'english' }));
 */
export async function updateFullText<Entity extends object>(
  orm: MikroORM,
  entity: EntityName<Entity>,
  search: FullTextSearch<Entity>,
): Promise<void> {
  const { definition, form } = bind(orm, entity, search);
  form.checkGenerator(orm.em);
  for (let attempt = 1; ; attempt++) {
    const state = await form.inspect(orm.em);
    if (state.kind === 'current') return;
    if (state.kind === 'foreign') throw new ImproperlyConfigured(`fullText(): ${foreignText(definition, state)}`);
    try {
      return await form.create(orm.em, state.kind === 'outdated');
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

function bind<Entity extends object>(
  orm: MikroORM,
  entity: EntityName<Entity>,
  search: FullTextSearch<Entity>,
): { readonly definition: Definition; readonly form: Form } {
  const { declaration } = (search as Partial<FullTextSearch> | undefined) ?? {};
  if (declaration === undefined) {
    throw wrongOption(
      'fullTextSchema() and updateFullText()',
      'search',
      'the value that fullText() has returned',
      search,
    );
  }
  const records = QuerySet.of(orm.em, entity);
  const definition = defineSearch(orm.em, records.meta, declaration);
  return { definition, form: formOf(records.database, definition) };
}

/**
 * Checks that a view's index exists. Ignores a table that does not exist yet, and a database that does not answer.
 *
 * @throws ImproperlyConfigured with the statements that create the index
 */
export async function checkIndex(view: string, em: EntityManager, definition: Definition, form: Form): Promise<void> {
  form.checkGenerator(em);
  const state = await stateInTime(em, form);
  if (state === undefined || state.kind === 'current' || state.kind === 'no table') return;
  if (state.kind === 'foreign') {
    throw new ImproperlyConfigured(`${view}: fullText(): ${foreignText(definition, state)}`);
  }
  const isOutdated = state.kind === 'outdated';
  const { className } = definition.meta;
  const problem = isOutdated
    ? `the full-text index of ${className} is not the one that the view declares`
    : `the full-text index of ${className} is missing`;
  // Otherwise two views could each ask to replace the other's index.
  const hint = isOutdated ? `If it belongs to the search of another view, ${form.another}. ` : '';
  const statements = form.statements(isOutdated).map((statement) => `${statement};`);
  throw new ImproperlyConfigured(
    `${view}: ${problem}. ${hint}To make it, run these statements, by updateFullText() or in a migration:\n${statements.join('\n')}`,
  );
}

function foreignText({ meta }: Definition, { problem = '' }: IndexState): string {
  return `${meta.className} cannot have the index: ${problem}; choose another "name"`;
}

/** Undefined if the database does not answer. */
async function stateInTime(em: EntityManager, form: Form): Promise<IndexState | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, MAX_WAIT_MS, undefined);
  });
  try {
    return await Promise.race([form.inspect(em).catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
