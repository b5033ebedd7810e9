import type { EntityName } from '@mikro-orm/core';
import type { TObject } from 'typebox';
import type { ReadField } from './read-field.ts';

/** A read shape of any entity. */
export interface ShownShape {
  readonly entity: EntityName<object>;
  readonly schema: TObject;
  readonly fields: readonly ReadField[];
}

/** The options of `many()` for any relation. */
export interface AnyManyOptions {
  readonly orderBy?: string | readonly string[];
  readonly limit?: number;
  readonly from?: string;
}

/** A field of a read shape with the records of a to-many relation, or a value of each. Made by `many()`. */
export class Many<Entity, Child, Item, From extends string | undefined> {
  /** The shape of each record, or the path to its value, which begins with the relation. */
  readonly source: ShownShape | string;
  readonly orderBy: readonly string[];
  readonly limit: number | undefined;
  readonly from: string | undefined;
  /** Only for the types, like the next members. */
  declare readonly entity?: (entity: Entity) => void;
  declare readonly child?: (child: Child) => Child;
  declare readonly item?: Item;
  declare readonly relation?: { readonly from: From };

  /** @internal */
  constructor(source: Many<Entity, Child, Item, From>['source'], options: AnyManyOptions) {
    const { orderBy = [], limit, from } = options;
    this.source = source;
    this.orderBy = typeof orderBy === 'string' ? [orderBy] : orderBy;
    this.limit = limit;
    this.from = from;
  }
}
