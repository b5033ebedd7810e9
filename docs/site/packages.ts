import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The packages that programs import, by their folders in `packages`. */
const LIBRARIES = [
  'core',
  'mongodb',
  'auth',
  'outbox',
  'telemetry',
  'openapi',
  'explorer',
  'client',
  'full-text',
  'idempotency',
  'live',
  'batch',
  'mcp',
  'history',
  'testing',
  'cli',
] as const;

/** The packages that are documented, with those that are a command alone. */
export const PACKAGES = [...LIBRARIES, 'create'] as const;

/** The modules that the libraries consist of, by the names in imports. */
export const MODULES = [
  ...LIBRARIES,
  'core/backend',
  'client/batch',
  'client/live',
  'client/once',
  'client/progress',
  'client/refresh-by-cookie',
  'client/upload',
] as const;

/** Returns the source of a module, below `packages`. */
export function sourceOf(module: (typeof MODULES)[number]): string {
  const [name, path = 'index'] = module.split('/') as [string, string?];
  return `${name}/src/${path}.ts`;
}

/** What the modules beside the main one of a package are for. */
const PARTS: Readonly<Partial<Record<(typeof MODULES)[number], string>>> = {
  'core/backend': 'The types that a backend for another database implements',
  'client/batch': 'Several operations of the client in one request and one transaction',
  'client/live': 'Live lists in the client, by Server-Sent Events',
  'client/once': 'Writes of the client that are sent again without being done twice',
  'client/progress': 'The progress of an upload of the client',
  'client/refresh-by-cookie': 'New access tokens of the client by a refresh token in a cookie',
  'client/upload': 'Uploads of the client that go directly to the storage',
};

/** Returns a sentence about a module: for the main one of a package, the description in its manifest. */
export function descriptionOf(root: string, module: (typeof MODULES)[number]): string {
  const part = PARTS[module];
  if (part !== undefined) return part;
  const manifest = JSON.parse(readFileSync(join(root, 'packages', module, 'package.json'), 'utf8')) as object;
  return 'description' in manifest ? String(manifest.description) : '';
}
