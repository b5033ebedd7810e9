/** The kind of a field's value. `FIELD_KINDS` describes each kind. */
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

/** The type of a field as its entity declares it, with the bounds of the database column. */
export interface FieldType {
  readonly kind: FieldKind;
  /** The most Unicode code points of a string. */
  readonly maxLength?: number;
  /** The least value of an integer or bigint. */
  readonly minimum?: number | bigint;
  /** The greatest value of an integer or bigint. */
  readonly maximum?: number | bigint;
  /** The total digits of a decimal. */
  readonly precision?: number;
  /** The digits of a decimal after the point. */
  readonly scale?: number;
  /** The values of an enum. */
  readonly values?: readonly (string | number)[];
  /** The operators that the column type of a string lacks, as for `xml` and `point` of PostgreSQL. Default: none. */
  readonly lacks?: 'order' | 'equality';
  /** The type of the elements of a list, `p.array()`. Undefined for other JSON, and for elements of an own type. */
  readonly element?: FieldType;
  /** The JavaScript type of a bigint or decimal, as the entity declares it. */
  readonly mode?: 'bigint' | 'number' | 'string';
}
