import { type EntityProperty, JsonType, type Type } from '@mikro-orm/core';
import { type TSchema, Type as Schema } from 'typebox';
import { customTypeOf } from '../fields/field-type.ts';

/** A file in the JSON column of its record. The bytes are in a store. */
export interface StoredFile {
  /** The name of the file in its store. Clients never see it. */
  readonly key: string;
  /** The name that the client sent, without folders. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** The media type, detected from the first bytes of the file. */
  readonly type: string;
  /**
   * When the file was stored, in ISO 8601. Its `Last-Modified`, without which the file has none. Files of older versions
   * have none.
   */
  readonly storedAt?: string;
}

/** A file in a response. */
export interface FileLink {
  /** The path of the route that serves the file: `/api/tickets/7/attachment`. */
  readonly url: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly type: string;
}

/** MikroORM's JSON type, with a TypeScript type. */
const TypedJson = JsonType as unknown as new () => Type<StoredFile, string | null>;

/**
 * The type of a column that refers to a file. A read shape shows it as `{ url, name, size, type }`. A write shape
 * accepts the file with `file()`.
 *
 * @example
 * import { defineEntity, p } from '@mikro-orm/core';
 *
 * const TicketSchema = defineEntity({
 *   name: 'Ticket',
 *   properties: { id: p.integer().primary(), attachment: p.type(FileType).nullable() },
 * });
 */
export class FileType extends TypedJson {}

/** Reports whether a property is a file. */
export function isFile(property: EntityProperty): boolean {
  return customTypeOf(property) instanceof FileType;
}

/** The schema of a `FileLink`. */
export const FILE_LINK: TSchema = Schema.Object(
  {
    url: Schema.String({ format: 'uri-reference', description: 'The path of the file' }),
    name: Schema.String(),
    size: Schema.Integer({ minimum: 0, description: 'Bytes' }),
    type: Schema.String({ description: 'The media type' }),
  },
  { title: 'File' },
);
