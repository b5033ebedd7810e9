/** What a service says of a person who has logged in there. */
export interface OAuthProfile {
  /** The service's id of the person, which never changes. */
  readonly subject: string;
  /** An address that the service says is verified; undefined without one. */
  readonly verifiedEmail: string | undefined;
  readonly name: string | undefined;
}

/** What a login by a service has to remember between its two requests. */
export interface OAuthFlow {
  readonly provider: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  /** The path of the server to go to when the login has ended; undefined: the callback answers as a login does. */
  readonly returnTo?: string | undefined;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The protocol of one service. */
export interface OAuthProtocol {
  /** The address of the service's page. */
  authorizationUrl(flow: OAuthFlow): Promise<URL>;
  /**
   * Exchanges the code of a callback for the person's profile. Throws what openid-client does for a callback that is not the answer
   * to the flow.
   *
   * @param url the callback as it came
   */
  profile(flow: OAuthFlow, url: URL): Promise<OAuthProfile>;
}
