import {
  BigIntType,
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  JsonType,
  type MikroORM,
  ReferenceKind,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '@viewset/core';

/** The properties of an entity by name; any may be missing. */
export type Properties = Readonly<Record<string, EntityProperty | undefined>>;

/**
 * The requirements for an entity in an option. Every method throws ImproperlyConfigured that names the option and the
 * property.
 */
export class EntityContract<Entity extends object> {
  readonly meta: EntityMetadata<Entity>;
  readonly #option: string;
  readonly #owner: string;

  /** @param owner what has the option. Default: `auth` */
  constructor(
    orm: Pick<MikroORM, 'getMetadata'>,
    option: string,
    entity: EntityName<Entity>,
    properties: readonly string[],
    owner = 'auth',
  ) {
    this.#option = option;
    this.#owner = owner;
    const meta = orm.getMetadata().find(entity);
    if (meta === undefined || !orm.getMetadata().has(meta.class)) {
      throw this.wrong('must be an entity that the ORM knows (its option "entities")');
    }
    this.meta = meta;
    const missing = lacking(meta, properties);
    if (missing.length > 0) {
      throw this.wrong(
        `must have the properties ${properties.join(', ')}; ${meta.className} has no ${missing.join(', ')}`,
      );
    }
  }

  requireKey(name: string): void {
    const { primaryKeys, className } = this.meta;
    if (primaryKeys.join(',') !== name) {
      throw this.wrong(`must have "${name}" as its primary key, and no other (${className})`);
    }
  }

  requireUnique(name: string): void {
    const { uniques, className } = this.meta;
    const isNamed = uniques.some((unique) => [unique.properties].flat().join(',') === name);
    if (!isNamed && this.#property(name).unique !== true) {
      throw this.wrong(`must have a unique property "${name}"; ${className}.${name} is not`);
    }
  }

  /** Requires a minimum length. A text without a length is long enough. */
  requireRoom(name: string, characters: number, content: string): void {
    if ((this.#property(name).length ?? characters) < characters) {
      throw this.wrong(`must have room for ${content}, ${characters} characters, in "${name}"`);
    }
  }

  requireUniqueTogether(...names: readonly string[]): void {
    const { uniques, className } = this.meta;
    const isWanted = (properties: readonly string[]): boolean =>
      properties.length === names.length && names.every((name) => properties.includes(name));
    if (uniques.some(({ properties }) => isWanted([properties ?? []].flat()))) return;
    throw this.wrong(`must have ${names.map((name) => `"${name}"`).join(' and ')} unique together (${className})`);
  }

  /** Requires that a column has each of the values, and, if it is an enum, no other one. */
  requireValues(name: string, values: readonly string[], source: string): void {
    const { items } = this.#property(name) as { readonly items?: readonly unknown[] };
    if (!Array.isArray(items)) return;
    const missing = values.filter((value) => !items.includes(value));
    if (missing.length > 0) throw this.wrong(`must allow ${missing.join(', ')} in "${name}", as ${source} does`);
    const unknown = items.filter((item) => !values.includes(String(item)));
    if (unknown.length > 0) throw this.wrong(`allows ${unknown.join(', ')} in "${name}", which ${source} lacks`);
  }

  requireText(name: string): void {
    if (this.#property(name).runtimeType !== 'string') throw this.wrong(`must have "${name}" as a text`);
  }

  requireJson(name: string): void {
    if (!isJson(this.#property(name))) throw this.wrong(`must have "${name}" as a JSON column`);
  }

  /** Requires a type for numbers beyond signed 32 bits. */
  requireBigInteger(name: string): void {
    const { customType } = this.#property(name) as { customType: unknown };
    if (customType instanceof BigIntType && customType.mode === 'number') return;
    throw this.wrong(`must have "${name}" as p.bigint('number')`);
  }

  requireNullable(...names: readonly string[]): void {
    for (const name of names) {
      if (this.#property(name).nullable !== true) throw this.wrong(`must have "${name}" nullable`);
    }
  }

  /** Requires a reference to the account that deletes the record with it. */
  requireOwner(name: string, account: EntityMetadata): void {
    if (this.requireReference(name, ['id']).root !== account.root) {
      throw this.wrong(`must refer by "${name}" to ${account.className}`);
    }
    this.requireDeletionWith(name);
  }

  /** Requires a reference, and returns its entity, which must have the properties. */
  requireReference(name: string, properties: readonly string[]): EntityMetadata {
    const { kind, targetMeta } = this.#property(name);
    const isReference = kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE;
    if (!isReference || targetMeta === undefined) {
      throw this.wrong(`must have "${name}" as a reference to one entity; ${this.meta.className}.${name} is none`);
    }
    const missing = lacking(targetMeta, properties);
    if (missing.length > 0) {
      const target = `an entity with ${properties.join(' and ')}`;
      throw this.wrong(`must refer by "${name}" to ${target}; ${targetMeta.className} has no ${missing.join(', ')}`);
    }
    return targetMeta;
  }

  /** Requires that the record is deleted with the one it refers to. */
  requireDeletionWith(name: string): void {
    if (this.#property(name).deleteRule !== 'cascade') {
      throw this.wrong(
        `must be deleted with its "${name}": ${this.meta.className}.${name} needs deleteRule('cascade')`,
      );
    }
  }

  wrong(problem: string): ImproperlyConfigured {
    return new ImproperlyConfigured(`${this.#owner}: option "${this.#option}" ${problem}`);
  }

  #property(name: string): EntityProperty {
    return (this.meta.properties as Properties)[name]!;
  }
}

export function isJson({ customType }: EntityProperty): boolean {
  return (customType as unknown) instanceof JsonType;
}

function lacking({ properties }: EntityMetadata, names: readonly string[]): string[] {
  return names.filter((name) => (properties as Properties)[name] === undefined);
}
