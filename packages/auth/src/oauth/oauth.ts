import { ImproperlyConfigured } from '@viewset/core';
import type { OpenidClient } from './client-requests.ts';
import { Identities } from './identities.ts';
import { checkIdentity } from './identity-contract.ts';
import { OAuthFlows } from './oauth-flows.ts';
import { OAuth2Protocol } from './oauth2-protocol.ts';
import type { OAuthProtocol } from './oauth-profile.ts';
import { OpenidProtocol } from './openid-protocol.ts';
import type { ResolvedProvider } from './provider-options.ts';
import type { OAuthParts } from '../routes/oauth.ts';
import { SecretBox } from '../secrets/secret-box.ts';
import type { Wiring } from '../wiring.ts';

/** Undefined if logins with other services are off. Throws ImproperlyConfigured if `openid-client` is not installed. */
export async function oauthParts(
  { orm, model, accounts, store, loginWays, options: { oauth, keyFor, urlPrefix } }: Wiring,
  scopePrefix: string,
): Promise<OAuthParts | undefined> {
  if (oauth === undefined) return undefined;
  const client = await loadOpenidClient();
  const path = `${scopePrefix}${urlPrefix}/oauth`;
  const box = new SecretBox(keyFor('oauth cookies'));
  const protocolOf = (provider: ResolvedProvider): OAuthProtocol =>
    provider.kind === 'oauth2' ? new OAuth2Protocol(client, provider) : new OpenidProtocol(client, provider);
  return {
    flows: new OAuthFlows(store, box, path),
    identities: new Identities(checkIdentity(orm, oauth.identity, model), accounts, loginWays, oauth.register),
    protocols: new Map(oauth.providers.map((provider) => [provider.name, protocolOf(provider)])),
    origin: oauth.origin,
    path,
  };
}

/** An optional peer, needed only with the option `oauth`. */
async function loadOpenidClient(): Promise<OpenidClient> {
  try {
    return await import('openid-client');
  } catch (cause) {
    const message = 'auth: option "oauth" needs the package openid-client: npm install openid-client@6';
    throw new ImproperlyConfigured(message, { cause });
  }
}
