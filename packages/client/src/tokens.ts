/** A token, or a function that returns one for every request; undefined or null means none. */
export type TokenSource = string | (() => MaybeToken | Promise<MaybeToken>) | undefined;
/** A token, or none. */
export type MaybeToken = string | null | undefined;

/** The token of a client's requests. All waiting requests share one renewal. */
export class Tokens {
  readonly #source: TokenSource;
  readonly #refresh: (() => Promise<string>) | undefined;
  /** The source's token at the last renewal, and the token that replaced it. */
  #renewed: { readonly stale: MaybeToken; readonly fresh: string } | undefined;
  /** The running renewal, and the source's token that it replaces. */
  #renewal: { readonly stale: MaybeToken; readonly fresh: Promise<string> } | undefined;

  constructor(source: TokenSource, refresh: (() => Promise<string>) | undefined) {
    this.#source = source;
    this.#refresh = refresh;
  }

  /** Returns the token for a request: the source's, or its replacement from a renewal. */
  async current(): Promise<MaybeToken> {
    return this.#inPlaceOf(await this.#given());
  }

  /**
   * True if a response asks for another token: a 401 to a request without a token, or with one that is no longer valid.
   * A page of another origin may not be able to read the `WWW-Authenticate` header; then every 401 counts.
   */
  isRefused({ status, headers }: Pick<Response, 'status' | 'headers'>, token: MaybeToken): boolean {
    if (status !== 401 || this.#refresh === undefined) return false;
    const challenge = headers.get('www-authenticate');
    return challenge === null || challenge.includes('invalid_token') || !token;
  }

  /**
   * Renews a rejected token, unless another request has already done so. If a renewal for another token is running, of
   * a user who has left, waits for it to end and then starts a new one.
   */
  async renew(refused: MaybeToken): Promise<string> {
    const given = await this.#given();
    const current = this.#inPlaceOf(given);
    if (current && current !== refused) return current;
    this.#renewal ??= { stale: given, fresh: this.#renew(given).finally(() => (this.#renewal = undefined)) };
    const { stale, fresh } = this.#renewal;
    const again = (): Promise<string> => this.renew(refused);
    return stale === given ? fresh : fresh.then(again, again);
  }

  async #renew(stale: MaybeToken): Promise<string> {
    const fresh = await this.#refresh!();
    const given = await this.#given();
    if (stale && !given) throw new Error('Logged out');
    this.#renewed = given === stale ? { stale, fresh } : undefined;
    return fresh;
  }

  /**
   * Once the source returns another token than at the renewal, it knows about the change. From then on its token
   * counts, even if it returns the old value again: after a logout it has no token, as before the login.
   */
  #inPlaceOf(given: MaybeToken): MaybeToken {
    if (this.#renewed === undefined) return given;
    if (this.#renewed.stale === given) return this.#renewed.fresh;
    this.#renewed = undefined;
    return given;
  }

  #given(): MaybeToken | Promise<MaybeToken> {
    return typeof this.#source === 'function' ? this.#source() : this.#source;
  }
}
