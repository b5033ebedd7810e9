import { Utils, isRaw, type EntityManager, type Platform } from '@mikro-orm/core';
import type { Condition } from '../../language/condition.ts';
import { formattedDate } from '../../mikro/platform.ts';
import { keysQuery } from '../../mikro/query-builder.ts';
import { COLUMN, VALUE, type Comparison } from './dialects/comparison.ts';

type Matching = Extract<Condition, { kind: 'matching' }>;

/** By the schema of the tables that name none, which each entity manager may choose. */
const known = new WeakMap<Matching, Map<string, Comparison>>();

/** `pk in (select pk …)`: what MikroORM makes of the condition, with its parameters bound. */
export function matchingSql(em: EntityManager, condition: Matching): Comparison {
  let schemas = known.get(condition);
  if (schemas === undefined) known.set(condition, (schemas = new Map<string, Comparison>()));
  const schema = em.schema ?? '';
  let comparison = schemas.get(schema);
  if (comparison === undefined) schemas.set(schema, (comparison = build(em, condition)));
  return comparison;
}

function build(em: EntityManager, { meta, where, converted }: Matching): Comparison {
  const { sql, params } = keysQuery(em, meta, where, converted);
  const bound = bind(em.getPlatform(), sql, params);
  return { template: `${COLUMN} in (${bound.template})`, values: bound.values };
}

/** As `formatQuery` of MikroORM's platforms, with values bound instead of written into the text. */
function bind(platform: Platform, sql: string, params: readonly unknown[]): Comparison {
  const values: unknown[] = [];
  let next = 0;
  const template = sql.replaceAll(/\\\?|\?\??/g, (mark) => {
    if (mark === '\\?') return '?';
    const param = params[next++];
    if (mark === '??') return platform.quoteIdentifier(param as string);
    return place(platform, param, values);
  });
  return { template, values };
}

function place(platform: Platform, param: unknown, values: unknown[]): string {
  if (isRaw(param)) {
    const inner = bind(platform, param.sql, param.params);
    values.push(...inner.values);
    return inner.template;
  }
  if (Array.isArray(param)) return param.map((item) => place(platform, item, values)).join(', ');
  values.push(bindable(platform, param));
  return VALUE;
}

function bindable(platform: Platform, param: unknown): unknown {
  if (param instanceof Date) return formattedDate(platform, param) ?? param.getTime();
  if (typeof param === 'boolean') return platform.getBooleanTypeDeclarationSQL() === 'boolean' ? param : Number(param);
  if (typeof param === 'bigint' && platform.getBooleanTypeDeclarationSQL() === 'boolean') return String(param);
  return Utils.isPlainObject(param) ? JSON.stringify(param) : param;
}
