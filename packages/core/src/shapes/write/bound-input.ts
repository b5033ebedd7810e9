import type { EntityMetadata } from '@mikro-orm/core';
import type { TObject } from 'typebox';
import type { FileField } from '../../files/file-field.ts';
import type { Problem } from '../../schema/scan-input.ts';
import type { Inspected } from '../../schema/validator.ts';
import type { ColumnRule } from './column-rule.ts';

/** The schemas of the bodies of POST, PUT and PATCH. */
export interface BodySchemas {
  readonly schema: TObject;
  readonly replacement: TObject;
  readonly partial: TObject;
}

/** The purpose of a body: a new record (POST), a whole existing record (PUT), or a part of one (PATCH). */
export type BodyMode = 'create' | 'replace' | 'change';

export interface BoundField {
  /** The name of the property. */
  readonly name: string;
  /** The name of the field in a body. */
  readonly sentAs: string;
  /** The JSON pointer to the field in a body. */
  readonly path: string;
  readonly nullable: boolean;
  /** Undefined if the column has no known rule, or if there is no column. */
  readonly rule?: ColumnRule | undefined;
  /** True if the column holds a list of values. The rule applies to each of them. */
  readonly listed?: boolean;
  /** The digits after the point that a decimal column keeps. Undefined for a column of another kind. */
  readonly decimals?: number | undefined;
  /** The keywords that describe the values of the column in a schema. */
  readonly bounds?: object;
  readonly reference?: Reference | undefined;
  /**
   * The fields of an embeddable. With `isList`, the fields of each embeddable in the list; their paths start at the
   * embeddable.
   */
  readonly parts?: readonly BoundField[] | undefined;
  readonly isList?: boolean;
  /** True for a part that a new embeddable must have. */
  readonly isRequired?: boolean;
  /** Returns the value of a part that a new embeddable does not have. Undefined if the database sets it. */
  readonly whenAbsent?: (() => unknown) | undefined;
  /** The file that the field accepts. */
  readonly file?: FileField | undefined;
  /** The most related records in the field. Undefined if it is not a list of records. */
  readonly maxItems?: number;
  /** The related records that the field writes: the children in a list, or one record. */
  readonly children?: BoundChildren | undefined;
}

/** A field of a body that refers to records of another entity. */
export interface Reference {
  readonly target: EntityMetadata;
  /** The field of the target that identifies the record: its primary key, or another unique field. */
  readonly key: string;
  /** The key that the property holds. Undefined if it holds the related entity, which is the case without `mapToPk`. */
  readonly held: string | undefined;
  /** True if the value is a list. */
  readonly isMany: boolean;
  /** True if a missing record is created. */
  readonly creates: boolean;
}

/** The related records that a field of a body writes. */
export interface BoundChildren {
  readonly target: EntityMetadata;
  /** True if the field has one record, and false if it has a list. */
  readonly isOne: boolean;
  /** True if other records may refer to the record too. It is then never deleted. */
  readonly isShared: boolean;
  /** The property of a child that refers to its parent. Undefined if the parent refers to the child. */
  readonly owner: string | undefined;
  /** The name of a child's primary key. Undefined if an object cannot name it, which only one record need not. */
  readonly key: string | undefined;
  readonly shape: BoundInput;
  /** Validates the objects of the field, each like a separate body. The paths of problems are within the parent's body. */
  check(value: unknown, path: string, problems: Problem[], mode: BodyMode): unknown;
  /**
   * Validates an object of an update as a new record, because there is none to change. Undefined if `check` has not
   * returned the object.
   */
  inspectNew(item: object): Inspected | undefined;
}

/** The fields of a body, and its complete validation. */
export interface BoundInput {
  /** The schema of a body that creates a record. */
  readonly schema: TObject;
  readonly fields: readonly BoundField[];
  /** The references of a body, by the paths of their relations: `author`, or `books.tags` in children. */
  readonly references: ReadonlyMap<string, Reference>;
  /** Finds all problems of a body. */
  inspect(body: unknown, mode: BodyMode): Inspected;
}
