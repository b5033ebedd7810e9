/** The lockfile names no registry, and every MikroORM package in it is of the one version that fits the others. */
import { readFileSync } from 'node:fs';

const MIKRO_ORM_VERSION = '7.2.1';

const lockfile = readFileSync(new URL('../pnpm-lock.yaml', import.meta.url), 'utf8');
const addresses = lockfile.match(/https?:\/\/\S+|tarball:.*/g) ?? [];
const versions = new Set(
  [...lockfile.matchAll(/^ {2}'?(@mikro-orm\/[\w-]+@[\d.]+[\w.-]*)/gm)].map((match) => match[1]),
);
const strays = [...versions].filter((entry) => !entry?.endsWith(`@${MIKRO_ORM_VERSION}`));

for (const address of addresses) console.error(`pnpm-lock.yaml has an address: ${address}`);
for (const stray of strays) console.error(`pnpm-lock.yaml has ${stray}, not ${MIKRO_ORM_VERSION}`);
if (versions.size === 0) console.error('pnpm-lock.yaml has no MikroORM at all: this check reads it wrongly');
process.exitCode = addresses.length + strays.length === 0 && versions.size > 0 ? 0 : 1;
