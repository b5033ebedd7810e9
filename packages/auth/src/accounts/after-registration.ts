import type { FastifyRequest } from 'fastify';

/** A new account, as the hook of registrations gets it. */
export interface RegisteredAccount {
  readonly id: number;
  readonly email: string;
  readonly name: string;
}

/**
 * Runs after an account was registered, in the transaction that stores it. Use `request.em` to store records beside it.
 * If the hook throws, nothing is stored, and the client gets the error.
 */
export type AfterRegistration = (request: FastifyRequest, account: RegisteredAccount) => unknown;
