import { type EntityProperty, JsonType, type Type } from '@mikro-orm/core';
import { type TSchema, Type as Schema } from 'typebox';
import { customTypeOf } from '../fields/field-type.ts';

/** A file as its record keeps it, in a column of JSON: the bytes are in a store. */
export interface StoredFile {
  /** The name of the file in its store, which no client ever sees. */
  readonly key: string;
  /** The name that the client gave, without folders. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** The media type, found by the first bytes of the file. */
  readonly type: string;
}

/** A file as answers show it. */
export interface FileLink {
  /** The path of the route that sends the file: `/api/tickets/7/attachment`. */
  readonly url: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly type: string;
}

/** MikroORM's own type of JSON, typed. */
const TypedJson = JsonType as unknown as new () => Type<StoredFile, string | null>;

/**
 * The type of a column that refers to a file. A read shape shows it as `{ url, name, size, type }`, a write shape takes it by
 * `file()`.
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

/** Tells if a property is a file. */
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
