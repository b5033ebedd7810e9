import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Cores, pinned } from '../cores.ts';
import { median } from '../statistics.ts';
import type { ApplicationKind, StartReport } from './application.ts';

/** The size of an application, as measured by its start. */
type SizeReport = Omit<StartReport, 'documentCpuMs' | 'requestCpuMicroseconds'>;

/** Medians of some starts of an application, with its views and without. */
export interface ApplicationSize {
  readonly views: number;
  readonly withViews: SizeReport;
  /** The same entities without views: the cost of MikroORM and Fastify. */
  readonly without: SizeReport;
  readonly registrationMsPerView: number;
  readonly registrationCpuMsPerView: number;
  readonly heapKiBPerView: number;
}

export function applicationSize(views: number, starts: number, cores: Cores): ApplicationSize {
  const without = medianStart(views, 'none', starts, cores);
  const withViews = medianStart(views, 'views', starts, cores);
  return {
    views,
    withViews,
    without,
    registrationMsPerView: (withViews.registrationMs - without.registrationMs) / views,
    registrationCpuMsPerView: (withViews.registrationCpuMs - without.registrationCpuMs) / views,
    heapKiBPerView: (withViews.heapBytes - without.heapBytes) / views / 1024,
  };
}

/** Starts an application in a separate process. */
export function startApplication(
  count: number,
  kind: ApplicationKind,
  cores: Cores,
  withRequests = false,
): StartReport {
  const file = fileURLToPath(new URL('./application.ts', import.meta.url));
  const further = withRequests ? ['requests'] : [];
  const [command, args] = pinned(cores.server, process.execPath, [
    '--expose-gc',
    file,
    String(count),
    kind,
    ...further,
  ]);
  return JSON.parse(
    execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
  ) as StartReport;
}

function medianStart(count: number, kind: ApplicationKind, starts: number, cores: Cores): SizeReport {
  const reports = Array.from({ length: starts }, () => startApplication(count, kind, cores));
  const of = (name: keyof SizeReport): number => median(reports.map((report) => report[name]));
  return {
    importsMs: of('importsMs'),
    ormMs: of('ormMs'),
    registrationMs: of('registrationMs'),
    registrationCpuMs: of('registrationCpuMs'),
    listeningMs: of('listeningMs'),
    rssBytes: of('rssBytes'),
    heapBytes: of('heapBytes'),
  };
}
