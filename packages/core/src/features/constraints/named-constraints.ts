import type { EntityMetadata, EntityProperty, MikroORM, Platform } from '@mikro-orm/core';
import type { Violation } from '../../backends/database-errors.ts';
import { isToOne } from '../../fields/property.ts';
import type { ConstraintMessage, ConstraintMessages } from '../../view/write/constraint-messages.ts';

/** A constraint that an entity declares. */
interface DeclaredConstraint {
  readonly name: string;
  readonly meta: EntityMetadata;
  /** The columns of a unique constraint. Undefined for other constraints. */
  readonly unique: ReadonlySet<string> | undefined;
}

/** SQLite reports a unique index on an expression by `index 'name'`. */
const INDEX = /^index '(.*)'$/s;

/** The messages of constraints by name. A unique constraint is also found by its columns, if its name is not reported. */
export class NamedConstraints implements ConstraintMessages {
  readonly #messages: ReadonlyMap<string, ConstraintMessage>;
  readonly #declared: readonly DeclaredConstraint[];

  constructor(messages: Readonly<Record<string, ConstraintMessage>>, orm: MikroORM) {
    this.#messages = new Map(Object.entries(messages));
    this.#declared = declaredConstraints(orm);
  }

  get names(): readonly string[] {
    return [...this.#messages.keys()];
  }

  get declaredNames(): readonly string[] {
    return this.#declared.map(({ name }) => name);
  }

  of(
    { kind, constraint }: Violation,
    metas: ReadonlySet<EntityMetadata>,
    columns: string,
  ): ConstraintMessage | undefined {
    const reported = constraint && (INDEX.exec(constraint)?.[1]?.replaceAll("''", "'") ?? constraint);
    const named = reported === undefined ? undefined : this.#messages.get(reported);
    if (named !== undefined || kind !== 'unique') return named;
    const violated = new Set(columns.split(',').map((column) => column.trim()));
    const roots = new Set([...metas].map(({ root }) => root));
    const found = this.#declared.find(
      ({ name, meta, unique }) =>
        this.#messages.has(name) && roots.has(meta.root) && unique !== undefined && haveSameItems(unique, violated),
    );
    return found && this.#messages.get(found.name);
  }
}

function haveSameItems(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((item) => other.has(item));
}

function declaredConstraints(orm: MikroORM): DeclaredConstraint[] {
  const platform = orm.em.getPlatform();
  const metas = [...orm.getMetadata().getAll().values()];
  return metas.flatMap((meta) => [
    ...ofEntity(meta, platform),
    ...meta.props.flatMap((each) => ofProperty(meta, each, platform)),
  ]);
}

function ofEntity(meta: EntityMetadata, platform: Platform): DeclaredConstraint[] {
  const uniques = meta.uniques.map(({ name, properties }): DeclaredConstraint => {
    const columns = [properties ?? []].flat().flatMap((each) => columnsOf(meta.properties[each]));
    const known = name ?? platform.getIndexName(meta.tableName, columns, 'unique');
    return { name: known, meta, unique: columns.length === 0 ? undefined : new Set(columns) };
  });
  const checks = meta.checks.map(({ name, property }): DeclaredConstraint => {
    const columns = property === undefined ? [] : columnsOf(meta.properties[property as never]);
    return { name: name ?? platform.getIndexName(meta.tableName, columns, 'check'), meta, unique: undefined };
  });
  return [...uniques, ...checks];
}

function ofProperty(meta: EntityMetadata, property: EntityProperty, platform: Platform): DeclaredConstraint[] {
  const columns = columnsOf(property);
  const { unique = false, foreignKeyName } = property;
  const found: DeclaredConstraint[] = [];
  if (unique !== false && columns.length > 0) {
    const name = typeof unique === 'string' ? unique : platform.getIndexName(meta.tableName, columns, 'unique');
    found.push({ name, meta, unique: new Set(columns) });
  }
  if (isToOne(property) && columns.length > 0) {
    const name = foreignKeyName ?? platform.getIndexName(meta.tableName, columns, 'foreign');
    found.push({ name, meta, unique: undefined });
  }
  return found;
}

function columnsOf(property: EntityProperty | undefined): string[] {
  return [...((property?.fieldNames as readonly string[] | undefined) ?? [])];
}
