/** A token, or a function that is asked for one before every request; undefined or null: none. */
export type TokenSource = string | (() => MaybeToken | Promise<MaybeToken>) | undefined;
/** A token, or none. */
export type MaybeToken = string | null | undefined;

/** The token of a client's requests, and its renewal, which is asked for once by all requests that wait. */
export class Tokens {
  readonly #source: TokenSource;
  readonly #refresh: (() => Promise<string>) | undefined;
  /** The token that the source gave when it was renewed, and the one in its place. */
  #renewed: { readonly stale: MaybeToken; readonly fresh: string } | undefined;
  /** The renewal that is under way, and the token of the source that it is for. */
  #renewal: { readonly stale: MaybeToken; readonly fresh: Promise<string> } | undefined;

  constructor(source: TokenSource, refresh: (() => Promise<string>) | undefined) {
    this.#source = source;
    this.#refresh = refresh;
  }

  /** The token for a request: the source's, or what a renewal has put in its place. */
  async current(): Promise<MaybeToken> {
    return this.#inPlaceOf(await this.#given());
  }

  /**
   * True if an answer asks for another token: it is a 401, and the request had no token or one that is no longer good. A
   * page of another origin may not see the header that says so, and then any 401 counts.
   */
  isRefused({ status, headers }: Pick<Response, 'status' | 'headers'>, token: MaybeToken): boolean {
    if (status !== 401 || this.#refresh === undefined) return false;
    const challenge = headers.get('www-authenticate');
    return challenge === null || challenge.includes('invalid_token') || !token;
  }

  /**
   * Renews the token in the place of the one that was refused, unless another request has done so already. A renewal that is under way
   * for another token, of a user who has gone, is waited for and not shared.
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
   * A source that gives anything else than it gave at the renewal has noticed it. Its word counts from then on, even if it gives the
   * same again: after a logout it has no token, as before the login.
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
