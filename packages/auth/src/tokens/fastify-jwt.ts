import { fastifyJwt } from '@fastify/jwt';
import { fastify } from 'fastify';

/** The functions that `@fastify/jwt` makes of one key, as far as this package uses them. */
export interface Jwt {
  sign(payload: object, options?: object): string;
  verify(token: string, options?: object): unknown;
  decode(token: string): unknown;
}

/** What `@fastify/jwt` is registered with, for one key. */
export type JwtRegistration = Pick<Parameters<typeof fastifyJwt>[1], 'secret' | 'sign' | 'verify'>;

/**
 * Registers `@fastify/jwt` once for each key, with the name of the key as the namespace. Returns the functions by name.
 *
 * Fastify's instance is private and never starts, so the plugin decorates nothing of the application, which may register
 * it too. A key that the plugin refuses is thrown as an error at once.
 */
export function registerJwts(registrations: ReadonlyMap<string, JwtRegistration>): ReadonlyMap<string, Jwt> {
  const host = fastify();
  for (const [namespace, registration] of registrations) {
    fastifyJwt(host, { ...registration, namespace }, (error) => {
      if (error !== undefined) throw error;
    });
  }
  const { jwt } = host as unknown as { readonly jwt: Readonly<Record<string, Jwt>> };
  return new Map([...registrations.keys()].map((name) => [name, jwt[name]!]));
}
