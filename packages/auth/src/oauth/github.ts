import type { OAuth2Api, OAuth2Provider } from './oauth2-provider.ts';
import type { OAuthProfile } from './oauth-profile.ts';

interface GithubUser {
  readonly id: number;
  readonly login: string;
  readonly name?: string | null;
}

interface GithubEmail {
  readonly email: string;
  readonly primary: boolean;
  readonly verified: boolean;
}

const HEADERS = { accept: 'application/vnd.github+json', 'user-agent': 'viewset' };

/** GitHub, and GitHub Enterprise Server by its own address: OAuth 2 with PKCE, without OpenID Connect. */
export function githubService(issuer: string) {
  const { origin } = new URL(issuer);
  const root = origin === 'https://github.com' ? 'https://api.github.com' : `${origin}/api/v3`;
  return {
    kind: 'oauth2',
    issuer: origin,
    authorizationEndpoint: `${origin}/login/oauth/authorize`,
    tokenEndpoint: `${origin}/login/oauth/access_token`,
    tokenEndpointAuthMethod: 'client_secret_post',
    profile: (api) => profileOf(api, root),
  } as const satisfies Partial<OAuth2Provider>;
}

async function profileOf({ get }: OAuth2Api, root: string): Promise<OAuthProfile> {
  const { id, login, name } = (await get(`${root}/user`, HEADERS)) as GithubUser;
  if (!Number.isSafeInteger(id)) throw new TypeError('GitHub names no user');
  const emails = (await get(`${root}/user/emails`, HEADERS)) as readonly GithubEmail[];
  const verified = emails.find((each) => each.primary && (each.verified as unknown) === true);
  return { subject: String(id), verifiedEmail: verified?.email, name: name ?? login };
}
