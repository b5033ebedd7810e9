import type * as Client from 'openid-client';
import { isInsecure } from './known-services.ts';
import type { OAuthFlow } from './oauth-profile.ts';
import type { ResolvedProvider } from './provider-options.ts';

export type OpenidClient = typeof Client;

export const TIMEOUT_SECONDS = 5;

/** Sets the time limit of requests, and allows plain HTTP with this machine. */
export function prepare(client: OpenidClient, configuration: Client.Configuration, address: string): void {
  configuration.timeout = TIMEOUT_SECONDS;
  for (const extend of extensionsFor(client, address)) extend(configuration);
}

/** The extensions of a configuration: plain HTTP, if the address is of this machine. */
export function extensionsFor(client: OpenidClient, address: string): ((of: Client.Configuration) => void)[] {
  // It is marked as deprecated to warn of its use with other machines.
  // oxlint-disable-next-line typescript/no-deprecated
  return isInsecure(address) ? [client.allowInsecureRequests] : [];
}

/** Returns the parameters of the service's page. */
export async function authorizationParameters(
  client: OpenidClient,
  { scope, skipPkce }: ResolvedProvider,
  { redirectUri, state, verifier }: OAuthFlow,
): Promise<Record<string, string>> {
  const parameters = { scope, redirect_uri: redirectUri, state };
  if (skipPkce) return parameters;
  const challenge = await client.calculatePKCECodeChallenge(verifier);
  return { ...parameters, code_challenge: challenge, code_challenge_method: 'S256' };
}

/** Returns what a callback is compared with. */
export function grantChecks({ skipPkce }: ResolvedProvider, { state, verifier }: OAuthFlow) {
  return { expectedState: state, ...(skipPkce ? {} : { pkceCodeVerifier: verifier }) };
}
