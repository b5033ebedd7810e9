export { openapi } from './openapi.ts';
export type { OpenapiOptions } from './options.ts';
export type { DocumentInfo, JsonObject } from './document.ts';
