import {
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  JsonType,
  type MikroORM,
  ReferenceKind,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '@viewset/core';

/** The properties of an entity by name, of which any may be missing. */
export type Properties = Readonly<Record<string, EntityProperty | undefined>>;

/** What one property of an entity has to be. */
export interface PropertyRule {
  readonly kind: 'text' | 'integer' | 'datetime' | 'json' | 'account';
  /** The fewest characters that a text must have room for. */
  readonly length?: number;
  /** True if the column must accept NULL. */
  readonly nullable?: true;
  readonly unique?: true;
}

/** Returns the metadata of an entity that an option names. Throws ImproperlyConfigured for an entity that the ORM does not know. */
export function entityOf<Entity extends object>(
  orm: MikroORM,
  option: string,
  entity: EntityName<Entity>,
): EntityMetadata<Entity> {
  const meta = orm.getMetadata().find(entity);
  if (meta !== undefined && orm.getMetadata().has(meta.class)) return meta;
  throw wrongEntity(option, 'must be an entity that the ORM knows (its option "entities")');
}

/** Throws ImproperlyConfigured, naming the property, for an entity that lacks one or has it in another form. */
export function checkProperties(
  option: string,
  meta: EntityMetadata,
  rules: Readonly<Record<string, PropertyRule>>,
  account: EntityMetadata,
): void {
  requireProperties(option, meta, Object.keys(rules));
  for (const [name, rule] of Object.entries(rules)) {
    const property = (meta.properties as Properties)[name] as EntityProperty;
    const expected = problemOf(meta, property, rule, account);
    if (expected === undefined) continue;
    throw wrongEntity(option, `must have "${name}" ${expected} (${meta.className}.${name})`);
  }
}

export function requireProperties(option: string, meta: EntityMetadata, names: readonly string[]): void {
  const missing = names.filter((name) => (meta.properties as Properties)[name] === undefined);
  if (missing.length === 0) return;
  throw wrongEntity(
    option,
    `must have the properties ${names.join(', ')}; ${meta.className} has no ${missing.join(', ')}`,
  );
}

/** Throws ImproperlyConfigured unless `id` is the only primary key. */
export function requireId(option: string, meta: EntityMetadata): void {
  if (meta.primaryKeys.join(',') === 'id') return;
  throw wrongEntity(option, `must have "id" as its primary key, and no other (${meta.className})`);
}

export function isUnique(meta: EntityMetadata, name: string): boolean {
  const named = meta.uniques.some((unique) => [unique.properties].flat().join(',') === name);
  return named || (meta.properties as Properties)[name]?.unique === true;
}

export function isReference({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE;
}

export function isJson({ customType }: EntityProperty): boolean {
  return (customType as unknown) instanceof JsonType;
}

export function wrongEntity(option: string, problem: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`auth: option "${option}" ${problem}`);
}

function problemOf(
  meta: EntityMetadata,
  property: EntityProperty,
  { kind, length = 0, nullable, unique }: PropertyRule,
  account: EntityMetadata,
): string | undefined {
  const [expected, fits] = KINDS[kind];
  if (!fits(property, account)) return expected;
  if ((property.length ?? length) < length) return `with room for ${length} characters`;
  if (nullable === true && property.nullable !== true) return 'nullable';
  if (unique === true && !isUnique(meta, property.name)) return 'unique';
  return undefined;
}

const KINDS: Readonly<
  Record<PropertyRule['kind'], readonly [string, (property: EntityProperty, account: EntityMetadata) => boolean]>
> = {
  text: ['as a text', ({ runtimeType }) => runtimeType === 'string'],
  integer: ['as an integer', ({ runtimeType }) => runtimeType === 'number'],
  datetime: ['as a date and time', ({ runtimeType }) => runtimeType === 'Date'],
  json: ['as a JSON column', isJson],
  account: [
    'as a reference to the account',
    (property, account) => isReference(property) && property.targetMeta?.class === account.class,
  ],
};
