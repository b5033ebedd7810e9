import { checkOptionNames, historyFeature, requireEntities, requireTransactions } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { entriesAction } from './entries-action.ts';
import { AS_STORED, HistoryEntry } from './history-entry.ts';
import { entriesOf } from './record-key.ts';
import { storeWrites } from './store-writes.ts';

/** Stores the history of all views in the table of `HistoryEntry`. */
const IN_ONE_TABLE = historyFeature({
  keep: (view) => ({
    listener: (writes) => storeWrites(view, writes),
    actions: new Map([['history', entriesAction(view)]]),
    valuesAt: async ({ em }, key, at) => {
      const where = { $and: [await entriesOf(em, view, key), { written_at: { $lte: at } }] };
      const entry = await em.findOne(HistoryEntry, where, { orderBy: { id: 'desc' }, ...AS_STORED });
      return entry === null || entry.kind === 'deleted' ? undefined : entry.values;
    },
    valuesOf: async ({ em }, key, id) => {
      const entry = await em.findOne(HistoryEntry, { $and: [await entriesOf(em, view, key), { id }] }, AS_STORED);
      return entry?.values;
    },
  }),
});

/**
 * The Fastify plugin that keeps the history of views with the option `history`, in the transaction of each write.
 * Register it after `viewset` and before the routers. The ORM needs the entity `HistoryEntry`. It has no options.
 *
 * It keeps every stored column of a record except hidden properties. Actions leave entries too. `GET …/:pk/history` lists
 * the entries of a record. It needs the permission to retrieve the record, and shows only fields that the request may
 * see.
 *
 * @throws ImproperlyConfigured if the ORM has no transactions or no `HistoryEntry`
 * @example
 * class ProductViewSet extends ModelViewSet(Product, { read, write, history: true }) {}
 *
 * await app.register(viewset, { orm });
 * await app.register(history);
 * await app.register(new Router().register('products', ProductViewSet).plugin);
 * // GET /products/7/history
 */
export const history = fp(
  async (app: FastifyInstance, options: object): Promise<void> => {
    checkOptionNames('history', options, []);
    const { orm } = app.viewset;
    requireTransactions(orm, 'history');
    requireEntities(orm, 'history', '@viewset/history', [HistoryEntry]);
    app.viewset.addFeature(IN_ONE_TABLE);
  },
  { name: '@viewset/history', fastify: '5.x', dependencies: ['@viewset/core'] },
);
