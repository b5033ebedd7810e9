import type { DocumentCost } from './document-cost.ts';
import { DATABASE_TITLES } from '../data/database.ts';
import { machineSentence } from '../machine.ts';
import { table } from '../table.ts';
import type { ApplicationSize } from './application-size.ts';
import { type ListLatency, PLACES } from './list-latency.ts';
import type { ScaleRun } from './scale.ts';

/** A run in Markdown; `picture` is the path of the chart of the same figures, relative to the page. */
export function scaleReport({ machine, lists, applications }: ScaleRun, picture: string): string {
  const groups = Map.groupBy(lists, ({ database }) => database);
  return [
    machineSentence(machine),
    `\n![Latency of a list as its table grows](${picture})`,
    ...[...groups].map(([database, group]) => `\n### ${DATABASE_TITLES[database]}\n\n${latencyTable(group)}`),
    `\n### Applications\n\n${applicationTable(applications)}`,
  ].join('\n');
}

function latencyTable(lists: readonly ListLatency[]): string {
  const head = ['latency of a page of 10, ms', ...lists.map(({ rows }) => `${rows.toLocaleString('en-US')} rows`)];
  return table(
    head,
    PLACES.map((place) => [place as string].concat(lists.map(({ latencyMs }) => latencyMs[place].toFixed(2)))),
  );
}

function applicationTable(applications: readonly ApplicationSize[]): string {
  const head = [
    'viewsets',
    'listening after, ms',
    'without views, ms',
    'registration, ms a view',
    'CPU, ms a view',
    'memory (RSS), MiB',
    'without views, MiB',
    'heap, KiB a view',
  ];
  return table(
    head,
    applications.map(
      ({ views, withViews, without, registrationMsPerView, registrationCpuMsPerView, heapKiBPerView }) => [
        String(views),
        withViews.listeningMs.toFixed(0),
        without.listeningMs.toFixed(0),
        registrationMsPerView.toFixed(2),
        registrationCpuMsPerView.toFixed(2),
        (withViews.rssBytes / 2 ** 20).toFixed(0),
        (without.rssBytes / 2 ** 20).toFixed(0),
        heapKiBPerView.toFixed(0),
      ],
    ),
  );
}

/** A table of the cost of a document; the starts in processor time. */
export function documentReport(costs: readonly DocumentCost[]): string {
  const head = [
    'viewsets',
    'start, ms',
    'with @fastify/swagger, ms',
    'with @viewset/openapi, ms',
    'of it, ms a view',
    'first document, ms',
    'of @fastify/swagger, ms',
    'a request, µs',
    'with a document, µs',
  ];
  return table(
    head,
    costs.map((cost) => [
      String(cost.views),
      cost.startCpuMs.toFixed(0),
      cost.swaggerStartCpuMs.toFixed(0),
      cost.documentedStartCpuMs.toFixed(0),
      ((cost.documentedStartCpuMs - cost.startCpuMs) / cost.views).toFixed(2),
      cost.documentCpuMs.toFixed(0),
      cost.swaggerDocumentCpuMs.toFixed(0),
      cost.requestCpuMicroseconds.toFixed(0),
      cost.documentedRequestCpuMicroseconds.toFixed(0),
    ]),
  );
}
