import { divideCores } from '../cores.ts';
import { Databases } from '../databases.ts';
import { type MachineFacts, machineFacts } from '../machine.ts';
import type { Options } from '../options.ts';
import { type ApplicationSize, applicationSize } from './application-size.ts';
import { type ListLatency, listLatency } from './list-latency.ts';

export interface ScaleRun {
  readonly machine: MachineFacts;
  readonly lists: readonly ListLatency[];
  readonly applications: readonly ApplicationSize[];
}

const DEFAULT_ROWS = [1_000, 10_000, 100_000, 1_000_000];
const VIEWS = [1, 50, 500];
const STARTS = 3;

/** How lists behave as their tables grow, and applications as their views do. */
export async function scale(options: Options): Promise<ScaleRun> {
  const cores = divideCores();
  const databases = new Databases();
  const lists: ListLatency[] = [];
  const versions = new Set<string>();
  try {
    for (const kind of await databases.kinds(options.databases)) {
      for (const rows of options.rows ?? DEFAULT_ROWS) {
        const { latency, version } = await listLatency(databases, kind, rows, cores);
        lists.push(latency);
        versions.add(version);
        console.log(`${kind}, ${rows} rows, ms: ${JSON.stringify(latency.latencyMs)}`);
      }
    }
  } finally {
    await databases.close();
  }
  const counts = options.quick ? VIEWS.slice(0, 1) : VIEWS;
  const applications = counts.map((views) => applicationSize(views, options.quick ? 1 : STARTS, cores));
  return { machine: machineFacts([...versions], cores, false), lists, applications };
}
