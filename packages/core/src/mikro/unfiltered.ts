import { ReferenceKind, type EntityManager, type EntityMetadata } from '@mikro-orm/core';
import { askFilters, NO_FILTER } from './ask-filters.ts';

/** What is known of one global entity manager: how often filters were added to it, and where none applied then. */
interface Watch {
  version: number;
  readonly unfiltered: WeakMap<EntityMetadata, number>;
}

const watches = new WeakMap<EntityManager, Watch>();

/**
 * Whether no filter of MikroORM can apply to a query of an entity, or to anything it is related to: known at once, so
 * that a query which none applies to does not pay for asking. False as long as it is not known; asking makes it known
 * for the next time. Only of a global entity manager can it be known, whose filters nobody changes unseen.
 */
export function isKnownUnfiltered(em: EntityManager, meta: EntityMetadata): boolean {
  if (!em.global) return false;
  const watch = watchOf(em);
  const version = watch.unfiltered.get(meta);
  if (version === watch.version) return true;
  if (version === undefined) void findOut(em, meta, watch);
  return false;
}

function watchOf(em: EntityManager): Watch {
  let watch = watches.get(em);
  if (watch === undefined) watches.set(em, (watch = startWatch(em)));
  return watch;
}

function startWatch(em: EntityManager): Watch {
  const watch: Watch = { version: 1, unfiltered: new WeakMap<EntityMetadata, number>() };
  const addFilter = em.addFilter.bind(em) as (...args: unknown[]) => void;
  // An entity manager does not tell which filters it was given, nor when.
  Object.assign(em, {
    addFilter(...args: unknown[]): void {
      watch.version++;
      addFilter(...args);
    },
  });
  return watch;
}

async function findOut(em: EntityManager, meta: EntityMetadata, watch: Watch): Promise<void> {
  watch.unfiltered.set(meta, NEVER);
  const { version } = watch;
  const related = reachable(meta);
  if (related === undefined) return;
  for (const { class: entity } of related) {
    const where = await askFilters(em, entity, {}).catch(() => undefined);
    if (where !== NO_FILTER) return;
  }
  watch.unfiltered.set(meta, version);
}

/** No version: found to be filtered, or being found out. */
const NEVER = 0;

/** An entity and all that relations lead to; undefined where a relation has filters of its own. */
function reachable(meta: EntityMetadata): Set<EntityMetadata> | undefined {
  const found = new Set<EntityMetadata>([meta]);
  for (const current of found) {
    for (const { kind, filters, targetMeta, polymorphic } of current.relations) {
      if (kind === ReferenceKind.EMBEDDED) continue;
      if (filters !== undefined || polymorphic === true || targetMeta === undefined) return undefined;
      found.add(targetMeta);
    }
  }
  return found;
}
