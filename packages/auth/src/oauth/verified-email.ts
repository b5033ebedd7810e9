import { normalizeEmail } from '../accounts/email-address.ts';
import type { OpenidKind } from './known-services.ts';
import type { ResolvedOpenidProvider } from './provider-options.ts';

type Claims = Readonly<Record<string, unknown>>;

/** Returns the address of claims, if the service says that it is verified, or the application trusts it. */
export function verifiedEmail(provider: ResolvedOpenidProvider, claims: Claims): string | undefined {
  const { email } = claims;
  if (typeof email !== 'string') return undefined;
  return (STATEMENTS[provider.kind](claims) ?? isTrusted(provider, email)) ? email : undefined;
}

/** What each service says of an address: verified, not verified, or nothing (undefined). */
const STATEMENTS: Readonly<Record<OpenidKind, (claims: Claims) => boolean | undefined>> = {
  openid: ({ email_verified: verified }) => oneOf(verified, [true]),
  // Documented as "true" or true.
  apple: ({ email_verified: verified }) => oneOf(verified, [true, 'true']),
  linkedin: ({ email_verified: verified }) => oneOf(verified, [true, 'true']),
  // An administrator of any tenant may write any address into `email`, and perhaps other claims (nOAuth). This claim says
  // that the domain of the address is the tenant's. It comes in all of these forms.
  microsoft: ({ xms_edov: isOfTenant }) => oneOf(isOfTenant, [true, 'true', 1, '1']),
};

/** Everything that is not a clear yes is a no. */
function oneOf(claim: unknown, yes: readonly unknown[]): boolean | undefined {
  return claim === undefined ? undefined : yes.includes(claim);
}

function isTrusted({ trustUnverifiedEmails: trust }: ResolvedOpenidProvider, email: string): boolean {
  const address = normalizeEmail(email);
  return trust === true || trust.includes(address.slice(address.lastIndexOf('@') + 1));
}
