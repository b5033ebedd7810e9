import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters, unknownName } from '../http/parameters.ts';
import { checkOrderKey, type OrderKey } from '../query/language/order.ts';
import { pathFor } from '../query/language/related-path.ts';
import type { QuerySet } from '../query/queryset.ts';
import type { RelatedValue } from '../shapes/read/related-value.ts';
import type { JsonValue } from './json-value.ts';
import { Filter, type FilterTarget, resolveOption } from './filter.ts';

/**
 * `?sort=`: orders the list by names of the view's `orderingFields`, separated by commas. A leading `-` means descending. Without the
 * parameter, the view's own order applies. The primary key is always the last key, so the order is total and pages never overlap.
 *
 * A name that is unknown, empty or given twice (`price,-price`) gives 400. A view without ordering fields has no `sort` parameter. Override
 * `parameter` to rename it.
 *
 * @throws ImproperlyConfigured at registration, for a field that does not exist or has no order (to-many, JSON, binary)
 * @example
 * // orderingFields: { price: 'price', name: 'name' }
 * // GET /products?sort=-price,name
 * // … ORDER BY price DESC, name, id
 */
export class OrderingFilter extends Filter {
  static override readonly reads: readonly 'orderingFields'[] = ['orderingFields'];
  /** The name of the query parameter. */
  readonly parameter: string = 'sort';
  readonly #paths: ReadonlyMap<string, FieldPath>;

  constructor(target: FilterTarget) {
    super(target);
    this.#paths = new Map(
      Object.entries(target.orderingFields).map(([name, path]) => [name, resolveOrder(target, name, path)]),
    );
  }

  get parameters(): readonly ParameterDeclaration[] {
    if (this.#paths.size === 0) return [];
    const names = [...this.#paths.keys()];
    const items = Type.Enum(names.flatMap((name) => [name, `-${name}`]));
    const description = 'Names to order by, each once. A minus in front means descending';
    // Only `allOf` and `contains` could forbid duplicates, and client generators then no longer see a list.
    const schema = Type.Array(items, { description, maxItems: names.length });
    const orders = Object.fromEntries([...this.#paths].map(([name, { key }]) => [name, key]));
    return [{ name: this.parameter, schema, orders }];
  }

  apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters, request?: FastifyRequest): QuerySet<E> {
    const names = this.#paths.size === 0 ? undefined : parameters.list(this.parameter, { hasCommas: false });
    return names === undefined ? queryset : queryset.orderByPaths(this.#readKeys(names, request));
  }

  #readKeys(names: readonly string[], request: FastifyRequest | undefined): OrderKey[] {
    const seen = new Set<string>();
    return names.map((element) => {
      const descending = element.startsWith('-');
      const name = descending ? element.slice(1) : element;
      const path = this.#paths.get(name);
      if (path === undefined) throw invalidParameter(this.parameter, unknownName(name, [...this.#paths.keys()]));
      if (seen.has(name)) throw invalidParameter(this.parameter, `must name "${name}" only once`);
      seen.add(name);
      return { path: pathFor(path, request), descending };
    });
  }
}

/** The name distinguishes values of one relation with different conditions, for cursors. */
function relatedValuePath(
  { meta }: FilterTarget,
  name: string,
  value: RelatedValue<never, unknown> | JsonValue<never, unknown>,
): FieldPath {
  const path = value.pathFrom(meta);
  return Object.freeze({ ...path, key: `${path.key} as ${name}` });
}

function resolveOrder(target: FilterTarget, name: string, field: FilterTarget['orderingFields'][string]): FieldPath {
  return resolveOption(target.name, 'orderingFields', name, () => {
    if (name === '' || name.startsWith('-') || name.includes(',')) {
      throw new ImproperlyConfigured('a sort name must not be empty, start with "-" or contain a comma');
    }
    const path =
      typeof field === 'string' ? fieldPath(target.meta, field, '__') : relatedValuePath(target, name, field);
    return checkOrderKey(target.meta, { path, descending: false }).path;
  });
}
