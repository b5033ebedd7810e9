import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { FIELD_KINDS } from '../../fields/field-kinds.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { parseFieldText } from '../../fields/field-value.ts';
import { keyText, primaryKey } from '../../fields/primary-key.ts';
import { isUnique } from '../../fields/property.ts';
import { resolveOption } from '../../filters/filter.ts';
import { lookupTextSchema } from '../../filters/query-parameter-filter.ts';
import type { Condition } from '../../query/language/condition.ts';
import { requestedCondition } from '../../query/language/related-path.ts';
import { wrongOption } from '../../errors/options.ts';
import { templateFiller } from '../../http/path-template.ts';

/** The keys that identify the records of a view in paths. */
export interface KeyDefinition {
  /** The schema of a key, for documents. */
  readonly schema: TSchema;
  /** The field to compare a key with; undefined if the view has no entity. */
  readonly column?: FieldPath;
  /** Returns the condition of a request's record, for paths without a key. Undefined if paths have a key. */
  readonly singleton?: ((request: FastifyRequest) => Condition) | undefined;
  /** Parses the key of a path; undefined if it is malformed. */
  parse(text: string): unknown;
}

/** The options that decide how a request identifies a record. */
interface KeyOptions {
  readonly lookupField?: string | undefined;
  readonly singleton?: ((request: FastifyRequest) => object | null | undefined) | undefined;
}

/**
 * The key that identifies the records of a view in paths: the primary key, or the field of the option `lookupField`.
 */
export class RecordKey implements KeyDefinition {
  readonly column: FieldPath;
  readonly schema: TSchema;
  readonly singleton: KeyDefinition['singleton'];
  readonly #fillPath: ReturnType<typeof templateFiller>;

  /**
   * @param path the template of the collection's path
   * @throws ImproperlyConfigured for a `lookupField` that does not identify one record
   */
  constructor(name: string, meta: EntityMetadata, { lookupField, singleton }: KeyOptions, path: string) {
    this.column = lookupField === undefined ? primaryKey(meta) : lookupColumn(name, meta, lookupField);
    const words = lookupField === undefined ? 'primary key' : this.column.key.replaceAll('_', ' ');
    const schema = lookupTextSchema({ path: this.column, lookup: 'exact' });
    this.schema = { ...schema, description: `The ${words} of the record` };
    this.singleton = singleton && ((request) => requestedCondition(`${name}.singleton`, meta, singleton(request)));
    this.#fillPath = templateFiller(path);
  }

  parse(text: string): unknown {
    try {
      return parseFieldText(this.column.type, text);
    } catch {
      return undefined;
    }
  }

  /**
   * Makes the path of one record, `/api/products/7` or `/api/user`. Parameters of a prefix get the values of the
   * request.
   */
  pathOf(key: unknown, request: FastifyRequest): string {
    const params = request.params as Readonly<Record<string, unknown>>;
    const path = this.#fillPath((parameter) => params[parameter]);
    if (this.singleton !== undefined) return path;
    return `${path}/${typeof key === 'number' ? key : encodeURIComponent(keyText(key))}`;
  }
}

function lookupColumn(name: string, meta: EntityMetadata, field: string): FieldPath {
  const path = resolveOption(name, 'lookupField', field, () => fieldPath(meta, field, '.'));
  const isNamable = path.steps.length === 0 && FIELD_KINDS[path.type.kind].namesRecords;
  if (isNamable && !path.nullable && isUnique(meta, path.property)) return path;
  throw wrongOption(name, 'lookupField', 'a unique text or whole number of the entity that is never NULL', field);
}
