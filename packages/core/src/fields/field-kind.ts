/** The kind of value that a field holds. `FIELD_KINDS` says what follows from it. */
export type FieldKind =
  | 'string'
  | 'integer'
  | 'bigint'
  | 'number'
  | 'decimal'
  | 'boolean'
  | 'datetime'
  | 'date'
  | 'time'
  | 'uuid'
  | 'objectId'
  | 'json'
  | 'binary'
  | 'enum';

/** The type of a field as its entity declares it, with the bounds that the database column has. */
export interface FieldType {
  readonly kind: FieldKind;
  /** Unicode code points, of a string. */
  readonly maxLength?: number;
  /** The least value of an integer or bigint. */
  readonly minimum?: number | bigint;
  /** The greatest value of an integer or bigint. */
  readonly maximum?: number | bigint;
  /** Digits in all, of a decimal. */
  readonly precision?: number;
  /** Digits after the point, of a decimal. */
  readonly scale?: number;
  /** The values of an enum. */
  readonly values?: readonly (string | number)[];
  /** What the type of the column of a string has no operators for, such as `xml` and `point` of PostgreSQL. By default it has all. */
  readonly lacks?: 'order' | 'equality';
  /** The JavaScript type of a bigint or decimal, as the entity declares it. */
  readonly mode?: 'bigint' | 'number' | 'string';
}
