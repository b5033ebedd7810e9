/** The packages that are documented, by their folders in `packages`. */
export const PACKAGES = ['core', 'auth', 'openapi', 'explorer', 'client'] as const;
