import type { FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';
import type { FieldPath } from '../fields/field-path.ts';
import { isReference, isToOne, targetOf } from '../fields/property.ts';
import { referenceTo } from '../fields/reference-to.ts';
import { FIELD_KINDS } from '../fields/field-kinds.ts';
import { FieldValueError } from '../fields/field-value-error.ts';
import { parseFieldText } from '../fields/field-value.ts';
import { InvalidUsageCollector } from '../errors/invalid-usage-collector.ts';
import { invalidParameter, type ParameterDeclaration, type QueryParameters } from '../http/parameters.ts';
import { compare } from '../query/language/compare.ts';
import { and, type Condition } from '../query/language/condition.ts';
import { operandOf } from '../query/language/lookup.ts';
import { pathFor } from '../query/language/related-path.ts';
import type { QuerySet } from '../query/queryset.ts';
import { parseLookupTexts, resolveLookup, type ResolvedLookup } from '../query/language/resolve-lookup.ts';
import { Filter, type FilterTarget, resolveOption } from './filter.ts';
import { lookupOf } from './value-lookup.ts';

/**
 * Filters by the view's `filterFields`: each query parameter narrows the list by its lookup. All parameters that are sent must match.
 *
 * If the parameter of an `exact` lookup is repeated, it means "one of". Other parameters may come only once. An empty value counts as
 * absent. Override `maximumValues` (default 5000) to allow more values of one parameter, repeated or in a list.
 *
 * @throws ImproperlyConfigured at registration, for a lookup whose field does not exist or which does not fit its type
 * @example
 * // filterFields: { min_price: 'price__gte', name: 'name' }
 * // GET /products?min_price=10&name=Tea&name=Milk
 * // … WHERE price >= 10 AND name IN ('Tea', 'Milk')
 */
export class QueryParameterFilter extends Filter {
  static override readonly reads: readonly 'filterFields'[] = ['filterFields'];
  /** The most values of one parameter. More give 400. */
  readonly maximumValues: number = 5000;
  readonly #lookups: readonly (readonly [parameter: string, lookup: ResolvedLookup])[];

  constructor(target: FilterTarget) {
    super(target);
    this.#lookups = Object.entries(target.filterFields).map(([name, lookup]) => [
      name,
      resolveOption(target.name, 'filterFields', name, () =>
        typeof lookup === 'string' ? resolveLookup(target.meta, lookup) : lookupOf(target.meta, lookup),
      ),
    ]);
  }

  get parameters(): readonly ParameterDeclaration[] {
    return this.#lookups.map(([name, resolved]) => {
      const { path, lookup } = resolved;
      return { name, schema: this.schemaOf(resolved), compares: [{ field: path.key, lookup }] };
    });
  }

  apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters, request?: FastifyRequest): QuerySet<E> {
    const sent = this.#lookups.filter(([name]) => parameters.has(name));
    if (sent.length === 0) return queryset;
    const conditions: Condition[] = [];
    const problems = new InvalidUsageCollector();
    for (const [name, { path, lookup }] of sent) {
      const resolved = { path: pathFor(path, request), lookup };
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
  const texts = textsOf(parameters, name, resolved);
  if (texts.length === 0) return undefined;
  if (texts.length > maximumValues) {
    throw invalidParameter(name, `must not have more than ${maximumValues} values`);
  }
  try {
    if (lookup !== 'exact' || texts.length === 1) return parseLookupTexts(resolved, texts);
    return compare(
      path,
      'in',
      texts.map((each) => parseFieldText(path.type, each)),
    );
  } catch (error) {
    if (!(error instanceof FieldValueError)) throw error;
    throw invalidParameter(name, error.message);
  }
}

/** Returns the texts of a parameter: the values of a list, those of a repeated parameter, or one. */
function textsOf(parameters: QueryParameters, name: string, { path, lookup }: ResolvedLookup): readonly string[] {
  const operand = operandOf(lookup, path.type);
  if (operand === 'list' || operand === 'bounds') {
    const { element = path.type } = path.type;
    return parameters.list(name, { hasCommas: FIELD_KINDS[element.kind].hasCommas(element) }) ?? [];
  }
  return lookup === 'exact' ? parameters.all(name) : [parameters.one(name) ?? []].flat();
}

/** Makes the schema that documents a query parameter: the type of its text, and a description of the lookup. */
export function lookupTextSchema({ path, lookup }: ResolvedLookup): TSchema {
  const isTime = path.type.kind === 'date' || path.type.kind === 'datetime';
  const ofList = path.type.element === undefined ? undefined : LIST_MEANINGS[lookup];
  const meaning = ofList ?? (isTime ? TIME_MEANINGS[lookup] : undefined) ?? MEANINGS[lookup];
  const described = { description: meaning.replace('%', labelOf(path)) };
  const { element = path.type } = path.type;
  const schema = FIELD_KINDS[element.kind].textSchema(element);
  switch (operandOf(lookup, path.type)) {
    case 'value':
      return { ...schema, ...described, ...(lookup === 'exact' ? relatedRecord(path) : {}) };
    case 'day':
      return { ...FIELD_KINDS.date.textSchema({ kind: 'date' }), ...described };
    case 'boolean':
      return Type.Boolean(described);
    case 'list':
      return Type.Array(schema, described);
    case 'bounds':
      return Type.Array(schema, { minItems: 2, maxItems: 2, ...described });
  }
}

/** Documents which related record a value selects, if the path is a relation, or ends in a field behind one. */
function relatedRecord({ steps, property }: FieldPath): object {
  const relation = isToOne(property) ? property : steps.at(-1);
  const target = relation !== undefined && isReference(relation) ? targetOf(relation) : undefined;
  return target === undefined ? {} : referenceTo(target, property);
}

/** Makes the label of a field: `Price`, `Role name`. */
function labelOf({ key }: FieldPath): string {
  const words = key
    .replaceAll(/[._]+/g, ' ')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The descriptions of lookups. A lookup with several values takes them in one text, separated by commas. */
const MEANINGS: Readonly<Record<ResolvedLookup['lookup'], string>> = {
  exact: '%, equal to this. Repeat the parameter for several values',
  iexact: '%, in upper or lower case',
  ne: '%, any but this',
  contains: '%, contains this',
  overlaps: '%, contains any of these',
  icontains: '%, contains this in upper or lower case',
  startswith: '%, begins with this',
  istartswith: '%, begins with this in upper or lower case',
  endswith: '%, ends with this',
  iendswith: '%, ends with this in upper or lower case',
  gt: '%, greater than',
  gte: '%, at least',
  lt: '%, less than',
  lte: '%, at most',
  in: '%, one of these',
  range: '%, from the first to the second of these',
  date: '%, on this day in UTC',
  isempty: '%, true: is an empty text; false: is none',
  isnull: '%, true: has none; false: has one',
};

const LIST_MEANINGS: Partial<typeof MEANINGS> = { contains: '%, contains all of these' };

const TIME_MEANINGS: Partial<typeof MEANINGS> = {
  gt: '%, after this',
  gte: '%, from this on',
  lt: '%, before this',
  lte: '%, until this',
};
