import type { EntityManager, FilterDef, MikroORM } from '@mikro-orm/core';
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { ALWAYS_ON } from '../mikro/filters.ts';
import { checkOptions, FUNCTION, isListOf, LIST, NAMES, wrongOption } from '../errors/options.ts';
import { TenantEntities } from './tenant-entities.ts';
import type { TenantOptions } from './tenant-options.ts';
import {
  type ALL_TENANTS,
  checkTenant,
  fixedScope,
  innerScope,
  noScope,
  requestScope,
  scopeOf,
  setScope,
  TENANT_FILTER,
  type TenantKey,
  type TenantScope,
} from './tenant-scope.ts';
import { TenantWrites } from './tenant-writes.ts';

/** Keeps the records of tenants apart; see `tenant()`. */
export interface Tenants {
  /** Registers with an ORM, as one of its `extensions`. */
  readonly register: (orm: MikroORM) => void;
  /** The Fastify plugin that gives `request.em` its tenant. Register it after `viewset` and before the routers. */
  readonly plugin: FastifyPluginAsync;
  /**
   * Forks an entity manager for one tenant, or for `ALL_TENANTS`: in a job, a script or a test.
   *
   * @throws ImproperlyConfigured for a value that is no tenant, such as undefined
   */
  readonly fork: <Manager extends EntityManager>(em: Manager, tenant: TenantKey | typeof ALL_TENANTS) => Manager;
  /** Returns the tenant of an entity manager or of a request. Undefined if it has none. */
  readonly tenantOf: (
    source: EntityManager | { readonly em: EntityManager },
  ) => TenantKey | typeof ALL_TENANTS | undefined;
}

/** What `tenant()` has registered with an ORM. */
interface Registered {
  readonly tenants: Tenants;
  readonly entities: () => TenantEntities;
}

/** By the configuration that all entity managers of an ORM share. */
const registered = new WeakMap<object, Registered>();
/** The instances of the plugin `viewset` whose requests have tenants. */
const entered = new WeakSet<object>();

/**
 * Keeps the records of tenants apart that share one database. Give the result to the ORM as an extension, and its
 * `plugin` to the application.
 *
 * - A query of `request.em`, and so every view, finds only records of the request's tenant. This is the MikroORM filter
 *   `tenant`: it also applies to related records, references in bodies, counts, summaries, exports and live lists.
 * - A flush sets the tenant of new records. It refuses records of other tenants, and references to them, with 403.
 * - A request without a tenant reads nothing, and its writes are refused: 401 if nobody is logged in, else 403. An
 *   entity manager that nobody gave a tenant throws ImproperlyConfigured.
 *
 * MikroORM applies filters and flushes to neither raw SQL nor `em.insert`, `em.upsert`, `em.createQueryBuilder` and
 * queries of MikroORM with `filters: false`. Name the tenant yourself there.
 *
 * @throws ImproperlyConfigured for a wrong option. When the ORM starts, for an entity without the property, and for an
 * entity that is not listed although it refers to a listed one
 * @example
 * const tenants = tenant({ entities: { tenant: [Product] }, of: (request) => getCurrentUser(request)?.id });
 * const own = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Product], extensions: [tenants] });
 * await app.register(viewset, { orm: own });
 * await app.register(tenants.plugin);
 * // GET /products: select … from "product" where "tenant" = 7
 */
export function tenant(options: TenantOptions): Tenants {
  checkOptions('tenant()', options, { entities: NAMES, of: FUNCTION, shared: LIST });
  if (options.entities === undefined || Object.keys(options.entities).length === 0) {
    throw wrongOption(
      'tenant()',
      'entities',
      'an object of lists of entities by the property of the tenant',
      options.entities,
    );
  }
  for (const [property, list] of Object.entries(options.entities)) {
    const isList = isListOf(list, (entity) => entity !== undefined) && list.length > 0;
    if (!isList) throw wrongOption('tenant()', `entities.${property}`, 'a list of entities', list);
  }
  if (options.of === undefined) throw wrongOption('tenant()', 'of', 'a function', undefined);
  const tenants: Tenants = Object.freeze({
    register: (orm: MikroORM) => extend(orm, tenants, options),
    plugin: fp(async (app: FastifyInstance) => enterRequests(app, tenants, options), {
      name: '@viewset/core tenants',
      fastify: '5.x',
      dependencies: ['@viewset/core'],
    }),
    fork: <Manager extends EntityManager>(em: Manager, key: TenantKey | typeof ALL_TENANTS): Manager => {
      checkTenant('fork()', key);
      return forkWith(em, fixedScope(key));
    },
    tenantOf: (source: EntityManager | { readonly em: EntityManager }) =>
      scopeOf('em' in source ? source.em : source)?.tenant(),
  });
  return tenants;
}

/** Forks an entity manager with a scope. */
export function forkWith<Manager extends EntityManager>(em: Manager, scope: TenantScope): Manager {
  const fork = em.fork();
  setScope(fork, scope);
  return fork;
}

/** Returns what `tenant()` has registered with the ORM of an entity manager. */
export function tenantsOf({ config }: Pick<EntityManager, 'config'>): Registered | undefined {
  return registered.get(config);
}

/** Adds the filter and the check of flushes to an ORM, before it discovers its entities. */
function extend(orm: MikroORM, tenants: Tenants, options: TenantOptions): void {
  const { config } = orm;
  const filters = config.get('filters');
  if (registered.has(config) || TENANT_FILTER in filters) {
    throw new ImproperlyConfigured(`tenant(): this MikroORM has a filter "${TENANT_FILTER}" already`);
  }
  let resolved: TenantEntities | undefined;
  const entities = (): TenantEntities => (resolved ??= new TenantEntities(orm.getMetadata(), options));
  const { afterDiscovered, ...others } = config.get('discovery');
  config.set('discovery', {
    ...others,
    afterDiscovered: (metadata, platform) => {
      resolved = new TenantEntities(metadata, options);
      config.set('filters', { ...config.get('filters'), [TENANT_FILTER]: tenantFilter(resolved) });
      return afterDiscovered?.(metadata, platform);
    },
  });
  config.set('subscribers', [...config.get('subscribers'), new TenantWrites(entities)]);
  registered.set(config, { tenants, entities });
}

/** Makes the filter of the entities of tenants. It throws for an entity manager without a scope. */
function tenantFilter(entities: TenantEntities): FilterDef & { readonly [ALWAYS_ON]: true } {
  const properties = new Map(
    entities.classes.map((entity) => [entity.name, entities.propertyOf({ class: entity } as never)!]),
  );
  return {
    name: TENANT_FILTER,
    entity: entities.classes,
    default: true,
    [ALWAYS_ON]: true,
    // Without parameters, MikroORM throws an error that names no cure.
    args: false,
    cond: (_args: unknown, _type: unknown, em: EntityManager, _options: unknown, name = '') => {
      const scope = scopeOf(em);
      if (scope === undefined) throw noScope(name);
      const property = properties.get(name)!;
      const found = scope.tenant();
      if (typeof found === 'symbol') return {};
      return { [property]: found ?? { $in: [] } };
    },
  };
}

/** Gives each request of an application its tenant. */
function enterRequests(app: FastifyInstance, tenants: Tenants, { of }: TenantOptions): void {
  const { orm, live } = app.viewset;
  const registration = registered.get(orm.config);
  if (registration?.tenants !== tenants) {
    throw new ImproperlyConfigured(
      'tenant(): the plugin needs the same tenant() in the ORM: MikroORM.init({ …, extensions: [tenants] })',
    );
  }
  entered.add(app.viewset);
  app.addHook('onRequest', (request, _reply, done) => {
    const { em } = request;
    const [outer, scope] = [scopeOf(em), requestScope(request, of)];
    setScope(em, outer === undefined ? scope : innerScope(outer, scope));
    done();
  });
  // The sender of a live list is identified again, and may have changed tenants.
  live.identify.add(async (request) => setScope(request.em, requestScope(request, of)));
  app.addHook('onReady', async () => {
    const { sharedUniques } = registration.entities();
    if (sharedUniques.length === 0) return;
    app.log.warn(
      { columns: sharedUniques },
      'unique values are shared by all tenants: a client can find out that another tenant has a value; add the tenant to the constraint',
    );
  });
}

/**
 * Checks that requests have tenants if the ORM has them.
 *
 * @param classNames the entities of the application's views
 * @throws ImproperlyConfigured if the application lacks the plugin
 */
export function requireTenants({ viewset }: FastifyInstance, classNames: readonly string[]): void {
  const registration = registered.get(viewset.orm.config);
  if (registration === undefined || entered.has(viewset)) return;
  const names = new Set(registration.entities().classes.map(({ name }) => name));
  const entity = classNames.find((name) => names.has(name));
  if (entity === undefined) return;
  throw new ImproperlyConfigured(
    `the records of ${entity} belong to tenants, but requests have none: register the plugin of tenant() before the routers`,
  );
}
