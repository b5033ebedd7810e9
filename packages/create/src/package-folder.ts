import { fileURLToPath } from 'node:url';

/** The folder of this package, which contains the template. */
export const packageFolder = fileURLToPath(new URL('..', import.meta.url));
