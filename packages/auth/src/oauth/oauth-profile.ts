/** A service's data about a logged-in user. */
export interface OAuthProfile {
  /** The service's id of the person, which never changes. */
  readonly subject: string;
  /** An address that the service has verified; undefined without one. */
  readonly verifiedEmail: string | undefined;
  readonly name: string | undefined;
}

/** The state of a login with a service between its two requests. */
export interface OAuthFlow {
  readonly provider: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  /** The path of the server to go to when the login has ended; undefined: the callback answers as a login does. */
  readonly returnTo?: string | undefined;
  /** The account to link, and the session that asked; undefined for a login. */
  readonly link?: { readonly account: number; readonly session?: string | undefined } | undefined;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The protocol of one service. */
export interface OAuthProtocol {
  /** The address of the service's page. */
  authorizationUrl(flow: OAuthFlow): Promise<URL>;
  /**
   * Exchanges a callback's code for the user's profile. Throws the errors of openid-client if the callback does not
   * belong to the flow.
   *
   * @param url the callback's URL as received
   */
  profile(flow: OAuthFlow, url: URL): Promise<OAuthProfile>;
}
