import type { EntityMetadata } from '@mikro-orm/core';
import { Type } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { prefixErrors } from '../errors/options.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../http/parameters.ts';
import type { Condition } from '../query/language/condition.ts';
import type { QuerySet } from '../query/queryset.ts';
import { resolveLookup } from '../query/language/resolve-lookup.ts';
import { isNativePath } from '../query/language/native-term.ts';
import { jsonLogicSchema } from './json-logic-schema.ts';
import { Filter, type FilterTarget, resolveOption } from './filter.ts';
import { JsonLogicError, JsonLogicReader } from './json-logic-reader.ts';
import { lookupOf, type ValueLookup } from './value-lookup.ts';

/**
 * `?filter=`: a condition in JSON Logic (https://jsonlogic.com) over the view's `jsonLogicFields`. By default these are
 * the fields of its `filterFields` that every read shape shows, because a client could guess a hidden field by
 * comparisons.
 *
 * Operators: `==` `!=` `<` `<=` `>` `>=`, `in`, `and`, `or`, `!`. Anything unknown gives 400 with its position, and is
 * never ignored. A view without JSON Logic fields has no `filter` parameter. Override `parameter` to rename it.
 * Override `maximumDepth` (default 5 nested operators), `maximumComparisons` (default 50) or `maximumValues` (default
 * 5000) to change a limit.
 *
 * @throws ImproperlyConfigured at registration, for a field that does not exist
 * @example
 * // GET /products?filter={"and":[{">=":[{"var":"price"},10]},{"in":["Tea",{"var":"name"}]}]}   (URL-encoded)
 * // … WHERE price >= 10 AND name contains 'Tea'
 */
export class JsonLogicFilter extends Filter {
  static override readonly reads: readonly ('jsonLogicFields' | 'filterFields')[] = ['jsonLogicFields', 'filterFields'];
  /** The name of the query parameter. */
  readonly parameter: string = 'filter';
  /** The most levels of nested operators. Deeper rules give 400. A comparison counts as an operator. */
  readonly maximumDepth: number = 5;
  /** The most comparisons. More give 400. */
  readonly maximumComparisons: number = 50;
  /** The most values in all lists together. More give 400. */
  readonly maximumValues: number = 5000;
  readonly #fields: ReadonlyMap<string, FieldPath>;

  constructor(target: FilterTarget) {
    super(target);
    this.#fields = allowedFields(target);
  }

  get parameters(): readonly ParameterDeclaration[] {
    if (this.#fields.size === 0) return [];
    const limits = `At most ${this.maximumComparisons} comparisons, operators at most ${this.maximumDepth} deep`;
    const schema = Type.String({
      description: `A condition in JSON Logic. ${limits}. Fields: ${[...this.#fields.keys()].join(', ')}`,
      contentMediaType: 'application/json',
      contentSchema: jsonLogicSchema(this.target.meta.className, [...this.#fields.values()]),
    });
    return [{ name: this.parameter, schema }];
  }

  apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters): QuerySet<E> {
    const rule = this.#fields.size === 0 ? undefined : parameters.json(this.parameter);
    return rule === undefined ? queryset : queryset.where(this.#read(rule));
  }

  #read(rule: unknown): Condition {
    try {
      return new JsonLogicReader(this.#fields, this).read(rule);
    } catch (error) {
      if (error instanceof JsonLogicError) throw invalidParameter(this.parameter, `is not usable: ${error.message}`);
      throw error;
    }
  }
}

/** Returns the fields by their names in rules. */
function allowedFields(target: FilterTarget): Map<string, FieldPath> {
  const { name, meta, jsonLogicFields, filterFields, isShown } = target;
  const fields = new Map<string, FieldPath>();
  if (jsonLogicFields === undefined) {
    for (const [parameter, lookup] of Object.entries(filterFields)) {
      const path = resolveOption(name, 'filterFields', parameter, () => filteredPath(meta, lookup));
      if (path !== undefined && isShown?.(path) === true && !fields.has(path.key)) fields.set(path.key, path);
    }
    return fields;
  }
  for (const field of jsonLogicFields) {
    const path =
      typeof field === 'string'
        ? resolveOption(name, 'jsonLogicFields', field, () => fieldPath(meta, field, '.'))
        : prefixErrors(`${name}: jsonLogicFields`, () => field.pathFrom(meta));
    const other = fields.get(path.key);
    if (other !== undefined && other !== path) {
      throw new ImproperlyConfigured(`${name}: jsonLogicFields has two fields with the name "${path.key}"`);
    }
    fields.set(path.key, path);
  }
  return fields;
}

/** Returns the field of a filter; undefined if its value is computed from related records. */
function filteredPath(meta: EntityMetadata, lookup: string | ValueLookup): FieldPath | undefined {
  if (typeof lookup === 'string') return resolveLookup(meta, lookup).path;
  const { path } = lookupOf(meta, lookup);
  return isNativePath(path) && path.inJson !== undefined ? path : undefined;
}
