import type { EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { checkEntity } from '../backends/check-entity.ts';
import type { ColumnDifference } from '../mikro/column-differences.ts';
import { findBackend } from '../query/backend-of.ts';

const DIFFERENCE_CURE =
  'write a migration, or `await orm.schema.update()` while you develop; `viewset check` prints the statements';
const CURE = 'run your migrations, or `await orm.schema.update({ safe: true })` while you develop';
const CONSTRAINT_CURE = 'correct the name, run your migrations, or remove the message';

/** The most tables, or columns, that the message names. The log has all of them. */
const NAMED = 5;

/**
 * Warns of entities whose table or column the database lacks, of columns whose type, length, nullability, enum or unique constraint it has
 * otherwise, and of names in the option `constraints` that it does not have, after the application listens. Nothing waits
 * for it, so a slow or missing database does not delay the start.
 */
export function warnOfMissingTables(app: FastifyInstance, orm: MikroORM): void {
  let isClosed = false;
  app.addHook('onClose', async () => {
    isClosed = true;
  });
  app.addHook('onListen', (done) => {
    done();
    void warn(app, orm, () => isClosed);
  });
}

async function warn(app: FastifyInstance, orm: MikroORM, isClosed: () => boolean): Promise<void> {
  const missing: string[] = [];
  let differing: readonly ColumnDifference[] = [];
  let unknown: readonly string[] = [];
  try {
    const backend = findBackend(orm.em);
    for (const meta of orm.getMetadata().getAll().values()) {
      if (isClosed()) return;
      if (!hasTable(meta)) continue;
      const part = await backend?.missingPart(orm.em.fork(), meta);
      if (part !== undefined) missing.push(`${part} (entity ${meta.className})`);
    }
    if (isClosed()) return;
    differing = (await backend?.differingColumns(orm)) ?? [];
    if (isClosed()) return;
    unknown = await unknownConstraints(app, orm);
    app.log.debug('the database was checked');
  } catch (error) {
    if (!isClosed()) app.log.debug({ err: error }, 'the tables of the database were not checked');
  }
  if (isClosed()) return;
  if (missing.length > 0) {
    missing.sort();
    app.log.warn({ missing }, `The database lacks ${named(missing, ', ')}: ${CURE}`);
  }
  if (differing.length > 0) {
    const classOf = classNames(orm);
    const columns = differing
      .map(({ table, columns: names, actual, declared }) => {
        const place = `the column${names.length === 1 ? '' : 's'} ${names.map((name) => `"${name}"`).join(', ')}`;
        return `${place} of the table "${table}" ${actual}, but ${classOf(table)} ${declared}`;
      })
      .toSorted();
    app.log.warn(
      { differing: columns },
      `The database differs from the entities: ${named(columns, '; ')}: ${DIFFERENCE_CURE}`,
    );
  }
  if (unknown.length > 0) {
    app.log.warn({ unknown }, `The database has no constraint ${named(unknown, ', ')}: ${CONSTRAINT_CURE}`);
  }
}

/** Lists the names in the options `constraints` that the database does not have, each with the view. */
async function unknownConstraints(app: FastifyInstance, orm: MikroORM): Promise<string[]> {
  const views = new Map(
    app.viewset.plannedRoutes.flatMap(({ view, definition: { features } }) =>
      features?.refusals === undefined ? [] : [[view.name, features.refusals] as const],
    ),
  );
  const names = new Set([...views.values()].flatMap((messages) => messages.names));
  if (names.size === 0) return [];
  const declared = new Set([...views.values()].flatMap(({ declaredNames }) => declaredNames));
  const unknown = new Set(await findBackend(orm.em)?.unknownConstraints(orm, [...names], declared));
  return [...views].flatMap(([view, messages]) =>
    messages.names.filter((name) => unknown.has(name)).map((name) => `"${name}" (${view}.constraints)`),
  );
}

function named(parts: readonly string[], separator: string): string {
  const others = parts.length - NAMED;
  return `${parts.slice(0, NAMED).join(separator)}${others > 0 ? ` and ${others} more` : ''}`;
}

/** Finds the entity of a table. */
function classNames(orm: MikroORM): (table: string) => string {
  const metas = [...orm.getMetadata().getAll().values()].filter((meta) => meta.root === meta && !meta.abstract);
  const names = new Map(metas.map(({ tableName, className }) => [tableName, className]));
  return (table) => `the entity ${names.get(table) ?? table}`;
}

/** Reports whether an entity has a table, whose place is known. */
function hasTable(meta: EntityMetadata): boolean {
  if (meta.root !== meta || meta.abstract || meta.schema === '*' || meta.pivotTable === true) return false;
  try {
    checkEntity(meta);
    return true;
  } catch {
    return false;
  }
}
