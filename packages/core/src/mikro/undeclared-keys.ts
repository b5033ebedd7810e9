import { type EntityManager, type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { getOrMake } from '../support/get-or-make.ts';
import { isRecord } from '../support/json.ts';

type Values = Readonly<Record<string, unknown>>;
type Mapper = (row: Values) => Values;

/** The values of a JSON column that an embeddable does not declare, by the embeddable read from it. */
const undeclared = new WeakMap<object, Values>();

const prepared = new WeakSet<object>();

/**
 * Makes an ORM keep the keys of a JSON column that its embeddable does not declare. MikroORM reads only declared keys,
 * and writes the whole column if one of them changes. So a change would remove what another program has stored.
 */
export function keepUndeclaredKeys(em: EntityManager): void {
  const snapshots = em.config.getComparator(em.getMetadata());
  if (prepared.has(snapshots)) return;
  prepared.add(snapshots);
  // Without such a column, entities are read and compared as fast as before.
  if (![...em.getMetadata().getAll().values()].some((meta) => jsonColumns(meta).length > 0)) return;
  const columns = new Map<EntityMetadata, readonly EntityProperty[]>();
  const columnsOf = (meta: EntityMetadata): readonly EntityProperty[] =>
    getOrMake(columns, meta, () => jsonColumns(meta));

  const mappers = new Map<EntityMetadata, Mapper>();
  const getResultMapper = snapshots.getResultMapper.bind(snapshots) as (meta: EntityMetadata) => Mapper;
  const mapperOf = (meta: EntityMetadata): Mapper => {
    const map = getResultMapper(meta);
    return meta.embeddable === undefined ? map : getOrMake(mappers, meta, () => keepingMapper(meta, map));
  };
  snapshots.getResultMapper = mapperOf as never;

  const hydrator = em.config.getHydrator(em.getMetadata());
  const hydrate = hydrator.hydrate.bind(hydrator);
  hydrator.hydrate = (...given) => {
    hydrate(...given);
    const [entity, declaredMeta, data, , , isNew] = given;
    if (isNew === true) return;
    const meta = declaredMeta as EntityMetadata;
    for (const column of columnsOf(meta)) {
      remember(column, valueIn(meta, entity, column), (data as Values)[column.name]);
    }
  };

  const prepareEntity = snapshots.prepareEntity.bind(snapshots);
  snapshots.prepareEntity = (entity) => {
    const snapshot = prepareEntity(entity);
    const meta = em.getMetadata().find<object>(entity.constructor as never);
    for (const column of meta === undefined ? [] : columnsOf(meta)) {
      restore(column, valueIn(meta!, entity, column), (snapshot as Values)[column.name]);
    }
    return snapshot;
  };
}

/** Removes the undeclared keys of an embeddable, so that the next flush removes them from its column. */
export function forgetUndeclared(embeddable: object): void {
  undeclared.delete(embeddable);
}

/** Lists the properties whose columns hold embeddables as JSON: one, or a list. */
function jsonColumns({ props, properties }: EntityMetadata): EntityProperty[] {
  return props.filter((property) => {
    const [outer] = property.embedded ?? [];
    const isWithin = outer !== undefined && isJson(properties[outer as never] as EntityProperty);
    return property.kind === ReferenceKind.EMBEDDED && isJson(property) && !isWithin;
  });
}

function isJson({ object, array }: EntityProperty): boolean {
  return object === true || array === true;
}

/** Returns the value of a property, which may be within other embeddables. */
function valueIn(meta: EntityMetadata, entity: object, { name, embedded }: EntityProperty): unknown {
  if (embedded === undefined) return (entity as Values)[name];
  const outer = valueIn(meta, entity, meta.properties[embedded[0] as never] as EntityProperty);
  return (outer as Values | null | undefined)?.[embedded[1]];
}

function keepingMapper(meta: EntityMetadata, map: Mapper): Mapper {
  const declared = declaredKeys(meta);
  return (row) => withValues(map(row), undeclaredIn(row, declared));
}

/** Notes the undeclared keys of the data that embeddables were made of. */
function remember(property: EntityProperty, value: unknown, data: unknown): void {
  forEachPair(property, value, data, (embeddable, from, meta) => {
    const values = undeclaredIn(from, declaredKeys(meta));
    if (Object.keys(values).length > 0) undeclared.set(embeddable, values);
    else undeclared.delete(embeddable);
  });
}

/** Adds the undeclared keys of embeddables to a snapshot of them. */
function restore(property: EntityProperty, value: unknown, snapshot: unknown): void {
  forEachPair(property, value, snapshot, (embeddable, to) => {
    const values = undeclared.get(embeddable);
    if (values !== undefined) withValues(to, values);
  });
}

/** Visits an embeddable, or each in a list, with the part of the data that belongs to it; then those within. */
function forEachPair(
  property: EntityProperty,
  value: unknown,
  data: unknown,
  visit: (embeddable: object, data: Values, meta: EntityMetadata) => void,
): void {
  if (Array.isArray(value)) {
    if (!Array.isArray(data)) return;
    for (const [index, item] of value.entries()) forEachPair(property, item, data[index], visit);
    return;
  }
  if (typeof value !== 'object' || value === null || !isRecord(data)) return;
  const meta = property.targetMeta as EntityMetadata;
  visit(value, data, meta);
  for (const inner of embeddedIn(meta)) forEachPair(inner, (value as Values)[inner.name], data[inner.name], visit);
}

const embedded = new WeakMap<EntityMetadata, readonly EntityProperty[]>();

/** Lists the embeddables within an embeddable. Polymorphic embeddables have those of all their classes. */
function embeddedIn(meta: EntityMetadata): readonly EntityProperty[] {
  return getOrMake(embedded, meta, () =>
    [meta, ...(meta.polymorphs ?? [])].flatMap(({ props }) =>
      props.filter((part) => part.kind === ReferenceKind.EMBEDDED && part.embedded === undefined),
    ),
  );
}

const declared = new WeakMap<EntityMetadata, ReadonlySet<string>>();

/** Lists the names of an embeddable's parts and of their keys in JSON. */
function declaredKeys(meta: EntityMetadata): ReadonlySet<string> {
  return getOrMake(declared, meta, () => {
    const props = [meta, ...(meta.polymorphs ?? [])].flatMap((each) => each.props);
    return new Set(props.flatMap(({ name, fieldNames }) => [name, ...fieldNames]));
  });
}

/** MikroORM cannot write an object with the key `constructor`, so it is not kept. */
function undeclaredIn(row: Values, names: ReadonlySet<string>): Values {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !names.has(name) && name !== 'constructor'));
}

/** Defines the values as properties, because JSON may have the key `__proto__`. */
function withValues(target: Values, values: Values): Values {
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true });
  }
  return target;
}
