import type { EntityManager } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';

/** Reads for a request as the primary has it, so that what was revoked is refused from the next request on: a replica may not know of it yet. */
export class PrimarySource {
  readonly readsPrimary = true;
  readonly #request: FastifyRequest;

  constructor(request: FastifyRequest) {
    this.#request = request;
  }

  get em(): EntityManager {
    return this.#request.em;
  }

  get reader(): EntityManager {
    return this.#request.reader;
  }
}
