import { OptimisticLockError, TableNotFoundException } from '@mikro-orm/core';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ErrorFormat } from '../errors/error-format.ts';
import { pointerStep } from '../support/json.ts';
import {
  type ErrorDetail,
  errorFrom,
  Forbidden,
  HttpError,
  InternalError,
  InvalidUsage,
  NotFound,
  ParseError,
  PayloadTooLarge,
  ServiceUnavailable,
  TargetObjectAlreadyExist,
  TooManyRequests,
  Unauthorized,
  UnprocessableEntity,
  UnsupportedMediaType,
  UriTooLong,
} from '../errors/errors.ts';
import { NotStored } from '../backends/backend.ts';
import { isConflict } from '../backends/database-errors.ts';
import { FieldValueError } from '../fields/field-value-error.ts';
import { UnfitValue } from '../schema/unfit-value.ts';
import { missingParameters } from '../mikro/filters.ts';
import { isDatabaseUnavailable, isTransactionLost, violationOf } from '../query/known-errors.ts';
import { partOf } from '../view/write/request-part.ts';
import { logRefusal } from './security-event.ts';

/** The time after which a client may repeat a transaction that was lost. */
const RETRY_AFTER_SECONDS = '1';

/** The messages for Fastify's errors about unreadable requests, by error code. */
const PARSE_ERRORS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The request body must be JSON, but it is empty',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The request body is not valid JSON',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The Content-Length does not match the body',
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: 'The request needs a JSON body and its Content-Type',
  FST_ERR_BAD_URL: 'The URL is not valid',
};

/**
 * The error classes by status, for errors of Fastify and its plugins that carry a status (`http-errors`,
 * @fastify/error).
 */
const STATUS_ERRORS: Readonly<Record<number, (cause: unknown) => HttpError>> = {
  401: (cause) => new Unauthorized(messageOf(cause), { cause }),
  403: (cause) => new Forbidden(messageOf(cause), { cause }),
  404: (cause) => new NotFound(messageOf(cause), { cause }),
  409: (cause) => new TargetObjectAlreadyExist(messageOf(cause), { cause }),
  413: (cause) => new PayloadTooLarge(pluginMessageOf(cause), { cause }),
  414: (cause) => new UriTooLong(pluginMessageOf(cause), { cause }),
  415: (cause) => new UnsupportedMediaType(pluginMessageOf(cause), { cause }),
  422: (cause) => new UnprocessableEntity(messageOf(cause), { cause }),
  429: (cause) => new TooManyRequests(1, messageOf(cause), { cause }),
  503: (cause) => new ServiceUnavailable(undefined, { cause }),
};

/** The message of an error below 500 is meant for the client. */
function messageOf(error: unknown): string | undefined {
  const { message } = error as { message?: unknown };
  return typeof message === 'string' && message !== '' ? message : undefined;
}

/** Fastify's own messages do not say what it would accept. */
function pluginMessageOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('FST_ERR_') ? undefined : messageOf(error);
}

/** Returns an own entry of the table, because an error's code may be `constructor`. */
function entryOf<Value>(table: Readonly<Record<PropertyKey, Value>>, key: PropertyKey): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/**
 * Returns the HTTP error for any thrown value. Unless the client is known to be at fault, it is a 500 that reveals
 * nothing.
 */
export function toHttpError(error: unknown): HttpError {
  try {
    if (error instanceof FieldValueError) return new InternalError({ cause: error });
    if (error instanceof HttpError) return error;
    return (
      missingParameters(error) ??
      fromDatabaseError(error) ??
      fromFastifyError(error as FastifyError) ??
      new InternalError({ cause: error })
    );
  } catch (cause) {
    // A getter of the error may throw too.
    return new InternalError({ cause });
  }
}

/**
 * Returns the answer to an error of the ORM or its driver. Undefined for other errors, and for errors that are not the
 * client's fault: a value of the program that does not fit its column, a `findOneOrFail` without a result.
 */
function fromDatabaseError(error: unknown): HttpError | undefined {
  if (isTransactionLost(error)) {
    const options = { cause: error, headers: { 'retry-after': RETRY_AFTER_SECONDS } };
    return new TargetObjectAlreadyExist('Others have changed the same records at this moment; try again', options);
  }
  if (isDatabaseUnavailable(error)) return new ServiceUnavailable(undefined, { cause: error });
  if (error instanceof OptimisticLockError) {
    return new TargetObjectAlreadyExist('The record was changed by somebody else', { cause: error });
  }
  if (error instanceof NotStored) {
    return new TargetObjectAlreadyExist('The database did not store the record', { cause: error });
  }
  const violation = violationOf(error);
  if (violation?.kind === 'policy') return new Forbidden(undefined, { cause: error });
  if (!isConflict(violation)) return undefined;
  return new TargetObjectAlreadyExist('The change conflicts with another record', { cause: error });
}

function fromFastifyError(error: Partial<FastifyError> | null | undefined): HttpError | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if (Array.isArray(error.validation)) return fromValidation(error as FastifyError);
  const unreadable = entryOf(PARSE_ERRORS, error.code ?? '');
  if (unreadable !== undefined) return new ParseError(unreadable, { cause: error });
  const status = error.statusCode ?? 500;
  const known = entryOf(STATUS_ERRORS, status);
  if (known !== undefined) return known(error);
  if (!Number.isInteger(status) || status < 400 || status > 499) return undefined;
  const code = status === 400 ? 'invalid_usage' : `http_${status}`;
  return new HttpError(status, code, messageOf(error) ?? 'The request was refused', { cause: error });
}

const PARTS: Readonly<Record<string, ErrorDetail['in']>> = { body: 'body', querystring: 'query', params: 'params' };

/** Handles schema validation of an ordinary Fastify route, which the application declares besides its viewsets. */
function fromValidation(error: FastifyError): HttpError {
  const part = PARTS[error.validationContext ?? 'body'] ?? 'body';
  const details = (error.validation ?? []).map((problem): ErrorDetail => {
    const missing = (problem.params as { missingProperty?: string } | undefined)?.missingProperty;
    const path = missing === undefined ? problem.instancePath : problem.instancePath + pointerStep(missing);
    return { in: part, path, message: missing === undefined ? (problem.message ?? 'is not valid') : 'is required' };
  });
  return new InvalidUsage(error.message, { details, cause: error });
}

/** The error handler for Fastify. It sends one body format for every error. The cause appears only in the log. */
export function errorHandler(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendError(reportError(thrown, request), reply);
}

/**
 * Logs an error as the error handler does, with its security event, and returns its HTTP error. Use it if you answer the
 * error in another way than by its body, such as by a redirect.
 *
 * @example
 * app.setErrorHandler((error, request, reply) => reply.redirect(`/login#error=${reportError(error, request).code}`));
 */
export function reportError(thrown: unknown, request: FastifyRequest): HttpError {
  const error = errorFrom(thrown);
  const response = toHttpError(error);
  const part = partOf(request);
  if (part !== undefined) part.error = error;
  logError(request, response, error);
  return response;
}

/** Sends the answer of an error without a log line. */
export function sendError(response: HttpError, reply: FastifyReply): FastifyReply {
  const { statusCode, status, headers, body } = errorFormatOf(reply.server).write(response, reply.request, reply.log);
  void reply
    .code(status)
    .header('x-content-type-options', 'nosniff')
    .headers(statusCode === 401 ? withChallenge(headers, reply.request) : headers)
    .type('application/json; charset=utf-8');
  removeUnsendable(reply);
  // A route's response schema describes its success. Errors are sent without it.
  return reply.serializer(JSON.stringify).send(body);
}

const USUAL_FORMAT = new ErrorFormat();

/** Returns the error format of an application, or the default format if the application does not have the plugin. */
export function errorFormatOf(app: FastifyInstance | undefined): ErrorFormat {
  return app?.hasDecorator('viewset') === true ? app.viewset.defaults.errorFormat : USUAL_FORMAT;
}

/** Removes headers that Node refuses to write. Otherwise the answer to an error would fail too. */
function removeUnsendable(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    try {
      validateHeaderName(name);
      for (const each of [value].flat()) validateHeaderValue(name, String(each));
    } catch {
      void reply.removeHeader(name);
    }
  }
}

function withChallenge(headers: HttpError['headers'], { challenge }: FastifyRequest): HttpError['headers'] {
  return challenge === null || challenge === undefined ? headers : { ...headers, 'www-authenticate': challenge };
}

function logError(request: FastifyRequest, response: HttpError, error: unknown): void {
  const cause = response.cause ?? error;
  const words = adviceOn(cause) ?? response.message;
  if (response.event !== undefined) logRefusal(request, response.event, response.message);
  if (response.statusCode >= 500 && response.statusCode !== 503) request.log.error({ err: cause }, words);
  else if (response.statusCode === 503) request.log.warn({ err: cause }, response.message);
  else if (!logConflict(request, error)) request.log.debug({ err: error }, response.message);
}

/** Returns the message for the log about an error of the server, if it says more than the message to clients. */
function adviceOn(cause: unknown): string | undefined {
  if (cause instanceof UnfitValue) return cause.message;
  if (!(cause instanceof TableNotFoundException)) return undefined;
  return 'A table is missing: make those of an empty database by orm.schema.create(), and change those of a database with data by migrations';
}

/**
 * The application should know about three causes: a transaction that the database has aborted because of others, a
 * constraint violated by another statement than the write of the view's record, and a trigger that drops a record.
 */
function logConflict(request: FastifyRequest, error: unknown): boolean {
  if (isTransactionLost(error)) {
    request.log.warn(
      { err: error },
      'a transaction was lost to others, and could not be repeated or was lost each time',
    );
    return true;
  }
  const violation = violationOf(error);
  if (violation === undefined && !(error instanceof NotStored)) return false;
  const { constraint, table } = violation ?? {};
  const { config, url } = request.routeOptions;
  request.log.warn({ err: error, constraint, table }, `a statement of ${config.viewset?.action ?? url} met a conflict`);
  return true;
}
