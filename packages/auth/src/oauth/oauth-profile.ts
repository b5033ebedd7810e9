/** A service's data about a user who logs in. */
export interface OAuthProfile {
  /** The service's id of the person, which never changes; at most 255 characters. */
  readonly subject: string;
  /** An address that the service has verified. Without one, the user gets in only if the service is linked already. */
  readonly verifiedEmail?: string | undefined;
  /** The name of an account that is created for the user. Default: the address up to the `@`. */
  readonly name?: string | undefined;
}

/** The state of a login with a service between its two requests. */
export interface OAuthFlow {
  readonly provider: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  /** True: the callback is a POST with a form. */
  readonly postsForm?: boolean;
  /** The path of the server to go to when the login has ended; undefined: the callback answers as a login does. */
  readonly returnTo?: string | undefined;
  /** The account to link, and the session that asked; undefined for a login. */
  readonly link?: { readonly account: number; readonly session?: string | undefined } | undefined;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The protocol of one service. */
export interface OAuthProtocol {
  /** True: the callback is a POST with a form. False: it is a GET. */
  readonly postsForm: boolean;
  /** The address of the service's page. */
  authorizationUrl(flow: OAuthFlow): Promise<URL>;
  /**
   * Exchanges a callback's code for the user's profile. Throws the errors of openid-client if the callback does not
   * belong to the flow.
   *
   * @param url the callback's URL, with its parameters in the query, also those of a form
   */
  profile(flow: OAuthFlow, url: URL): Promise<OAuthProfile>;
}
