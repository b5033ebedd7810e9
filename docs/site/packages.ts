/** The packages that are documented, by their folders in `packages`. */
export const PACKAGES = ['core', 'mongodb', 'auth', 'openapi', 'explorer', 'client', 'testing'] as const;

/** The modules that they consist of, by the names in imports. */
export const MODULES = [...PACKAGES, 'core/backend', 'client/progress', 'client/refresh-by-cookie'] as const;

/** Returns the source of a module, below `packages`. */
export function sourceOf(module: (typeof MODULES)[number]): string {
  const [name, path = 'index'] = module.split('/') as [string, string?];
  return `${name}/src/${path}.ts`;
}
