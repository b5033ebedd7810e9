import { Type, type TSchema } from 'typebox';
import type { FieldKind, FieldType } from '../fields/field-type.ts';
import type { ResolvedLookup } from '../language/resolve-lookup.ts';

/** The schema that documents a query parameter of a lookup: the type of its text, and in words what it keeps. */
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

type Described = { readonly description: string };

const integer = (described: Described) => Type.Integer({ ...described });
const number = (described: Described) => Type.Number({ ...described });
const text = (described: Described) => Type.String({ ...described });
const formatted = (format: string) => (described: Described) => Type.String({ format, ...described });

const SCALARS: Readonly<Record<FieldKind, (described: Described, type: FieldType) => TSchema>> = {
  string: text,
  integer,
  bigint: integer,
  number,
  decimal: number,
  boolean: (described) => Type.Boolean({ ...described }),
  datetime: formatted('date-time'),
  date: formatted('date'),
  time: formatted('time'),
  uuid: formatted('uuid'),
  json: text,
  binary: text,
  enum: (described, type) => Type.Enum([...(type.values ?? [])], { ...described }),
};
