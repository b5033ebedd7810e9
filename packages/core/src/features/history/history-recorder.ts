import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { isDeepStrictEqual } from 'node:util';
import type { FieldPath } from '../../fields/field-path.ts';
import { keyOfEntity, keyText } from '../../fields/primary-key.ts';
import { compare } from '../../query/language/compare.ts';
import { type Projection, withKey } from '../../query/language/projection.ts';
import { withFlushListener } from '../../mikro/flushed-entities.ts';
import { QuerySet } from '../../query/queryset.ts';
import type { DeletionMark } from '../../view/records/deletion-mark.ts';
import type { WriteKind } from '../../view/request/operation.ts';
import type { WriteRecorder } from '../../view/write/write-recorder.ts';

/** JSON values of a record, by property. */
export type KeptValues = Readonly<Record<string, unknown>>;

/** The write of one record, as a history stores it. */
export interface HistoryWrite {
  readonly kind: WriteKind;
  /** The request that wrote it. Its `em` is in the transaction of the write. */
  readonly request: FastifyRequest;
  /** The operation, or the action, that wrote it: `update`, `approve`. */
  readonly action: string;
  /** The metadata of the record's entity. */
  readonly meta: EntityMetadata;
  /** The value of the record's primary key. */
  readonly key: unknown;
  /** The stored values after the write, or before a deletion. */
  readonly values: KeptValues;
  /** The stored values before the write; undefined for a new record. */
  readonly valuesBefore: KeptValues | undefined;
}

/** Stores writes in their transaction. If it throws, the writes are rolled back. */
export type HistoryListener = (writes: readonly HistoryWrite[]) => Promise<void>;

/** How the values of a view's records are read. */
export interface KeptRecords {
  readonly meta: EntityMetadata;
  readonly pk: FieldPath;
  readonly projection: Projection<object>;
  /** The view, whose features are resolved after its history. */
  readonly view: { readonly features: { readonly deletion: DeletionMark | undefined } };
  readonly listener: HistoryListener;
}

/** The recorders of requests whose work is running. */
const running = new WeakMap<FastifyRequest, HistoryRecorder>();

/** A record before the first write of some work; undefined if there was none. */
interface Before {
  readonly key: unknown;
  readonly values: KeptValues | undefined;
}

/**
 * Records the writes of some work of a request: of one operation, or of an action. It reads each record before its first
 * write and after the last one, in the transaction of the work, and stores the difference. So nothing that the unit of
 * work writes to records of the view is missed, whatever code has changed them.
 */
export class HistoryRecorder implements WriteRecorder {
  readonly #records: KeptRecords;
  readonly #request: FastifyRequest;
  readonly #before = new Map<string, Before>();
  /** The new entities, whose keys are known only after their flush. */
  readonly #created = new Set<object>();
  readonly #keys = new WeakMap<object, unknown>();

  constructor(records: KeptRecords, request: FastifyRequest) {
    this.#records = records;
    this.#request = request;
  }

  /**
   * Runs the write of an operation, and records it. The operation's own records have an entry even if nothing has
   * changed.
   *
   * @param found the entities before the write; empty for new records
   * @param write returns the entities that it has written, after their flush
   */
  async operation<Entity extends object>(
    kind: WriteKind,
    found: readonly Entity[],
    write: () => Promise<readonly Entity[]>,
  ): Promise<readonly Entity[]> {
    // An action that calls an operation of its view: what it wrote before is an entry of its own.
    await running.get(this.#request)?.store();
    return this.#running(async () => {
      await this.#note(found, this.#request.em);
      const entities = await write();
      await this.store({ kind, entities });
      return entities;
    });
  }

  /** Runs an action and records what it has changed. The action flushes its changes. */
  async action<Result>(work: () => Promise<Result>, isKept: () => boolean): Promise<Result> {
    return this.#running(async () => {
      const result = await work();
      if (!isKept()) return result;
      await this.#request.em.flush();
      await this.store();
      return result;
    });
  }

  /**
   * Stores the writes so far.
   *
   * @param main the records of an operation, which come first
   */
  async store(main?: { readonly kind: WriteKind; readonly entities: readonly object[] }): Promise<void> {
    const { meta, listener } = this.#records;
    const mainEntities = new Map(main?.entities.map((entity) => [keyText(this.#keyOf(entity)), entity]));
    const keys = new Map<string, unknown>();
    for (const entity of [...mainEntities.values(), ...this.#created]) {
      const key = this.#keyOf(entity);
      if (key !== undefined && key !== null) keys.set(keyText(key), key);
    }
    for (const [text, { key }] of this.#before) keys.set(text, key);
    if (keys.size === 0) return;
    const after = await this.#read([...keys.values()], this.#request.em);
    const action = this.#request.routeOptions.config.viewset?.action ?? '';
    const writes = [...keys].flatMap(([text, key]): HistoryWrite[] => {
      const before = this.#before.get(text)?.values;
      const stored = after.get(text);
      const entity = mainEntities.get(text);
      const kind = entity === undefined ? this.#kindOf(before, stored) : main!.kind;
      if (kind === undefined) return [];
      // A policy of the database may hide the record from its writer.
      const values = (kind === 'deleted' ? (before ?? stored) : (stored ?? before)) ?? this.#valuesOf(entity!);
      return [{ kind, request: this.#request, action, meta, key, values, valuesBefore: before }];
    });
    this.#before.clear();
    this.#created.clear();
    if (writes.length > 0) await listener(writes);
  }

  #valuesOf(entity: object): KeptValues {
    return jsonOf(this.#records.projection.readEntity(entity));
  }

  /** Returns the key of an entity. A deleted one may have lost its own. */
  #keyOf(entity: object): unknown {
    return this.#keys.get(entity) ?? keyOfEntity(entity, this.#records.pk);
  }

  /** The kind of a write beside the main one; undefined if nothing was written. */
  #kindOf(before: KeptValues | undefined, after: KeptValues | undefined): WriteKind | undefined {
    if (before === undefined) return after === undefined ? undefined : 'created';
    if (after === undefined) return 'deleted';
    if (isDeepStrictEqual(before, after)) return undefined;
    const mark = this.#records.view.features.deletion?.column.property.name;
    return mark !== undefined && before[mark] === null && after[mark] !== null ? 'deleted' : 'updated';
  }

  /** Runs work whose flushes note the records that they are about to write. */
  async #running<Result>(work: () => Promise<Result>): Promise<Result> {
    const outer = running.get(this.#request);
    running.set(this.#request, this);
    try {
      return await withFlushListener((entities, em) => this.#note(entities, em), work);
    } finally {
      if (outer === undefined) running.delete(this.#request);
      else running.set(this.#request, outer);
    }
  }

  /** Reads the records of entities that have not been noted yet. */
  async #note(entities: readonly object[], em: EntityManager): Promise<void> {
    const { meta, pk } = this.#records;
    const work = em.getUnitOfWork();
    const keys = new Map<string, unknown>();
    for (const entity of entities) {
      if (!(entity instanceof meta.class) || this.#created.has(entity)) continue;
      const key = keyOfEntity(entity, pk);
      // A subscriber that recomputes the changes of a new entity gives it original values.
      if (key === undefined || key === null || work.getOriginalEntityData(entity) === undefined) {
        this.#created.add(entity);
        continue;
      }
      this.#keys.set(entity, key);
      if (!this.#before.has(keyText(key))) keys.set(keyText(key), key);
    }
    if (keys.size === 0) return;
    const values = await this.#read([...keys.values()], em);
    for (const [text, key] of keys) this.#before.set(text, { key, values: values.get(text) });
  }

  /** Reads records as stored, whatever filters and permissions hide. */
  async #read(keys: readonly unknown[], em: EntityManager): Promise<ReadonlyMap<string, KeptValues>> {
    const { meta, pk, projection } = this.#records;
    const stored = QuerySet.of({ em, readsPrimary: true }, meta.class as new () => object)
      .unfiltered()
      .where(compare(pk, 'in', keys));
    const rows = await stored.rows(withKey(projection, pk));
    return new Map(rows.map(({ key, record }) => [keyText(key), jsonOf(record)]));
  }
}

/** Converts values to JSON, as a response would. */
function jsonOf(record: object): KeptValues {
  const text = JSON.stringify(record, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return JSON.parse(text) as KeptValues;
}
