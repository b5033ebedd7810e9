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

/** What a body is for: a new record (POST), all of one that is there (PUT), or a part of one (PATCH). */
export type BodyMode = 'create' | 'replace' | 'change';

/** A field of a body and its column. */
export interface BoundField {
  /** The name of the property. */
  readonly name: string;
  /** The name of the field in a body. */
  readonly sentAs: string;
  /** The JSON pointer to the field in a body. */
  readonly path: string;
  readonly nullable: boolean;
  /** Undefined if nothing is known of the column, or there is none. */
  readonly rule?: ColumnRule | undefined;
  /** The keywords that say in a schema what the column can hold. */
  readonly bounds?: object;
  readonly reference?: Reference | undefined;
  /** The fields of an embeddable; if `isList`, of each one of a list, with their places below that of the one. */
  readonly parts?: readonly BoundField[] | undefined;
  readonly isList?: boolean;
  /** The file that the field takes. */
  readonly file?: FileField | undefined;
  /** The greatest number of related records in the field; undefined if it is no list of them. */
  readonly maxItems?: number;
  /** The children that the field writes. */
  readonly children?: BoundChildren | undefined;
}

/** A field of a body that refers to records of another entity. */
export interface Reference {
  readonly target: EntityMetadata;
  /** The field of the target that the value is compared with: its primary key, or another unique one. */
  readonly key: string;
  /** The key that the property holds; undefined if it holds the related entity, as it does without `mapToPk`. */
  readonly held: string | undefined;
  /** True if the value is a list. */
  readonly isMany: boolean;
  /** True if a record that is not there is created. */
  readonly creates: boolean;
}

/** The children that a field of a body writes. */
export interface BoundChildren {
  readonly target: EntityMetadata;
  /** The property of a child that refers to its parent. */
  readonly owner: string;
  /** The name of the primary key of a child. */
  readonly key: string;
  /** The shape of one child. */
  readonly shape: BoundInput;
  /** Validates a list of children, each as the body that it is; its problems are told with their places. */
  check(items: readonly unknown[], path: string, problems: Problem[], mode: BodyMode): unknown;
}

/** The fields of a body, and the check of all that is said of one. */
export interface BoundInput {
  /** The schema of a body that creates a record. */
  readonly schema: TObject;
  readonly fields: readonly BoundField[];
  /** The references of a body, by the paths of their relations: `author`, `books.tags` of children. */
  readonly references: ReadonlyMap<string, Reference>;
  /** Finds everything that is wrong with a body. */
  inspect(body: unknown, mode: BodyMode): Inspected;
}
