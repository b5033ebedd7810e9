import { fileURLToPath } from 'node:url';

/** The folder of this package, with its template. */
export const packageFolder = fileURLToPath(new URL('..', import.meta.url));
