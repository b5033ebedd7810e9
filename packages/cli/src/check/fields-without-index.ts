import { type EntityMetadata, type EntityProperty, type MikroORM, ReferenceKind } from '@mikro-orm/core';
import { type DeclaredList, fieldPath, type FieldPath, type Lookup, resolveLookup } from '@viewset/core';
import { type CheckedApplication, operationsOf } from './checked-application.ts';
import type { Finding } from './finding.ts';

/** The lookups that an index answers. */
const INDEXED_LOOKUPS: ReadonlySet<Lookup> = new Set(['exact', 'in', 'gt', 'gte', 'lt', 'lte', 'range']);

const TO_MANY: ReadonlySet<ReferenceKind> = new Set([ReferenceKind.ONE_TO_MANY, ReferenceKind.MANY_TO_MANY]);

/** A use of a field by a view. */
interface Use {
  readonly path: FieldPath;
  readonly view: string;
  readonly words: string;
}

/** Finds the fields that lists are filtered or ordered by, and that no index has first. */
export function findFieldsWithoutIndex(application: CheckedApplication): Finding[] {
  const found = new Map<EntityProperty, { readonly meta: EntityMetadata; readonly uses: string[] }>();
  for (const { plan, orm } of operationsOf(application)) {
    if (plan.list === undefined) continue;
    for (const { path, view, words } of usesOf(plan.list)) {
      const meta = path.steps.at(-1)?.targetMeta ?? plan.list.target.meta;
      const { property } = path;
      if (property.primary === true || path.type.kind === 'boolean' || isIndexed(orm, meta, property)) continue;
      const uses = found.get(property)?.uses ?? [];
      uses.push(`${view} ${words}`);
      found.set(property, { meta, uses });
    }
  }
  return [...found].map(([{ name }, { meta, uses }]) => ({
    code: 'field-without-index',
    message: `${meta.className}.${name} has no index: ${uses.join(', ')}`,
    change: `${name}: ….index()`,
    declaredBy: { className: meta.className, word: name },
  }));
}

function usesOf({ target, ordering }: DeclaredList): Use[] {
  const { name: view, meta, filterFields, orderingFields } = target;
  const filters = Object.entries(filterFields).flatMap(([parameter, lookup]): Use[] => {
    // A value that related records tell is computed for each record.
    if (typeof lookup !== 'string') return [];
    const { path, lookup: name } = resolveLookup(meta, lookup);
    return INDEXED_LOOKUPS.has(name) ? [{ path, view, words: `filters by it (${parameter})` }] : [];
  });
  const orders = Object.entries(orderingFields).flatMap(([name, path]): Use[] =>
    typeof path === 'string' ? [{ path: fieldPath(meta, path, '__'), view, words: `orders by it (sort=${name})` }] : [],
  );
  const own = ordering.slice(0, 1).map((sort): Use => ({
    path: fieldPath(meta, sort.replace(/^-/, ''), '__'),
    view,
    words: 'orders by it (ordering)',
  }));
  return [...filters, ...orders, ...own];
}

/** Tells if a column comes first in an index of its table. */
function isIndexed(orm: MikroORM, meta: EntityMetadata, property: EntityProperty): boolean {
  if (Boolean(property.index) || Boolean(property.unique)) return true;
  // Columns of other tables, and the keys of related records, are looked up by the relation.
  if (TO_MANY.has(property.kind)) return true;
  if (property.targetMeta !== undefined && orm.em.getPlatform().indexForeignKeys()) return true;
  const first = [...meta.indexes, ...meta.uniques].map(({ properties }) => [properties].flat()[0]);
  return first.includes(property.name) || (meta.compositePK && meta.primaryKeys[0] === property.name);
}
