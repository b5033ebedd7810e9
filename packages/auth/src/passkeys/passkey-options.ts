import { ImproperlyConfigured, isOrigin, wrongOption } from '@viewset/core';
import { resolveEntityOption } from '../accounts/entity-option.ts';
import type { PasskeySchema } from './passkey-contract.ts';
import type { RelyingPartyOptions } from './relying-party.ts';

/** The option `passkeys` as an object. */
export interface PasskeyOptions {
  /** The entity of passkeys; see PasskeyFields for what it needs. */
  readonly entity: PasskeySchema;
  /** The application's name in browsers. Default: `rpId`. */
  readonly rpName?: string;
  /**
   * The domain of the passkeys, such as `example.com`. Its pages and those of its subdomains can use them. If it
   * changes, passkeys are lost. Set it in production. Default: the host of each request. Then only pages of that host
   * can use them.
   */
  readonly rpId?: string;
  /** The origins whose pages may use passkeys, with `rpId`. Default: `https://<rpId>`. */
  readonly origins?: readonly string[];
}

/** The option with its defaults, checked. */
export interface ResolvedPasskeyOptions {
  readonly entity: PasskeySchema;
  readonly relyingParty: RelyingPartyOptions;
}

const OPTION_NAMES: readonly (keyof PasskeyOptions)[] = ['entity', 'rpName', 'rpId', 'origins'];

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
export function resolvePasskeyOptions(given: PasskeySchema | PasskeyOptions): ResolvedPasskeyOptions {
  const options = resolveEntityOption<PasskeyOptions>('passkeys', given, OPTION_NAMES, 'passkeys');
  const { entity, rpName: name, rpId: id, origins } = options;
  if (name !== undefined && (typeof name !== 'string' || name === '')) throw wrong('rpName', 'a name', name);
  if (id === undefined) {
    if (origins === undefined) return { entity, relyingParty: { name, site: undefined } };
    throw new ImproperlyConfigured('auth: option "passkeys": the option "origins" needs "rpId"');
  }
  if (!isDomain(id)) throw wrong('rpId', 'a domain, such as "example.com"', id);
  return { entity, relyingParty: { name, site: { id, origins: resolveOrigins(id, origins) } } };
}

/** Browsers use lower-case domains, and no IP addresses. */
function isDomain(text: unknown): text is string {
  return typeof text === 'string' && /[a-z]/.test(text) && isOrigin(`https://${text}`) && !text.includes(':');
}

/** Browsers use a domain's passkeys on its pages and on those of its subdomains. */
function resolveOrigins(id: string, origins: readonly string[] = [`https://${id}`]): readonly string[] {
  const isUsable = (origin: unknown): origin is string =>
    isOrigin(origin) && `.${new URL(origin).hostname}`.endsWith(`.${id}`);
  const given: unknown[] = Array.isArray(origins) ? origins : [];
  if (given.length > 0 && given.every(isUsable)) return Object.freeze([...given]);
  throw wrong('origins', `a list of origins of ${id}, such as ["https://${id}"]`, origins);
}

function wrong(name: keyof PasskeyOptions, expected: string, received: unknown): ImproperlyConfigured {
  return wrongOption('auth: option "passkeys"', name, expected, received);
}
