import { isIP } from 'node:net';
import { normalizeEmail, type OAuthProvider } from '@viewset/auth';
import { ImproperlyConfigured } from '@viewset/core';
import type { Rate } from './settings.ts';

const MIN_SECRET_BYTES = 32;
/** bcrypt reads no further. */
const MAX_PASSWORD_BYTES = 72;
const OAUTH_PARTS = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET'] as const;
const OAUTH = /^OAUTH_([A-Z0-9_]+)_(?:ISSUER|CLIENT_ID|CLIENT_SECRET)$/;
const NAMED_NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

/**
 * Environment variables, parsed to the types of their settings. An empty variable counts as absent.
 *
 * @throws ImproperlyConfigured from every method: the variable, the expected and the received value (secrets are not shown).
 */
export class Environment {
  readonly #variables: NodeJS.ProcessEnv;

  constructor(variables: NodeJS.ProcessEnv) {
    this.#variables = variables;
  }

  text(name: string): string | undefined {
    const text = this.#variables[name];
    return text === '' ? undefined : text;
  }

  integer(name: string, least: number, most: number): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (/^\d{1,10}$/.test(text) && value >= least && value <= most) return value;
    throw mistake(name, `a whole number from ${least} to ${most}`, text);
  }

  url(name: string, schemes: readonly string[]): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const scheme = text.slice(0, text.indexOf(':'));
    // A URL of MongoDB or Redis may name several hosts, mongodb://a:27017,b:27017/shop, which no URL otherwise does.
    const plain = /^(?:mongodb|rediss?|redis\+sentinel)$/.test(scheme) ? text.replace(/,[^/?\s]*/, '') : text;
    const isMaster = scheme !== 'redis+sentinel' || /^[^/]+\/\/[^/]+\/[^/]+(?:\/\d+)?$/.test(text);
    const isUrl = scheme === 'sqlite' ? text !== 'sqlite:' : URL.canParse(plain) && isMaster;
    if (schemes.includes(scheme) && isUrl) return text;
    // A URL may carry a password: no more of it than the scheme goes into the message.
    throw mistake(name, `a URL that starts with ${schemes.map((each) => `${each}:`).join(' or ')}`, `${scheme}…`);
  }

  email(name: string): string | undefined {
    const text = this.text(name)?.trim();
    if (text === undefined) return undefined;
    if (/^[^\s@]+@[^\s@]+$/.test(text)) return normalizeEmail(text);
    throw mistake(name, 'an e-mail address', text);
  }

  /** An address, or a name with an address in angle brackets. */
  sender(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined || /^(?:[^\r\n<>]*<[^\s@<>]+@[^\s@<>]+>|[^\s@<>]+@[^\s@<>]+)$/.test(text)) return text;
    throw mistake(name, 'an e-mail address, such as shop@example.com or Shop <shop@example.com>', text);
  }

  secret(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined || Buffer.byteLength(text) >= MIN_SECRET_BYTES) return text;
    throw new ImproperlyConfigured(
      `${name} must have at least ${MIN_SECRET_BYTES} bytes; it has ${Buffer.byteLength(text)}`,
    );
  }

  requiredSecret(name: string): string {
    const secret = this.secret(name);
    if (secret !== undefined) return secret;
    throw new ImproperlyConfigured(`${name} must be set in production, to at least ${MIN_SECRET_BYTES} random bytes`);
  }

  password(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined || Buffer.byteLength(text) <= MAX_PASSWORD_BYTES) return text;
    throw new ImproperlyConfigured(
      `${name} must have at most ${MAX_PASSWORD_BYTES} bytes; it has ${Buffer.byteLength(text)}`,
    );
  }

  /** `100/60`, or `off`, which gives undefined. */
  rate(name: string, fallback: Rate): Rate | undefined {
    const text = this.text(name);
    if (text === undefined) return fallback;
    if (text === 'off') return undefined;
    const [, count, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,8})$/.exec(text) ?? [];
    if (count === undefined) throw mistake(name, 'count/seconds, such as 100/60, or off', text);
    return { count: Number(count), seconds: Number(seconds) };
  }

  /** `on` or `off`. */
  onOff(name: string): boolean | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (text === 'on' || text === 'off') return text === 'on';
    throw mistake(name, 'on or off', text);
  }

  /** The services of OAUTH_<NAME>_ISSUER, OAUTH_<NAME>_CLIENT_ID and OAUTH_<NAME>_CLIENT_SECRET, by their names in lower case. */
  oauthProviders(): Record<string, OAuthProvider> {
    const names = Object.keys(this.#variables).flatMap((variable) => OAUTH.exec(variable)?.[1] ?? []);
    const given = [...new Set(names)].filter((name) => OAUTH_PARTS.some((part) => this.text(`OAUTH_${name}_${part}`)));
    return Object.fromEntries(
      given.map((name) => {
        const [issuer, clientId, clientSecret] = OAUTH_PARTS.map((part) => this.#required(`OAUTH_${name}_${part}`));
        return [name.toLowerCase().replaceAll('_', '-'), { issuer, clientId, clientSecret } as OAuthProvider];
      }),
    );
  }

  #required(name: string): string {
    const text = this.text(name);
    if (text === undefined) throw new ImproperlyConfigured(`${name} must be set besides the others of its service`);
    return text;
  }

  /** Fastify's `trustProxy`. A number of proxies is not accepted: Fastify would silently trust no proxy. */
  trustProxy(name: string): boolean | string[] | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (text === 'off' || text === 'false') return false;
    if (text === 'on' || text === 'true') return true;
    const networks = this.list(name) ?? [];
    const wrong = networks.find((network) => !isNetwork(network));
    if (wrong === undefined) return networks;
    const names = NAMED_NETWORKS.join(', ');
    throw mistake(name, `on, off, or addresses, networks (10.0.0.0/8) and names (${names}) separated by commas`, wrong);
  }

  /** Entries separated by commas. */
  list(name: string): string[] | undefined {
    return this.text(name)
      ?.split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
  }
}

function isNetwork(text: string): boolean {
  const [address = '', bits] = text.split('/');
  if (bits === undefined) return NAMED_NETWORKS.includes(text) || isIP(address) !== 0;
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return /^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= most;
}

function mistake(name: string, expected: string, received: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${name} must be ${expected}; got "${received}"`);
}
