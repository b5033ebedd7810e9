import { ImproperlyConfigured } from '../../errors/errors.ts';
import { slicedError } from '../../query/queryset.ts';
import { requireOperation } from '../../view/request/operation.ts';
import { parametersOf } from '../../view/request/request-state.ts';
import type { Option } from '../../view/setup/model-viewset-options.ts';
import { type Feature, STEPS } from '../../view/setup/feature.ts';
import { Summary } from './summary.ts';
import { type AnySummary, type DeclaredSummary, SUMMARY_RULE, type SummaryOption } from './summary-option.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * Adds `GET …/summary`, which groups the records of the list. Each group has the number of its records, and their
     * sums, averages, minima and maxima. Clients choose the groups and values, but only of fields that the list shows
     * them. A view that overrides `list` or `represent` cannot have a summary. Default: none.
     *
     * @example
     * class SalesViewSet extends ModelViewSet(Product, {
     *   read: readShape(Product, ['id', 'name', 'price', 'stock']),
     *   summary: { group: ['name'], values: { stock: ['sum', 'max'], price: ['avg'] } },
     * }) {}
     * // GET /products/summary?group=name&sum=stock
     * // { "results": [{ "group": { "name": "Tea" }, "count": 2, "sum": { "stock": 12 } }] }
     */
    readonly summary?: SummaryOption<Entity>;
  }
}

declare module '../../view/model-viewset.ts' {
  interface DeclaredFeatures<Entity, Options> {
    readonly summary: DeclaredSummary<Entity, Option<Options, 'summary'>>;
  }
}

/** The option `summary`: a route with the groups of the list's records, under the filters of the list. */
export const SUMMARY: Feature<AnySummary> = {
  option: 'summary',
  rule: SUMMARY_RULE,
  resolve: ({ name, meta, orm, outputs, operations, overrides, lists, view }, option) => {
    requireOperation(`${name}: option "summary"`, 'list', operations);
    const override = overrides.handles.list ? 'list' : overrides.represents ? 'represent' : undefined;
    if (override !== undefined) {
      throw new ImproperlyConfigured(
        `${name}: option "summary" could show what the override of ${override}() hides; narrow the records with getQueryset() or ` +
          'filterQueryset(), and the fields with the read shape',
      );
    }
    const shapes = outputs.choicesFor('list').map(({ shape }) => shape);
    const { narrowingParameters: narrowing } = lists;
    const summary = new Summary({ name, meta, platform: orm.em.getPlatform(), option, shapes, narrowing });
    const { querystring, response } = summary;
    return {
      routes: () => [
        {
          action: 'summary',
          method: 'GET',
          detail: false,
          suffix: '/summary',
          urlName: 'summary',
          permissionsOf: 'list',
          words: 'Summarize the',
          options: { querystring, responses: { 200: response }, listParameters: true },
          isNarrowed: true,
          validateQuery: (query, parameters) => summary.validate(query, parameters),
          isCommaSeparated: true,
          transaction: false,
          isBuiltIn: true,
          transactionReasons: () => [],
          handler: (request) =>
            view[STEPS].list.selected(request, (records) => {
              if (records.isSliced) throw slicedError(name, 'filterQueryset()', 'the summary');
              return summary.of(records, parametersOf(request), outputs.of(request, 'list').shape, request);
            }),
          proof: 'none',
        },
      ],
    };
  },
};
