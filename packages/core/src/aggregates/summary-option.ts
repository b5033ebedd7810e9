import { ImproperlyConfigured } from '../errors.ts';
import type { PathOf, PathValue } from '../fields/field-name.ts';
import { isPlainRecord } from '../json.ts';
import type { Period } from '../language/grouping.ts';
import type { WireValue } from '../shapes/wire-value.ts';
import { checkOptions, describe, type OptionRule, POSITIVE, TEXTS, wrongOption } from '../options.ts';

/** Everything that a summary can tell of the values of a field. */
export const AGGREGATES = ['sum', 'avg', 'min', 'max'] as const;
/** The name of something that a summary tells of the values of a field. */
export type Aggregate = (typeof AGGREGATES)[number];

/** A field, through at most two relations to one. */
type SummaryPath<Entity> = PathOf<Entity, '.', 2>;

/** The fields that may hold points in time. A day (`p.date()`) is a text in TypeScript. */
type TimePath<Entity> = {
  [Path in SummaryPath<Entity>]: IsTime<PathValue<Entity, Path, '.'>> extends true ? Path : never;
}[SummaryPath<Entity>];

type IsTime<Value> = [Value] extends [Date] ? true : IsText<Value>;

/** True of a text of any characters, which is not one of an enumeration. */
type IsText<Value> = [Value] extends [string] ? IsWide<Value> : false;

/** True of a type that no enumeration has. */
type IsWide<Value> = string extends Value ? true : number extends Value ? true : bigint extends Value ? true : false;

/** What a summary can tell of a field. Decimals are texts in TypeScript, so the start alone tells them from other texts. */
type AggregateOf<Value> = [Value] extends [string | number | bigint]
  ? IsWide<Value> extends true
    ? Aggregate
    : never
  : [Value] extends [Date]
    ? 'min' | 'max'
    : never;

/** The declarations of `GET …/summary`: all that clients may ask of it. */
export interface SummaryOption<Entity> {
  /**
   * The fields by whose values records can be put into groups, `customer.country`; of a point in time, the period in UTC that it lies in:
   * `created_at:month`. Default: none, all records are one group.
   */
  readonly group?: readonly (SummaryPath<Entity> | `${TimePath<Entity>}:${Period}`)[];
  /** What can be told of the values of a field in a group, by field: `{ total: ['sum', 'avg'] }`. Default: nothing but the number of records. */
  readonly values?: { readonly [Path in SummaryPath<Entity>]?: readonly AggregateOf<PathValue<Entity, Path, '.'>>[] };
  /** The most groups of an answer. More are a 400. Default: 1000. */
  readonly maxGroups?: number;
}

/** The declarations of any summary. */
export interface AnySummary {
  readonly group?: readonly string[];
  readonly values?: Readonly<Record<string, readonly Aggregate[]>>;
  readonly maxGroups?: number;
}

/** What a summary tells clients, for their types: values by the names that they ask for. Never if the view has none. */
export type DeclaredSummary<Entity, Summary> = [Summary] extends [never]
  ? never
  : {
      readonly group: {
        readonly [Name in Extract<ItemOf<Member<Summary, 'group'>>, string>]: GroupValue<Entity, Name>;
      };
    } & { readonly [Told in Aggregate]: ToldValues<Entity, Member<Summary, 'values'>, Told> };

type Member<Of, Name> = Of[Name & keyof Of];
type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

type GroupValue<Entity, Name extends string> = Name extends `${infer Path}:${Period}`
  ? string | Extract<WireValue<Entity, Path>, null>
  : WireValue<Entity, Name>;

type ToldValues<Entity, Values, Told> = {
  readonly [Path in keyof Values as Told extends ItemOf<Values[Path]> ? Path : never]: WireValue<
    Entity,
    Path & string
  > | null;
};

export const SUMMARY_RULE: OptionRule = ['an object of "group", "values" and "maxGroups"', isPlainRecord];

const RULES: Readonly<Record<keyof AnySummary, OptionRule>> = {
  group: TEXTS,
  values: [`lists of ${AGGREGATES.join(', ')} by field`, isPlainRecord],
  maxGroups: POSITIVE,
};

/** @throws ImproperlyConfigured for an unknown name, a wrong value, and a field or an aggregate that comes twice */
export function checkSummary(view: string, option: AnySummary): void {
  const owner = `${view}.summary`;
  checkOptions(owner, option, RULES);
  const { group = [], values = {} } = option;
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

function checkTwice(owner: string, name: string, list: readonly unknown[]): void {
  const twice = list.find((item, index) => list.indexOf(item) !== index);
  if (twice === undefined) return;
  throw new ImproperlyConfigured(`${owner}: option "${name}" must name ${describe(twice)} only once`);
}
