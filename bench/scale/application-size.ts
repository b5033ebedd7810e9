import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Cores, pinned } from '../cores.ts';
import { median } from '../statistics.ts';
import type { StartReport } from './application.ts';

/** Medians of some starts of an application, with its views and without. */
export interface ApplicationSize {
  readonly views: number;
  readonly withViews: StartReport;
  /** The same entities and no view: what MikroORM and Fastify take by themselves. */
  readonly without: StartReport;
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

function medianStart(count: number, kind: 'views' | 'none', starts: number, cores: Cores): StartReport {
  const file = fileURLToPath(new URL('./application.ts', import.meta.url));
  const [command, args] = pinned(cores.server, process.execPath, ['--expose-gc', file, String(count), kind]);
  const reports = Array.from({ length: starts }, () => {
    const output = execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    return JSON.parse(output) as StartReport;
  });
  const of = (name: keyof StartReport): number => median(reports.map((report) => report[name]));
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
