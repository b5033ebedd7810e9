import { Type, type TSchema } from 'typebox';
import type { FieldKind, FieldType } from '../fields/field-type.ts';
import { FieldValueError, parseFieldText } from '../fields/field-value.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../parameters.ts';
import { compare } from '../language/compare.ts';
import { and, type Condition } from '../language/condition.ts';
import type { QuerySet } from '../query/queryset.ts';
import { parseLookupText, resolveLookup, type ResolvedLookup } from '../language/resolve-lookup.ts';
import { Filter, type FilterOption, type FilterTarget, resolveOption } from './filter.ts';

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
  static override readonly reads: readonly FilterOption[] = ['filterFields'];
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

  /** Makes the schema that documents a parameter. */
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
    const values = (texts as readonly string[]).map((each) => parseFieldText(path.type, each));
    return compare(path, 'in', values);
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    throw invalidParameter(name, error.message);
  }
}

/** Makes the schema that documents a query parameter of a lookup: the type of its text, and its meaning in words. */
export function lookupTextSchema({ path, lookup }: ResolvedLookup): TSchema {
  const described = { description: MEANINGS[lookup].replace('%', path.key) };
  if (lookup === 'isnull') return Type.Boolean(described);
  if (lookup === 'in' || lookup === 'range') return Type.String(described);
  return SCALARS[path.type.kind](described, path.type);
}

const MEANINGS: Readonly<Record<ResolvedLookup['lookup'], string>> = {
  exact: '% is this; given several times: one of these',
  iexact: '% is this, whatever the case',
  ne: '% is not this',
  contains: '% contains this',
  icontains: '% contains this, whatever the case',
  startswith: '% starts with this',
  istartswith: '% starts with this, whatever the case',
  endswith: '% ends with this',
  iendswith: '% ends with this, whatever the case',
  gt: '% is greater than this',
  gte: '% is this or greater',
  lt: '% is less than this',
  lte: '% is this or less',
  in: '% is one of these, separated by commas',
  range: '% is between these two, separated by a comma, or is one of them',
  isnull: 'true: % is null; false: it is not',
};

const SCALARS: Readonly<Record<FieldKind, (described: { description: string }, type: FieldType) => TSchema>> = {
  string: (described) => Type.String(described),
  integer: (described) => Type.Integer(described),
  bigint: (described) => Type.Integer(described),
  number: (described) => Type.Number(described),
  decimal: (described) => Type.Number(described),
  boolean: (described) => Type.Boolean(described),
  datetime: (described) => Type.String({ format: 'date-time', ...described }),
  date: (described) => Type.String({ format: 'date', ...described }),
  time: (described) => Type.String({ format: 'time', ...described }),
  uuid: (described) => Type.String({ format: 'uuid', ...described }),
  json: (described) => Type.String(described),
  binary: (described) => Type.String(described),
  enum: (described, type) => Type.Enum([...(type.values ?? [])], described),
};
