import { type EntityManager, type EntityMetadata, Utils } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { FieldPath } from '../../fields/field-path.ts';
import { keyOfEntity, keyText, primaryKey } from '../../fields/primary-key.ts';
import { metadataOf } from '../../mikro/entities.ts';
import { announceWrite } from '../../mikro/flushed-entities.ts';
import { backendOf } from '../../query/backend-of.ts';
import { violationOf } from '../../query/known-errors.ts';
import type { EntityChange } from '../../shapes/write/assign-input.ts';
import { comparable, valueOf } from './constrained-fields.ts';
import { freeValues } from './free-values.ts';
import { inTransaction } from './transaction.ts';
import { type UniqueKey, uniqueKeys } from './unique-keys.ts';

/** A record whose values of a unique key change. */
interface Move {
  readonly change: EntityChange;
  readonly before: readonly unknown[];
  readonly after: readonly unknown[];
}

/** A value that is stored ahead of the write. */
interface Advance {
  readonly entity: object;
  readonly path: FieldPath;
  readonly value: unknown;
}

/**
 * Makes room for unique values that pass from one record of a request to another, such as positions that two records
 * exchange. A database checks each row at once, so it would refuse the first of them.
 *
 * A record whose value another one gets is written first: with its new value if that is free by then, else with a
 * temporary one. Only records of the request are written. Nothing happens outside of a transaction, and for keys that
 * the entity does not declare.
 *
 * @returns a function to call after the write. It corrects temporary values that the write has left
 */
export async function makeRoom(
  request: FastifyRequest,
  changes: readonly EntityChange[],
): Promise<() => Promise<void>> {
  const { em } = request;
  if (changes.length < 2 || !em.isInTransaction()) return async () => {};
  const advances: Advance[] = [];
  for (const [meta, some] of Map.groupBy(changes, ({ entity }) => metadataOf(em, entity))) {
    advances.push(...(await vacate(request, meta, some)));
  }
  return async () => {
    for (const each of advances) await correct(em, each);
  };
}

/** Writes the records of one entity that are in the way of others. */
async function vacate(
  request: FastifyRequest,
  meta: EntityMetadata,
  changes: readonly EntityChange[],
): Promise<Advance[]> {
  const { em } = request;
  const plans = uniqueKeys(meta).map((key) => ({ key, steps: stepsOf(movesOf(changes, key)) }));
  const needed = plans.filter(({ steps }) => steps.length > 0);
  const advances: Advance[] = [];
  for (const { key, steps } of needed) {
    await announceWrite(
      steps.map(({ move }) => move.change.entity),
      em,
    );
    for (const { move, isParked } of steps) {
      // A new value may be free for one key, but not yet for another one.
      const parked = isParked || needed.length > 1 ? await park(request, meta, key, move) : [];
      advances.push(...(parked.length > 0 || isParked ? parked : await advance(em, meta, key, move)));
    }
  }
  return advances;
}

function movesOf(changes: readonly EntityChange[], key: UniqueKey): Move[] {
  return changes.flatMap((change) => {
    const before = key.map((path) => valueIn(change.entity, path));
    const after = key.map((path, index) => {
      const value = valueOf(change.data, { property: path.property, names: path.key.split('.') });
      return value === undefined ? before[index] : comparable(path, value);
    });
    // The key of a related record may be unknown, because it is new or not loaded.
    const isKnown = [...before, ...after].every((value) => value !== undefined && !Utils.isEntity(value));
    return !isKnown || textOf(before) === textOf(after) ? [] : [{ change, before, after }];
  });
}

/** Returns the value of an entity as its column holds it. A related record whose key is unknown is returned itself. */
function valueIn(entity: object, path: FieldPath): unknown {
  let value: unknown = entity;
  for (const name of path.key.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  // An absent embeddable is NULL in all its columns.
  return comparable(path, value ?? null);
}

/** Lists the records to write ahead, in their order. In a circle of records, one of them gets a temporary value. */
function stepsOf(moves: readonly Move[]): { readonly move: Move; readonly isParked: boolean }[] {
  const holders = new Map(moves.filter(({ before }) => isComplete(before)).map((move) => [textOf(move.before), move]));
  const wantedBy = (move: Move): Move | undefined =>
    isComplete(move.after) ? holders.get(textOf(move.after)) : undefined;
  const wanted = new Set(moves.flatMap((move) => wantedBy(move) ?? []));
  const plan = new Map<Move, boolean>();
  for (const start of wanted) {
    const chain = new Set<Move>();
    let next: Move | undefined = start;
    while (next !== undefined && !plan.has(next) && !chain.has(next)) {
      chain.add(next);
      next = wantedBy(next);
    }
    if (next !== undefined && chain.has(next)) plan.set(next, true);
    for (const move of [...chain].toReversed()) {
      if (wanted.has(move) && !plan.has(move)) plan.set(move, false);
    }
  }
  return [...plan].map(([move, isParked]) => ({ move, isParked }));
}

/** Values that contain NULL are not unique. */
function isComplete(values: readonly unknown[]): boolean {
  return values.every((value) => value !== null);
}

function textOf(values: readonly unknown[]): string {
  return JSON.stringify(values.map((value) => (value === null ? null : keyText(value))));
}

function changedPaths(key: UniqueKey, { before, after }: Move): FieldPath[] {
  return key.filter((_, index) => textOf([before[index]]) !== textOf([after[index]]));
}

/** Stores the new values of a record. */
async function advance(em: EntityManager, meta: EntityMetadata, key: UniqueKey, move: Move): Promise<Advance[]> {
  const { entity } = move.change;
  const advances = changedPaths(key, move).map((path) => ({ entity, path, value: move.after[key.indexOf(path)] }));
  await store(em, meta, entity, advances);
  return advances;
}

/**
 * Stores a temporary value in one of the columns of a key, best in one that changes. Does nothing if the database
 * refuses each: then it also refuses the write.
 */
async function park(request: FastifyRequest, meta: EntityMetadata, key: UniqueKey, move: Move): Promise<Advance[]> {
  const { em } = request;
  const { entity } = move.change;
  const changed = changedPaths(key, move);
  for (const path of [...changed, ...key.filter((each) => !changed.includes(each))]) {
    const current = move.before[key.indexOf(path)];
    for (const value of await freeValues(em, meta.root, path, current)) {
      const advances = [{ entity, path, value }];
      if (await isStored(request, () => store(em, meta, entity, advances))) return advances;
    }
  }
  return [];
}

/** Reports whether the database has accepted a value. A database without savepoints has no rules of its own. */
async function isStored(request: FastifyRequest, write: () => Promise<void>): Promise<boolean> {
  if (!backendOf(request.em).hasSavepoints) {
    await write();
    return true;
  }
  try {
    await inTransaction(request, write);
    return true;
  } catch (error) {
    if (violationOf(error) === undefined) throw error;
    return false;
  }
}

async function store(
  em: EntityManager,
  meta: EntityMetadata,
  entity: object,
  advances: readonly Advance[],
  still: object = {},
): Promise<void> {
  const key = primaryKey(meta);
  const values = Object.fromEntries(advances.map(({ path, value }) => [path.property.name, value]));
  // MikroORM would count the version up, and the write itself does so.
  const version =
    meta.versionProperty === undefined ? {} : { [meta.versionProperty]: entity[meta.versionProperty as never] };
  const where = { [key.property.name]: keyOfEntity(entity, key), ...version, ...still };
  await em.nativeUpdate(meta.class, where, { ...values, ...version }, { filters: false });
}

/** Stores the value that an entity has after the write, if the record still has another one that was stored ahead. */
async function correct(em: EntityManager, { entity, path, value }: Advance): Promise<void> {
  const now = valueIn(entity, path);
  if (textOf([now]) === textOf([value]) || Utils.isEntity(now)) return;
  const still = { [path.property.name]: value };
  await store(em, metadataOf(em, entity), entity, [{ entity, path, value: now }], still);
}
