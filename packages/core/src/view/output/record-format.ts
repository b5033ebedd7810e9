import { type TSchema, Type } from 'typebox';
import { getOrMake } from '../../support/get-or-make.ts';
import type { PageMemberNames } from '../../pagination/page-names.ts';

/** The bodies that a route accepts. */
export interface AcceptedBodies {
  readonly one: boolean;
  readonly several: boolean;
}

/** What the body of a request has of records, and its JSON pointer. */
export interface OpenedBody {
  readonly body: unknown;
  readonly path: string;
  /** True if the body must be an array of bodies. */
  readonly isSeveral: boolean;
}

/**
 * How bodies and responses have a view's records: a record is the whole body, several are an array. A feature may have
 * another format. Code within the view only sees the records.
 */
export class RecordFormat {
  /** The member that has the record; undefined if the record is the whole body. */
  readonly one: string | undefined = undefined;
  /** The member that has several records; undefined if they are an array. */
  readonly many: string | undefined = undefined;
  /** The schemas of arrays, by the schema of a record. The same schema gives the same object. */
  readonly #arrays = new WeakMap<TSchema, TSchema>();

  /** The names for the pages of lists; undefined if only the paginator names them. */
  get pageNames(): PageMemberNames | undefined {
    return undefined;
  }

  /** Makes the value of a response from one record. */
  wrapOne(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return record;
  }

  /** Makes the value of a response from several records. */
  wrapMany(records: readonly unknown[]): object {
    return records;
  }

  /** Makes the value of a list without pages. */
  wrapList(records: readonly unknown[]): object {
    return records;
  }

  schemaOfOne(record: TSchema): TSchema {
    return record;
  }

  /** Makes the schema of several records. The same schema gives the same object. */
  schemaOfMany(record: TSchema): TSchema {
    return getOrMake(this.#arrays, record, () => Type.Array(record));
  }

  /** Makes the schema of a list without pages. The same schema gives the same object. */
  schemaOfList(record: TSchema): TSchema {
    return this.schemaOfMany(record);
  }

  /** Makes the schema of a body of one record, for documents. */
  bodyOfOne(body: TSchema): TSchema {
    return body;
  }

  /** Makes the schema of a body of several records, for documents. */
  bodyOfMany(bodies: TSchema): TSchema {
    return bodies;
  }

  /**
   * Finds the records in a body.
   *
   * @throws InvalidUsage for a body without them
   */
  open(body: unknown, { one, several }: AcceptedBodies): OpenedBody {
    return { body, path: '', isSeveral: several && (!one || Array.isArray(body)) };
  }
}

/** The format of views without a feature that has another. */
export const PLAIN_FORMAT = new RecordFormat();
