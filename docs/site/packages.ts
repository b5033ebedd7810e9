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
