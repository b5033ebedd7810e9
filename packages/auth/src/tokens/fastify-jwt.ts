import { fastifyJwt } from '@fastify/jwt';
import { fastify } from 'fastify';
import type { TokenAlgorithm } from './signing-keys.ts';

/** The functions that `@fastify/jwt` makes of one key, as far as this package uses them. */
export interface Jwt {
  sign(payload: object, options?: object): string;
  verify(token: string, options?: object): unknown;
  decode(token: string): unknown;
}

/**
 * The options of `@fastify/jwt` for one key. Exported declarations name no type of the plugin: its declarations add another type
 * of `request.user` to the application's program.
 */
export interface JwtRegistration {
  /** The keys in PEM, or the secret twice. Without `private`, `sign` throws. */
  readonly secret: { readonly private?: string; readonly public: string };
  readonly sign: {
    readonly algorithm: TokenAlgorithm;
    readonly kid: string;
    /** Seconds. */
    readonly expiresIn: number;
    readonly iss?: string;
    readonly sub?: string;
    readonly aud?: string;
  };
  readonly verify?: {
    readonly algorithms: TokenAlgorithm[];
    readonly requiredClaims: string[];
    readonly complete: boolean;
  };
}

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
