import type { OperationPlan } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { LeftOut, OperationName, Resource } from './resource.ts';

/** Tells if an operation may let the sender of a request in. */
export type Admits = (request: FastifyRequest, plan: OperationPlan) => Promise<boolean>;

/** The resources as one caller sees them: without the operations that refuse this caller before a record is known. */
export class Catalog {
  /** All that the tools reach, whoever asks. */
  readonly all: ReadonlyMap<string, Resource>;
  readonly #request: FastifyRequest;
  readonly #admits: Admits;
  #shown: Promise<ReadonlyMap<string, Resource>> | undefined;

  constructor(all: ReadonlyMap<string, Resource>, request: FastifyRequest, admits: Admits) {
    this.all = all;
    this.#request = request;
    this.#admits = admits;
  }

  /** The resources of which the caller may use something. */
  shown(): Promise<ReadonlyMap<string, Resource>> {
    return (this.#shown ??= this.#find());
  }

  async #find(): Promise<ReadonlyMap<string, Resource>> {
    const shown = new Map<string, Resource>();
    // One after another: permissions may ask the database.
    for (const [name, resource] of this.all) {
      const operations = new Map<OperationName, OperationPlan>();
      const actions = new Map<string, OperationPlan>();
      for (const [operation, plan] of resource.operations) if (await this.#may(plan)) operations.set(operation, plan);
      for (const [action, plan] of resource.actions) if (await this.#may(plan)) actions.set(action, plan);
      const leftOut: LeftOut[] = [];
      for (const each of resource.leftOut) if (await this.#may(each.plan)) leftOut.push(each);
      if (operations.size + actions.size > 0) shown.set(name, { name, operations, actions, leftOut });
    }
    return shown;
  }

  /** A permission that fails does not say yes, and keeps nobody from the other operations. */
  async #may(plan: OperationPlan): Promise<boolean> {
    try {
      return await this.#admits(this.#request, plan);
    } catch (error) {
      this.#request.log.error(
        { err: error, operation: plan.operationId },
        'a permission has failed; the tools leave it out',
      );
      return false;
    }
  }
}
