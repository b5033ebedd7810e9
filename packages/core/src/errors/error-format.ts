import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';
import {
  Forbidden,
  HeadersTooLarge,
  HttpError,
  InternalError,
  InvalidUsage,
  MethodNotAllowed,
  NotFound,
  ParseError,
  PayloadTooLarge,
  PreconditionFailed,
  PreconditionRequired,
  ServiceUnavailable,
  TargetObjectAlreadyExist,
  TooManyRequests,
  Unauthorized,
  UnprocessableEntity,
  UnsupportedMediaType,
  UriTooLong,
} from './errors.ts';
import { requireSync } from '../support/awaitable.ts';
import { isRecord } from '../support/json.ts';

/** The schema of the body of every error, for `responses` of actions and of your own routes. */
export const ERROR_SCHEMA: TSchema = Type.Object(
  {
    error: Type.String({ description: 'A sentence for a person' }),
    code: Type.String({ description: 'A stable identifier of the kind of error' }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          in: Type.Enum(['body', 'query', 'params'], { description: 'The part of the request' }),
          path: Type.String({ description: 'A JSON pointer to the value' }),
          message: Type.String(),
        }),
        { description: 'Every invalid value' },
      ),
    ),
  },
  { title: 'Error' },
);

/** The response to an error in the application's own format. */
export interface FormattedError {
  /** From 400 to 599. Default: the status of the error. */
  readonly status?: number;
  /** The body, an object of JSON. */
  readonly body: object;
}

/**
 * Makes the response to an error from any layer. It must be synchronous. `request` is missing for malformed HTTP, and for documents, which
 * call it to learn the status of each kind of error.
 *
 * @example
 * const formatError: FormatError = (error) => {
 *   const status = error instanceof InvalidUsage ? 422 : error.statusCode;
 *   return { status, body: { errors: { body: [error.message] } } };
 * };
 */
export type FormatError = (error: HttpError, request: FastifyRequest | undefined) => FormattedError;

/** The options of the plugin about the format of errors. */
export interface ErrorFormatOptions {
  readonly formatError?: FormatError | undefined;
  readonly errorSchema?: TSchema | undefined;
}

/** An error in the form in which it is sent. */
export interface WrittenError {
  /** The status of the error itself. */
  readonly statusCode: number;
  /** The status of the response. */
  readonly status: number;
  readonly headers: HttpError['headers'];
  readonly body: object;
}

const usual: FormatError = (error) => ({ body: error.toBody() });

/** Formats every error of an application, and describes the format for documents. */
export class ErrorFormat {
  /** The schema of every body. */
  readonly schema: TSchema;
  readonly #format: FormatError;

  constructor({ formatError = usual, errorSchema = ERROR_SCHEMA }: ErrorFormatOptions = {}) {
    // Documents name schemas by their titles.
    this.schema = { title: 'Error', ...errorSchema };
    this.#format = formatError;
  }

  /**
   * Formats an error. If the format fails, formats an internal error instead. If that fails too, uses the default
   * format.
   *
   * @param log logs why the format has failed
   */
  write(error: HttpError, request: FastifyRequest | undefined, log: FastifyBaseLogger): WrittenError {
    try {
      return this.#write(this.#format, error, request);
    } catch (err) {
      log.error({ err }, 'an error could not be written as an answer');
    }
    const fault = new InternalError();
    try {
      return this.#write(this.#format, fault, request);
    } catch {
      return this.#write(usual, fault, request);
    }
  }

  /** Lists the response statuses of errors with this status. */
  statusesFor(status: number): readonly number[] {
    const statuses = (SAMPLES[status] ?? []).map((sample) => {
      try {
        return this.#write(this.#format, sample, undefined).status;
      } catch {
        return status;
      }
    });
    return statuses.length === 0 ? [status] : [...new Set(statuses)];
  }

  #write(format: FormatError, error: HttpError, request: FastifyRequest | undefined): WrittenError {
    const { statusCode, headers } = error;
    const formatted: unknown = requireSync<unknown>(format(error, request), () => 'formatError');
    const { status = statusCode, body } = isRecord(formatted) ? formatted : {};
    const isStatus = Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599;
    if (isStatus && isRecord(body) && typeof JSON.stringify(body) === 'string') {
      return { statusCode, status: status as number, headers, body };
    }
    throw new TypeError(
      `An error must be answered with { status?, body }, a status from 400 to 599 and an object of JSON; ${error.name} was not`,
    );
  }
}

const DETAILS = [{ in: 'body', path: '/name', message: 'is required' }] as const;

/** An error of each kind, by status. */
const SAMPLES: Readonly<Record<number, readonly HttpError[]>> = {
  400: [new ParseError(), new InvalidUsage('Invalid body: name is required', { details: DETAILS })],
  401: [new Unauthorized()],
  403: [new Forbidden()],
  404: [new NotFound()],
  405: [new MethodNotAllowed('POST', ['GET'])],
  408: [new HttpError(408, 'request_timeout', 'The request took too long to arrive')],
  409: [new TargetObjectAlreadyExist(), new TargetObjectAlreadyExist('name is taken', { details: DETAILS })],
  412: [new PreconditionFailed()],
  413: [new PayloadTooLarge()],
  414: [new UriTooLong()],
  415: [new UnsupportedMediaType()],
  422: [new UnprocessableEntity()],
  428: [new PreconditionRequired()],
  429: [new TooManyRequests(1)],
  431: [new HeadersTooLarge()],
  500: [new InternalError()],
  503: [new ServiceUnavailable()],
};
