import type { FastifyRequest } from 'fastify';
import type { AccountModel } from './account-contract.ts';

type Names = Pick<AccountModel['names'], 'email' | 'is_active'>;

const USUAL: Names = { email: 'email', is_active: 'is_active' };

/** The names of the account's properties, by what requests of the application find as `app.auth`. */
const byInstance = new WeakMap<object, Names>();

export function provideAccountNames(instance: object, names: Names): void {
  byInstance.set(instance, names);
}

/** Returns the names of the account's properties in a request's application. Without the plugin `auth`, the usual ones. */
export function accountNamesOf({ server }: FastifyRequest): Names {
  return (server.hasDecorator('auth') ? byInstance.get(server.auth) : undefined) ?? USUAL;
}
