import type { EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { checkEntity } from '../backends/check-entity.ts';
import { findBackend } from '../query/backend-of.ts';

const CURE = 'run your migrations, or `await orm.schema.update({ safe: true })` while you develop';

/** The most tables that the message names. The log has all of them. */
const NAMED = 5;

/**
 * Warns of entities whose table or column the database lacks, after the application listens. Nothing waits for it, so a
 * slow or missing database does not delay the start.
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
  try {
    for (const meta of orm.getMetadata().getAll().values()) {
      if (isClosed()) return;
      if (!hasTable(meta)) continue;
      const part = await findBackend(orm.em)?.missingPart(orm.em.fork(), meta);
      if (part !== undefined) missing.push(`${part} (entity ${meta.className})`);
    }
  } catch (error) {
    if (!isClosed()) app.log.debug({ err: error }, 'the tables of the database were not checked');
    return;
  }
  if (missing.length === 0) return;
  missing.sort();
  const others = missing.length - NAMED;
  const list = `${missing.slice(0, NAMED).join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
  app.log.warn({ missing }, `The database lacks ${list}: ${CURE}`);
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
