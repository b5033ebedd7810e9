import { Utils, isRaw, type EntityManager, type Platform } from '@mikro-orm/core';
import { getOrMake } from '../../support/get-or-make.ts';
import type { Condition } from '../../query/language/condition.ts';
import { keysQuery } from '../../mikro/query-builder.ts';
import { COLUMN, VALUE, type Comparison } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';

type Matching = Extract<Condition, { kind: 'matching' }>;

/** By the schema of tables without their own schema. Each entity manager may choose it. */
const known = new WeakMap<Matching, Map<string, Comparison>>();

/** `pk in (select pk …)`: MikroORM's SQL for the condition, with bound parameters. */
export function matchingSql(em: EntityManager, dialect: Dialect, condition: Matching): Comparison {
  const schemas = getOrMake(known, condition, () => new Map<string, Comparison>());
  return getOrMake(schemas, em.schema ?? '', () => build(em, dialect, condition));
}

function build(em: EntityManager, dialect: Dialect, { meta, where, converted }: Matching): Comparison {
  const { sql, params } = keysQuery(em, meta, where, converted);
  const bound = bind(em.getPlatform(), dialect, sql, params);
  return { template: `${COLUMN} in (${bound.template})`, values: bound.values };
}

/** Like `formatQuery` of MikroORM's platforms, but with bound values instead of values in the text. */
function bind(platform: Platform, dialect: Dialect, sql: string, params: readonly unknown[]): Comparison {
  const values: unknown[] = [];
  let next = 0;
  const template = sql.replaceAll(/\\\?|\?\??/g, (mark) => {
    if (mark === '\\?') return '?';
    const param = params[next++];
    if (mark === '??') return platform.quoteIdentifier(param as string);
    return place(platform, dialect, param, values);
  });
  return { template, values };
}

function place(platform: Platform, dialect: Dialect, param: unknown, values: unknown[]): string {
  if (isRaw(param)) {
    const inner = bind(platform, dialect, param.sql, param.params);
    values.push(...inner.values);
    return inner.template;
  }
  if (Array.isArray(param)) return param.map((item) => place(platform, dialect, item, values)).join(', ');
  values.push(Utils.isPlainObject(param) ? JSON.stringify(param) : dialect.whereParameter(param));
  return VALUE;
}
