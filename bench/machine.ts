import { readFileSync } from 'node:fs';
import { arch, cpus, totalmem, type as osType } from 'node:os';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Cores } from './cores.ts';

/** The properties of the machine that affect the figures, and none that identify it. */
export interface MachineFacts {
  readonly date: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  /** Whether the server that was measured had a core to itself. */
  readonly pinned: boolean;
  /** Whether the cores of the load were kept from sleeping. */
  readonly awake: boolean;
  readonly databases: readonly string[];
  readonly packages: Readonly<Record<string, string>>;
}

const PACKAGES = ['fastify', '@mikro-orm/core', 'pg', 'better-sqlite3', 'mongodb', 'autocannon'] as const;

export function machineFacts(databases: readonly string[], cores: Cores, awake: boolean): MachineFacts {
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${osType()} ${arch()}`,
    node: process.versions.node,
    pinned: cores.server !== undefined,
    awake,
    databases,
    packages: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
  };
}

export function machineSentence(facts: MachineFacts): string {
  const packages = Object.entries(facts.packages).map(([name, version]) => `${name} ${version}`);
  const where = facts.pinned
    ? `the server on a core of its own, all else on the others${facts.awake ? ', kept awake' : ''}`
    : 'nothing pinned';
  return [
    `${facts.date}: ${facts.cores} cores (${facts.processor}), ${facts.memoryGiB} GiB, ${facts.system}; ${where}.`,
    `Node ${facts.node}, ${[...packages, ...facts.databases].join(', ')}.`,
  ].join('\n');
}

/** Read from the file: not every package exports its package.json. */
function versionOf(name: string): string {
  const require = createRequire(import.meta.url);
  for (let folder = dirname(require.resolve(name)); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (manifest.name === name) return manifest.version ?? 'unknown';
    } catch {
      // Not this folder; the one above it may have it.
    }
  }
  return 'unknown';
}
