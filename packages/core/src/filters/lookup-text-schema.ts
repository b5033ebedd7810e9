import { Type, type TSchema } from 'typebox';
import type { FieldType } from '../fields/field-type.ts';
import type { ResolvedLookup } from '../query/resolve-lookup.ts';

/** The schema that documents a query parameter of a lookup: the type of its text, and in words what it keeps. */
export function lookupTextSchema({ path, lookup }: ResolvedLookup): TSchema {
  const described = { description: MEANINGS[lookup].replace('%', path.key) };
  if (lookup === 'isnull') return Type.Boolean(described);
  if (lookup === 'in' || lookup === 'range') return Type.String(described);
  return scalarSchema(path.type, described);
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

function scalarSchema(type: FieldType, described: { description: string }): TSchema {
  switch (type.kind) {
    case 'integer':
    case 'bigint':
      return Type.Integer(described);
    case 'number':
    case 'decimal':
      return Type.Number(described);
    case 'boolean':
      return Type.Boolean(described);
    case 'datetime':
      return Type.String({ format: 'date-time', ...described });
    case 'date':
    case 'time':
    case 'uuid':
      return Type.String({ format: type.kind, ...described });
    case 'enum':
      return Type.Enum([...(type.values ?? [])], described);
    default:
      return Type.String(described);
  }
}
