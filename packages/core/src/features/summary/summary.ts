import type { EntityMetadata, Platform } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { resolveOption } from '../../filters/filter.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { InvalidUsageCollector } from '../../errors/invalid-usage-collector.ts';
import type { Group, GroupTotal } from '../../query/language/grouping.ts';
import {
  invalidParameter,
  type ParameterDeclaration,
  type QueryParameters,
  unknownName,
} from '../../http/parameters.ts';
import type { QuerySet } from '../../query/queryset.ts';
import type { ReadShape } from '../../shapes/read/read-shape.ts';
import { type IsShown, shownByAll } from '../../shapes/read/shown-paths.ts';
import { averageOf, groupField, type SummaryField, valueField } from './summary-field.ts';
import { type Aggregate, AGGREGATES, type AnySummary, checkSummary, resolveZone } from './summary-option.ts';

/** The parts of a view that its summary uses. */
interface SummarizedView {
  readonly name: string;
  readonly meta: EntityMetadata;
  readonly platform: Platform;
  readonly option: AnySummary;
  /** The read shapes that a list may have. */
  readonly shapes: readonly ReadShape<object, object>[];
  /** The parameters that narrow lists. */
  readonly narrowing: readonly ParameterDeclaration[];
}

/** The parsed request for a summary. */
interface SummaryQuery {
  readonly group: readonly SummaryField[];
  readonly values: readonly { readonly aggregate: Aggregate; readonly fields: readonly SummaryField[] }[];
}

type Fields = ReadonlyMap<string, SummaryField>;
type Row = Readonly<Record<string, unknown>>;

const MAX_GROUPS = 1000;

/**
 * The groups of a view's records, with their counts, sums, averages, minima and maxima. A client can request only
 * fields that the view declares and that the list shows to this client.
 */
export class Summary {
  readonly #view: SummarizedView;
  readonly #groups: Fields;
  readonly #values: ReadonlyMap<Aggregate, Fields>;
  readonly #maxGroups: number;
  /** The time zone of days, or how a request gets one. */
  readonly #zone: string | ((request: FastifyRequest) => string);
  readonly #shownBy = new WeakMap<ReadShape<object, object>, IsShown>();

  /**
   * @throws ImproperlyConfigured for a field that does not exist, does not support its group or aggregate, or is in no
   * list
   */
  constructor(view: SummarizedView) {
    const { name, option, meta, platform } = view;
    checkSummary(name, option);
    const { group = [], values = {}, maxGroups = MAX_GROUPS, timeZone = 'UTC' } = option;
    this.#view = view;
    this.#maxGroups = maxGroups;
    this.#zone = typeof timeZone === 'string' ? resolveZone(name, timeZone) : timeZone;
    this.#groups = byName(group, (field) => this.#resolve('group', field, () => groupField(meta, platform, field)));
    if (option.timeZone !== undefined && ![...this.#groups.values()].some(hasZone)) {
      throw new ImproperlyConfigured(
        `${name}.summary: option "timeZone" has no effect, because no group is a time with a period`,
      );
    }
    const parameters = AGGREGATES.map((aggregate) => {
      const fields = Object.keys(values).filter((field) => values[field]!.includes(aggregate));
      const make = (field: string): SummaryField =>
        this.#resolve('values', field, () => valueField(meta, platform, field, aggregate));
      return [aggregate, byName(fields, make)] as const;
    });
    this.#values = new Map(parameters.filter(([, fields]) => fields.size > 0));
    for (const parameter of this.#parameters.keys()) {
      if (!view.narrowing.some((declared) => declared.name === parameter)) continue;
      throw new ImproperlyConfigured(
        `${name}: query parameter "${parameter}" is declared by both a filter and "summary"`,
      );
    }
  }

  /** The parameters of a request, besides those that narrow lists. */
  get querystring(): TSchema {
    const parameters = [...this.#parameters].map(([parameter, names]) => {
      const zone = typeof this.#zone === 'string' ? this.#zone : 'the time zone of the user';
      const description = parameter === 'group' ? `${WORDS[parameter]!} ${zone}` : WORDS[parameter]!;
      const facts = { description, maxItems: names.length, uniqueItems: true };
      return [parameter, Type.Optional(Type.Array(Type.Enum([...names]), facts))];
    });
    return Type.Object(Object.fromEntries(parameters) as Record<string, TSchema>);
  }

  get response(): TSchema {
    const parameters = [...this.#values].map(([aggregate, fields]) => [aggregate, Type.Optional(schemaOf(fields))]);
    const row = {
      group: schemaOf(this.#groups),
      count: Type.Integer({ minimum: 0, description: 'The number of records in the group' }),
      ...(Object.fromEntries(parameters) as Record<string, TSchema>),
    };
    return Type.Object({ results: Type.Array(Type.Object(row), { maxItems: this.#maxGroups }) });
  }

  /** Checks the parameters of a request. Throws InvalidUsage that names every wrong parameter. */
  validate(query: unknown, parameters: QueryParameters): object {
    this.#read(parameters, () => true);
    return query as object;
  }

  /**
   * Reads the groups of records.
   *
   * @param shape the read shape that a list would have
   * @param request the request whose time zone the days have
   * @throws InvalidUsage for a field that the shape does not show, and for too many groups
   */
  async of<Entity extends object>(
    records: QuerySet<Entity>,
    parameters: QueryParameters,
    shape: ReadShape<object, object>,
    request: FastifyRequest,
  ): Promise<{ readonly results: readonly Row[] }> {
    const query = this.#read(parameters, this.#shown(shape));
    const { totals, placeOf } = totalsOf(query);
    const found = await records.groups({
      keys: this.#inZone(query.group, request),
      totals,
      limit: this.#maxGroups + 1,
    });
    if (found.length > this.#maxGroups) {
      throw invalidParameter('group', `makes more than ${this.#maxGroups} groups; narrow the records by filters`);
    }
    const none = { keys: [], count: 0, totals: totals.map(({ kind }) => (kind === 'count' ? 0 : null)) };
    const groups = found.length === 0 && query.group.length === 0 ? [none] : found;
    const written = groups.map((group) => ({
      ...group,
      keys: group.keys.map((raw, index) => (raw === null ? null : query.group[index]!.write(raw))),
    }));
    written.sort(byKeys(query.group));
    return { results: written.map((group) => rowOf(query, group, placeOf)) };
  }

  /** Adds the time zone of a request to the keys that have days of a zone. */
  #inZone(fields: readonly SummaryField[], request: FastifyRequest): readonly SummaryField[] {
    if (!fields.some(hasZone)) return fields;
    const zone =
      typeof this.#zone === 'string'
        ? this.#zone
        : resolveZone(`${this.#view.name}.summary.timeZone()`, this.#zone(request));
    return zone === 'UTC' ? fields : fields.map((field) => (hasZone(field) ? { ...field, zone } : field));
  }

  get #parameters(): ReadonlyMap<string, readonly string[]> {
    const values = [...this.#values].map(([aggregate, fields]) => [aggregate, [...fields.keys()]] as const);
    const groups = [...this.#groups.keys()];
    return new Map<string, readonly string[]>(groups.length === 0 ? values : [['group', groups], ...values]);
  }

  /** @throws InvalidUsage for a name that is unknown, duplicate, or of a field that is not shown */
  #read(parameters: QueryParameters, isShown: IsShown): SummaryQuery {
    const problems = new InvalidUsageCollector();
    const named = (parameter: string, fields: Fields): readonly SummaryField[] => {
      const allowed = new Map([...fields].filter(([, { path }]) => isShown(path)));
      return problems.attempt(() => namedFields(parameters, parameter, allowed)) ?? [];
    };
    const group = named('group', this.#groups);
    const values = [...this.#values].map(([aggregate, fields]) => ({ aggregate, fields: named(aggregate, fields) }));
    problems.throwIfAny();
    return { group, values: values.filter(({ fields }) => fields.length > 0) };
  }

  #resolve(option: keyof AnySummary, entry: string, resolve: () => SummaryField): SummaryField {
    const { name, shapes } = this.#view;
    return resolveOption(name, `summary.${option}`, entry, () => {
      const field = resolve();
      if (shapes.some((shape) => this.#shown(shape)(field.path))) return field;
      throw new ImproperlyConfigured(
        `no read shape of "list" has "${field.path.key}", and a summary may show only fields that the list shows`,
      );
    });
  }

  #shown(shape: ReadShape<object, object>): IsShown {
    return getOrMake(this.#shownBy, shape, () => shownByAll(this.#view.meta, [shape]));
  }
}

const WORDS: Readonly<Record<string, string>> = {
  group: 'Group records by these fields, each once. Days, weeks, months and years are in',
  sum: 'Sums of these fields, each once',
  avg: 'Averages of these fields, each once',
  min: 'Least values of these fields, each once',
  max: 'Greatest values of these fields, each once',
};

/** Reports whether the groups of a field depend on the time zone. A date is a local day already. */
function hasZone({ path, period }: SummaryField): boolean {
  return period !== undefined && path.type.kind === 'datetime';
}

function byName(names: readonly string[], make: (name: string) => SummaryField): Fields {
  return new Map(names.map((name) => [name, make(name)]));
}

function schemaOf(fields: Fields): TSchema {
  const properties = [...fields].map(([name, { schema }]) => [name, Type.Optional(schema)]);
  return Type.Object(Object.fromEntries(properties) as Record<string, TSchema>);
}

/** Reads the names of a parameter: one list with commas, or repeated parameters. */
function namedFields(parameters: QueryParameters, parameter: string, allowed: Fields): readonly SummaryField[] {
  const names = parameters.list(parameter, { hasCommas: false, repeats: true }) ?? [];
  return names.map((name, index) => {
    const field = allowed.get(name);
    if (field === undefined) throw invalidParameter(parameter, unknownName(name, [...allowed.keys()]));
    if (names.indexOf(name) !== index) throw invalidParameter(parameter, `must name "${name}" only once`);
    return field;
  });
}

/**
 * The database aggregates that an aggregate needs. An average needs a sum and a count. The sum of no values is null.
 */
const TOTALS_OF: Readonly<Record<Aggregate, readonly GroupTotal['kind'][]>> = {
  sum: ['count', 'sum'],
  avg: ['count', 'sum'],
  min: ['min'],
  max: ['max'],
};

/** Lists the database aggregates to query, without duplicates, and the position of each result. */
function totalsOf({ values }: SummaryQuery): {
  readonly totals: readonly GroupTotal[];
  readonly placeOf: (path: FieldPath, kind: GroupTotal['kind']) => number;
} {
  const totals: GroupTotal[] = [];
  const placeOf = (path: FieldPath, kind: GroupTotal['kind']): number =>
    totals.findIndex((total) => total.path === path && total.kind === kind);
  const wanted = values.flatMap(({ aggregate, fields }) =>
    fields.flatMap(({ path }) => TOTALS_OF[aggregate].map((kind) => ({ path, kind }))),
  );
  for (const total of wanted) {
    if (placeOf(total.path, total.kind) === -1) totals.push(total);
  }
  return { totals, placeOf };
}

function rowOf(
  { group, values }: SummaryQuery,
  { keys, count, totals }: Group,
  placeOf: ReturnType<typeof totalsOf>['placeOf'],
): Row {
  const valueOf = (aggregate: Aggregate, { path, write }: SummaryField): unknown => {
    const raw = (kind: GroupTotal['kind']): unknown => totals[placeOf(path, kind)];
    if (aggregate === 'min' || aggregate === 'max') return raw(aggregate) === null ? null : write(raw(aggregate));
    const number = raw('count') as number;
    if (number === 0) return null;
    return aggregate === 'sum' ? write(raw('sum')) : averageOf(path.type, raw('sum'), number);
  };
  const aggregated = values.map(({ aggregate, fields }): [string, Row] => {
    return [aggregate, Object.fromEntries(fields.map((field) => [field.name, valueOf(aggregate, field)]))];
  });
  const named = Object.fromEntries(group.map(({ name }, index) => [name, keys[index]]));
  return { group: named, count, ...Object.fromEntries(aggregated) };
}

/** The order of groups: by their key values, ascending, NULL last. Texts compare by UTF-16 units, on every database. */
function byKeys(fields: readonly SummaryField[]): (one: Group, other: Group) => number {
  return (one, other) => {
    for (const [index, { path }] of fields.entries()) {
      const [left, right] = [one.keys[index], other.keys[index]];
      if (left === right) continue;
      if (left === null || right === null) return left === null ? 1 : -1;
      // Bigints may be texts.
      const isLess = path.type.kind === 'bigint' ? BigInt(left as string) < BigInt(right as string) : left! < right!;
      return isLess ? -1 : 1;
    }
    return 0;
  };
}
