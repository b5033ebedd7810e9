import { Type } from 'typebox';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../parameters.ts';
import type { Condition } from '../language/condition.ts';
import type { QuerySet } from '../query/queryset.ts';
import { resolveLookup } from '../language/resolve-lookup.ts';
import { jsonLogicSchema } from './json-logic-schema.ts';
import { Filter, type FilterTarget, resolveOption } from './filter.ts';
import { JsonLogicError, JsonLogicReader } from './json-logic-reader.ts';

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
    this.#fields = new Map(allowedPaths(target).map((path) => [path.key, path]));
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

function allowedPaths(target: FilterTarget): FieldPath[] {
  const { name, meta, jsonLogicFields, filterFields, isShown } = target;
  if (jsonLogicFields === undefined) {
    const filtered = Object.entries(filterFields).flatMap(([parameter, lookup]) =>
      typeof lookup === 'string'
        ? [resolveOption(name, 'filterFields', parameter, () => resolveLookup(meta, lookup).path)]
        : [],
    );
    return filtered.filter((path) => isShown?.(path) === true);
  }
  return jsonLogicFields.map((field) =>
    resolveOption(name, 'jsonLogicFields', field, () => fieldPath(meta, field, '.')),
  );
}
