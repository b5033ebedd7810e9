import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { PathOf, PathValue } from '../../fields/field-name.ts';
import { nearestTimeZone, timeZoneName } from '../../fields/time-zone.ts';
import { isPlainRecord } from '../../support/json.ts';
import type { Period } from '../../query/language/grouping.ts';
import type { WireValue } from '../../shapes/wire-value.ts';
import { checkOptions, describe, type OptionRule, POSITIVE, TEXT, TEXTS, wrongOption } from '../../errors/options.ts';

/** The aggregates that a summary can compute of a field. */
export const AGGREGATES = ['sum', 'avg', 'min', 'max'] as const;
/** The name of an aggregate. */
export type Aggregate = (typeof AGGREGATES)[number];

/** A field, through at most two relations to one. */
type SummaryPath<Entity> = PathOf<Entity, '.', 2>;

/** The fields that may hold points in time. A day (`p.date()`) is a text in TypeScript. */
type TimePath<Entity> = {
  [Path in SummaryPath<Entity>]: IsTime<PathValue<Entity, Path, '.'>> extends true ? Path : never;
}[SummaryPath<Entity>];

type IsTime<Value> = [Value] extends [Date] ? true : IsText<Value>;

/** True for a text of any characters, not of an enumeration. */
type IsText<Value> = [Value] extends [string] ? IsWide<Value> : false;

/** True for a type that no enumeration has. */
type IsWide<Value> = string extends Value ? true : number extends Value ? true : bigint extends Value ? true : false;

/**
 * The aggregates of a field. Decimals are texts in TypeScript, so only the check at startup can distinguish them from
 * other texts.
 */
type AggregateOf<Value> = [Value] extends [string | number | bigint]
  ? IsWide<Value> extends true
    ? Aggregate
    : never
  : [Value] extends [Date]
    ? 'min' | 'max'
    : never;

/** The declaration of `GET …/summary`: everything that clients may request. */
export interface SummaryOption<Entity> {
  /**
   * The fields that can group records, `customer.country`. For a point in time, add the period: `created_at:month`.
   * Default: none, all records are one group.
   */
  readonly group?: readonly (SummaryPath<Entity> | `${TimePath<Entity>}:${Period}`)[];
  /** The aggregates of each field in a group: `{ total: ['sum', 'avg'] }`. Default: only the number of records. */
  readonly values?: { readonly [Path in SummaryPath<Entity>]?: readonly AggregateOf<PathValue<Entity, Path, '.'>>[] };
  /** The most groups in a response. More give 400. Default: 1000. */
  readonly maxGroups?: number;
  /**
   * The time zone in which days, weeks, months and years begin, by its IANA name: `Europe/Berlin`. A function returns
   * the zone of a request; a wrong name is 500. It has no effect on a `p.date()`, which is a local day. Default: UTC.
   */
  readonly timeZone?: string | ((request: FastifyRequest) => string);
}

/** The declarations of any summary. */
export interface AnySummary {
  readonly group?: readonly string[];
  readonly values?: Readonly<Record<string, readonly Aggregate[]>>;
  readonly maxGroups?: number;
  readonly timeZone?: string | ((request: FastifyRequest) => string);
}

/** The summary in the types of clients: values by their request names. Never if the view has none. */
export type DeclaredSummary<Entity, Summary> = [Summary] extends [never]
  ? never
  : {
      readonly group: {
        readonly [Name in Extract<ItemOf<Member<Summary, 'group'>>, string>]: GroupValue<Entity, Name>;
      };
    } & { readonly [Name in Aggregate]: SummaryValues<Entity, Member<Summary, 'values'>, Name> };

type Member<Of, Name> = Of[Name & keyof Of];
type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

type GroupValue<Entity, Name extends string> = Name extends `${infer Path}:${Period}`
  ? string | Extract<WireValue<Entity, Path>, null>
  : WireValue<Entity, Name>;

type SummaryValues<Entity, Values, Name> = {
  readonly [Path in keyof Values as Name extends ItemOf<Values[Path]> ? Path : never]: WireValue<
    Entity,
    Path & string
  > | null;
};

export const SUMMARY_RULE: OptionRule = ['an object of "group", "values", "maxGroups" and "timeZone"', isPlainRecord];

const RULES: Readonly<Record<keyof AnySummary, OptionRule>> = {
  group: TEXTS,
  values: [`lists of ${AGGREGATES.join(', ')} by field`, isPlainRecord],
  maxGroups: POSITIVE,
  timeZone: ['the IANA name of a time zone, such as "Europe/Berlin", or a function of the request', isTextOrFunction],
};

function isTextOrFunction(value: unknown): boolean {
  return typeof value === 'function' || TEXT[1](value);
}

/** @throws ImproperlyConfigured for an unknown name, a wrong value, and a duplicate field or aggregate */
export function checkSummary(view: string, option: AnySummary): void {
  const owner = `${view}.summary`;
  checkOptions(owner, option, RULES);
  const { group = [], values = {}, timeZone } = option;
  if (typeof timeZone === 'string') resolveZone(`${owner}: option "timeZone"`, timeZone);
  checkTwice(owner, 'group', group);
  for (const [field, aggregates] of Object.entries<readonly unknown[]>(values)) {
    const name = `values.${field}`;
    if (!Array.isArray(aggregates) || aggregates.length === 0) {
      throw wrongOption(owner, name, `a list of ${AGGREGATES.join(', ')}`, aggregates);
    }
    const wrong = aggregates.findIndex((each) => !AGGREGATES.includes(each as Aggregate));
    if (wrong !== -1) {
      throw wrongOption(owner, `${name}[${wrong}]`, `one of ${AGGREGATES.join(', ')}`, aggregates[wrong]);
    }
    checkTwice(owner, name, aggregates);
  }
}

/** @throws ImproperlyConfigured for a name of no time zone */
export function resolveZone(owner: string, given: unknown): string {
  const name = timeZoneName(given);
  if (name !== undefined) return name;
  const meant = typeof given === 'string' ? nearestTimeZone(given) : undefined;
  const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
  throw new ImproperlyConfigured(
    `${owner} must be the IANA name of a time zone, such as "Europe/Berlin", got ${describe(given)}${hint}`,
  );
}

function checkTwice(owner: string, name: string, list: readonly unknown[]): void {
  const twice = list.find((item, index) => list.indexOf(item) !== index);
  if (twice === undefined) return;
  throw new ImproperlyConfigured(`${owner}: option "${name}" must name ${describe(twice)} only once`);
}
