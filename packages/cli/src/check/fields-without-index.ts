import { type EntityMetadata, type EntityProperty, type MikroORM, ReferenceKind } from '@mikro-orm/core';
import type { Lookup } from '@viewset/core';
import { type CheckedApplication, operationsOf } from './checked-application.ts';
import type { Finding } from './finding.ts';
import { type ListedField, listedFields, listedJsonValues } from './listed-fields.ts';

/** The lookups that can use an index. */
const INDEXED_LOOKUPS: ReadonlySet<Lookup> = new Set([
  'exact',
  'in',
  'gt',
  'gte',
  'lt',
  'lte',
  'range',
  'date',
  'isempty',
]);

const TO_MANY: ReadonlySet<ReferenceKind> = new Set([ReferenceKind.ONE_TO_MANY, ReferenceKind.MANY_TO_MANY]);

/** Finds fields that lists filter or order by, but that are not first in any index. */
export function findFieldsWithoutIndex(application: CheckedApplication): Finding[] {
  const found = new Map<EntityProperty, { readonly meta: EntityMetadata; readonly uses: Set<string> }>();
  for (const { plan, orm } of operationsOf(application)) {
    if (plan.list === undefined) continue;
    const { name: view, meta: listed } = plan.list.target;
    const [first] = plan.list.ordering;
    for (const use of listedFields(plan.list)) {
      const words = wordsOf(use, first);
      if (words === undefined) continue;
      const { path } = use;
      const meta = path.steps.at(-1)?.targetMeta ?? listed;
      const { property } = path;
      if (property.primary === true || path.type.kind === 'boolean' || isIndexed(orm, meta, property)) continue;
      // A view has several plans: of each operation, and of each path that it is registered under.
      const uses = found.get(property)?.uses ?? new Set();
      uses.add(`${view} ${words}`);
      found.set(property, { meta, uses });
    }
  }
  return [
    ...[...found].map(([{ name }, { meta, uses }]): Finding => ({
      code: 'field-without-index',
      message: `${meta.className}.${name} has no index: ${[...uses].join(', ')}`,
      change: `${name}: ….index()`,
      declaredBy: { className: meta.className, word: name },
    })),
    ...valuesInJson(application),
  ];
}

/** Finds values in JSON that lists filter or order by: no index supports them. */
function valuesInJson(application: CheckedApplication): Finding[] {
  const found = new Map<string, { readonly className: string; readonly uses: Set<string> }>();
  for (const { plan } of operationsOf(application)) {
    if (plan.list === undefined) continue;
    const { name: view, meta } = plan.list.target;
    for (const { option, name, key } of listedJsonValues(plan.list)) {
      if (option === 'jsonLogicFields') continue;
      const value = `${meta.className}.${key}`;
      const { uses } = found.get(value) ?? { uses: new Set<string>() };
      found.set(value, { className: meta.className, uses });
      uses.add(`${view} ${option === 'filterFields' ? `filters by it (${name})` : `orders by it (sort=${name})`}`);
    }
  }
  return [...found].map(([value, { className, uses }]) => ({
    code: 'field-without-index',
    message: `${value} is in JSON, where it has no index: ${[...uses].join(', ')}`,
    change: 'add a column with the value and an index, and use it instead',
    declaredBy: { className, word: value.split('.')[1]! },
  }));
}

/**
 * Says how a list uses a field; undefined if no index would help. In the view's own ordering, only the first column
 * needs an index.
 */
function wordsOf({ option, name, lookup }: ListedField, first: string | undefined): string | undefined {
  if (option === 'filterFields') return INDEXED_LOOKUPS.has(lookup!) ? `filters by it (${name})` : undefined;
  if (option === 'orderingFields') return `orders by it (sort=${name})`;
  return option === 'ordering' && name === first ? 'orders by it (ordering)' : undefined;
}

/** Tells if a column comes first in an index of its table. */
function isIndexed(orm: MikroORM, meta: EntityMetadata, property: EntityProperty): boolean {
  if (Boolean(property.index) || Boolean(property.unique)) return true;
  // Relations are looked up through the relation: by columns of other tables, or keys of related records.
  if (TO_MANY.has(property.kind)) return true;
  if (property.targetMeta !== undefined && orm.em.getPlatform().indexForeignKeys()) return true;
  const first = [...meta.indexes, ...meta.uniques].map(({ properties }) => [properties].flat()[0]);
  return first.includes(property.name) || (meta.compositePK && meta.primaryKeys[0] === property.name);
}
