export { createClient } from './create-client.ts';
export type { Answer, Call, Client, DataOf, QueryKey, Resource } from './client.ts';
export type { ApiOf, Route } from './api.ts';
export { describeApi } from './describe-api.ts';
export type { JsonLogic } from './list.ts';
export type { CallOptions, ClientOptions, QueryValue, WriteRecordOptions } from './options.ts';
export { ApiError, type ApiErrorOptions, type ErrorBody, type ErrorCode, type ErrorDetail } from './api-error.ts';
