import { wrongOption } from '@viewset/core';
import { isLoopback } from '../browsers/loopback.ts';

/** A service that speaks OpenID Connect. Each kind but `openid` departs from it somewhere. */
export type OpenidKind = 'openid' | 'microsoft' | 'linkedin' | 'apple';

interface KnownService {
  readonly origins: readonly string[];
  readonly kind: OpenidKind | 'github';
  /** The paths of its issuers. */
  readonly path: RegExp;
  readonly example: string;
}

const KNOWN_SERVICES: readonly KnownService[] = [
  { origins: ['https://github.com'], kind: 'github', path: /./, example: 'https://github.com' },
  {
    origins: [
      'https://login.microsoftonline.com',
      'https://login.microsoftonline.us',
      'https://login.partner.microsoftonline.cn',
    ],
    kind: 'microsoft',
    // Version 1.0 has other issuers and other claims.
    path: /^\/[^/]+\/v2\.0$/,
    example: 'https://login.microsoftonline.com/<tenant>/v2.0',
  },
  {
    origins: ['https://www.linkedin.com', 'https://linkedin.com'],
    kind: 'linkedin',
    path: /^\/oauth$/,
    example: 'https://www.linkedin.com/oauth',
  },
  { origins: ['https://appleid.apple.com'], kind: 'apple', path: /^\/$/, example: 'https://appleid.apple.com' },
];

/** Returns the kind of a well-known service; undefined for others. */
export function kindOf(issuer: string): KnownService['kind'] | undefined {
  return serviceOf(issuer)?.kind;
}

/**
 * Throws ImproperlyConfigured if an issuer is of a well-known service, and is not one that its discovery knows, or has
 * another kind. Another kind would read the wrong claims of its tokens.
 */
export function checkIssuer(name: string, issuer: string, kind: KnownService['kind']): void {
  const service = serviceOf(issuer);
  if (service === undefined) return;
  const wrong = (option: string, expected: string, received: unknown): Error =>
    wrongOption('auth: option "oauth"', `providers.${name}.${option}`, expected, received);
  if (kind !== service.kind) throw wrong('kind', `${service.kind} for this issuer`, kind);
  if (!service.path.test(new URL(issuer).pathname)) throw wrong('issuer', `of the form ${service.example}`, issuer);
}

/** True for plain HTTP on this machine, for tests and development. */
export function isInsecure(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && isLoopback(hostname);
}

function serviceOf(issuer: string): KnownService | undefined {
  return KNOWN_SERVICES.find(({ origins }) => origins.includes(new URL(issuer).origin));
}
