import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../browsers/loopback.ts';

export interface RelyingPartyOptions {
  /** Undefined: the id. */
  readonly name: string | undefined;
  /** Undefined: the host of each request. */
  readonly site: PasskeySite | undefined;
}

/** The site where passkeys can be used. */
export interface PasskeySite {
  /** The domain. */
  readonly id: string;
  /** The origins of the pages. */
  readonly origins: readonly string[];
}

export interface RelyingParty extends PasskeySite {
  readonly name: string;
}

/** Returns the application as WebAuthn's relying party, as the request's browser knows it. */
export function relyingPartyOf(request: FastifyRequest, { name, site }: RelyingPartyOptions): RelyingParty {
  // Both come from the host. A forged host only allows passkeys of that host, and there are none.
  const { id, origins } = site ?? { id: request.hostname, origins: requestOrigins(request) };
  return { id, origins, name: name ?? id };
}

/** Browsers have passkeys on pages of HTTPS, and on this machine by HTTP too. */
function requestOrigins({ host, hostname }: FastifyRequest): string[] {
  const schemes = isLoopback(hostname) ? ['https', 'http'] : ['https'];
  const addresses = schemes.map((scheme) => `${scheme}://${host}`);
  return addresses.filter((address) => URL.canParse(address)).map((address) => new URL(address).origin);
}
