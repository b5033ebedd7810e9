import type { OperationPlan } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { conditionHeaders, pathValues, queryString, quoted, type ToolArguments, unknownNames } from './arguments.ts';
import type { Catalog, OperationInput } from './catalog.ts';
import { EVENTS, type InnerRequests, type InnerResponse } from './inner-requests.ts';
import { isObject } from './json-schema.ts';
import { missingBody, problemOf } from './problem-of.ts';
import { OPERATIONS, type OperationName, type Resource, valuesSchema } from './resource.ts';
import { ToolProblem } from './tool-problem.ts';

/** An error lists at most this many names. */
const MOST_NAMES = 100;

/** The parts of the application that calls use. */
export interface CallTools {
  readonly inner: InnerRequests;
  readonly maxResultBytes: number;
}

/** The result of a request: its value, without an envelope. */
export interface Returned {
  /** Undefined if the response has no body, or one that is not shown. */
  readonly value: unknown;
  readonly etag: string | undefined;
  /** The number of all records, if a header of a list has it. */
  readonly total: number | undefined;
  /** Why the response of a successful write is not shown; undefined if it is. */
  readonly note: string | undefined;
}

/** One call of a tool. */
export class Call {
  readonly args: ToolArguments;
  readonly catalog: Catalog;
  readonly maxResultBytes: number;
  readonly #inner: InnerRequests;
  readonly #request: FastifyRequest;
  readonly #signal: AbortSignal;

  constructor(
    { inner, maxResultBytes }: CallTools,
    args: ToolArguments,
    catalog: Catalog,
    client: { readonly request: FastifyRequest; readonly signal: AbortSignal },
  ) {
    this.args = args;
    this.catalog = catalog;
    this.maxResultBytes = maxResultBytes;
    this.#inner = inner;
    this.#request = client.request;
    this.#signal = client.signal;
  }

  /**
   * Finds the resource in the call.
   *
   * @throws ToolProblem that lists the resources that the caller may use
   */
  async resource(): Promise<Resource> {
    const { resource: name = '' } = this.args;
    const resource = this.catalog.all.get(name);
    if (resource !== undefined) return resource;
    const names = [...(await this.catalog.shown()).keys()];
    throw new ToolProblem(`There is no resource ${quoted(name)}`, {
      known_resources: names.slice(0, MOST_NAMES),
    });
  }

  /**
   * Finds the operation in the call.
   *
   * @throws ToolProblem that lists what the resource has
   */
  async operation(name: OperationName): Promise<OperationPlan> {
    const resource = await this.resource();
    const plan = resource.operations.get(name);
    if (plan !== undefined) return plan;
    throw await this.missing(`${resource.name} has no ${name}`, resource.name);
  }

  /**
   * Makes the error for an operation that a resource does not have. It lists the operations that the caller may use.
   */
  async missing(message: string, resource: string): Promise<ToolProblem> {
    const { operations, actions, leftOut } = (await this.catalog.resource(resource)) ?? {};
    return new ToolProblem(message, {
      operations: OPERATIONS.filter((each) => operations?.has(each)),
      actions: [...(actions?.keys() ?? [])],
      ...(leftOut === undefined || leftOut.length === 0 ? {} : { left_out: leftOut.map(({ text }) => text) }),
    });
  }

  /**
   * Sends the request of an operation.
   *
   * @param bodyName the argument that holds the body, for errors
   * @throws ToolProblem for a missing body, an error, a redirect, and a GET response that is too large or not JSON
   */
  async send(plan: OperationPlan, body: unknown, bodyName = 'values'): Promise<Returned> {
    const { args } = this;
    await this.#checkBody(plan, body, bodyName);
    const enveloped = plan.envelope === undefined || body === undefined ? body : { [plan.envelope]: body };
    const response = await this.#inner.send(
      this.#request,
      {
        plan,
        params: pathValues(plan, args, args.resource!),
        query: queryString(plan, args.query),
        body: enveloped,
        headers: conditionHeaders(plan, args, randomUUID),
      },
      this.#signal,
    );
    if (response.status >= 400) throw problemOf(response, plan, await this.#knownInput(plan), bodyName);
    if (response.status >= 300) throw redirected(response);
    const { etag } = response.headers;
    return {
      ...this.#valueOf(response, plan),
      etag: typeof etag === 'string' ? etag : undefined,
      total: totalOf(response, plan),
    };
  }

  /** Returns what an operation takes. A caller who may not use it learns nothing. */
  async #knownInput(plan: OperationPlan): Promise<OperationInput> {
    return (await this.catalog.may(plan)) ? this.catalog.inputOf(plan) : { values: undefined, query: [] };
  }

  /** @throws ToolProblem for a missing body, and for names that the operation does not accept from the caller */
  async #checkBody(plan: OperationPlan, body: unknown, bodyName: string): Promise<void> {
    const mayDiffer = plan.writeShapes.length > 1;
    const isMissing = body === undefined && plan.body?.required === true;
    if (!isMissing && !mayDiffer && unknownNames(valuesSchema(plan), body, bodyName) === undefined) return;
    // The error lists fields. If the account may not know them, the route rejects the request itself.
    if (!(await this.catalog.may(plan))) return;
    const { values: accepted } = await this.catalog.inputOf(plan);
    const problem = isMissing ? missingBody(accepted, bodyName) : unknownNames(accepted, body, bodyName);
    if (problem !== undefined) throw problem;
  }

  #valueOf(response: InnerResponse, plan: OperationPlan): Pick<Returned, 'value' | 'note'> {
    const { status, type, body } = response;
    if (status === 204 || body?.length === 0) return { value: undefined, note: undefined };
    const text = body?.toString();
    const isJson = type === 'application/json' || type.endsWith('+json');
    const json = isJson ? parsedJson(text) : undefined;
    if (json !== undefined) return { value: withoutEnvelope(json, plan), note: undefined };
    const isShown = type.startsWith('text/') && type !== EVENTS;
    if (text !== undefined && isShown) return { value: text, note: undefined };
    const isTooLarge = text === undefined && type !== EVENTS;
    const reason = isTooLarge
      ? this.#tooLarge(plan)
      : `The response is ${isJson ? 'no valid JSON' : type}, which is not shown`;
    if (plan.method === 'GET') throw new ToolProblem(reason);
    return { value: undefined, note: `It was done. ${reason}` };
  }

  /** Says how to ask for less. */
  #tooLarge({ queryParameters }: OperationPlan): string {
    const { query = {} } = this.args;
    const size = queryParameters.find(({ pages }) => pages === 'size');
    const fields = queryParameters.find(({ name }) => name === 'fields');
    const { default: usual } = (size?.schema ?? {}) as { readonly default?: unknown };
    const current = Number((size && query[size.name]) ?? usual);
    const cures = [
      ...(size !== undefined && current > 1 ? [`a smaller query.${size.name}, such as ${Math.ceil(current / 2)}`] : []),
      ...(fields === undefined ? [] : ['fewer query.fields']),
    ];
    const cure = cures.length === 0 ? '' : `; ask for ${cures.join(' or ')}`;
    return `The response has more than ${this.maxResultBytes} bytes${cure}`;
  }
}

/** Reads the number of all records from the header that the document declares. */
function totalOf({ headers }: InnerResponse, { responses }: OperationPlan): number | undefined {
  const declared = responses[200]?.headers ?? {};
  const name = ['x-total-count', 'content-range'].find((each) => Object.hasOwn(declared, each));
  const text = name === undefined ? undefined : headers[name];
  return text === undefined ? undefined : Number(String(text).split('/').at(-1));
}

/** Parses JSON; undefined if there is no text or it is not JSON. */
function parsedJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** A hook may have redirected the request before the operation ran, so a redirect is never a success. */
function redirected({ status, headers: { location } }: InnerResponse): ToolProblem {
  return new ToolProblem(`The API answered ${status} with a redirect, which no tool follows`, {
    status,
    location,
    hint: 'Nobody knows if the operation was done; read the record before you repeat the call',
  });
}

function withoutEnvelope(value: unknown, { envelope }: OperationPlan): unknown {
  return envelope !== undefined && isObject(value) && Object.hasOwn(value, envelope) ? value[envelope] : value;
}
