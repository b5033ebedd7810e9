import type { TSchema } from 'typebox';
import { FieldValueError, parseFieldText } from '../fields/field-value.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../parameters.ts';
import { compare } from '../language/compare.ts';
import { and, type Condition } from '../language/condition.ts';
import type { QuerySet } from '../query/queryset.ts';
import { parseLookupText, resolveLookup, type ResolvedLookup } from '../language/resolve-lookup.ts';
import { Filter, type FilterTarget } from './filter.ts';
import { lookupTextSchema } from './lookup-text-schema.ts';
import { resolveOption } from './resolve-option.ts';

/**
 * The view's `filterFields`: each query parameter there narrows the list by its lookup. All that are present must hold.
 *
 * A parameter of an `exact` lookup that comes several times means "one of"; any other must come once. An empty value
 * counts as absent. Override `maximumValues` (default 5000) to let one parameter have more values, be it that it comes
 * several times or has a list in it.
 *
 * @throws ImproperlyConfigured at registration, for a lookup whose field does not exist or which does not fit its type
 * @example
 * // filterFields: { min_price: 'price__gte', name: 'name' }
 * // GET /products?min_price=10&name=Tea&name=Milk
 * // … WHERE price >= 10 AND name IN ('Tea', 'Milk')
 */
export class QueryParameterFilter extends Filter {
  /** More values of one parameter than this are a 400. */
  readonly maximumValues: number = 5000;
  readonly #lookups: readonly (readonly [parameter: string, lookup: ResolvedLookup])[];

  constructor(target: FilterTarget) {
    super(target);
    this.#lookups = Object.entries(target.filterFields).map(([name, lookup]) => [
      name,
      resolveOption(target.name, 'filterFields', name, () => resolveLookup(target.meta, lookup)),
    ]);
  }

  get parameters(): readonly ParameterDeclaration[] {
    return this.#lookups.map(([name, resolved]) => ({ name, schema: this.schemaOf(resolved) }));
  }

  apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters): QuerySet<E> {
    const sent = this.#lookups.filter(([name]) => parameters.has(name));
    if (sent.length === 0) return queryset;
    const conditions: Condition[] = [];
    const problems = new InvalidUsageCollector();
    for (const [name, resolved] of sent) {
      const condition = problems.attempt(() => readCondition(parameters, name, resolved, this.maximumValues));
      if (condition !== undefined) conditions.push(condition);
    }
    problems.throwIfAny();
    return queryset.where(and(...conditions));
  }

  /** How a parameter is documented. */
  protected schemaOf(resolved: ResolvedLookup): TSchema {
    return lookupTextSchema(resolved);
  }
}

function readCondition(
  parameters: QueryParameters,
  name: string,
  resolved: ResolvedLookup,
  maximumValues: number,
): Condition | undefined {
  const { path, lookup } = resolved;
  const texts = lookup === 'exact' ? parameters.all(name) : [parameters.one(name)];
  const [text] = texts;
  if (text === undefined) return undefined;
  if (texts.length > maximumValues || (lookup === 'in' && text.split(',', maximumValues + 1).length > maximumValues)) {
    throw invalidParameter(name, `must not have more than ${maximumValues} values`);
  }
  try {
    if (texts.length === 1) return parseLookupText(resolved, text);
    return compare(
      path,
      'in',
      (texts as readonly string[]).map((each) => parseFieldText(path.type, each)),
    );
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    throw invalidParameter(name, error.message);
  }
}
