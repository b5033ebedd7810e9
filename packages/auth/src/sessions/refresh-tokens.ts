import { hash, randomBytes } from 'node:crypto';
import type { KeyRing } from '../secrets/key-ring.ts';

/** How far `newest` follows a chain, so that one request costs at most some milliseconds. */
const MAX_STEPS = 10_000;

/**
 * Refresh tokens: `<session id>.<secret>.<proof>`. A session's first secret is random. Each further secret is the hash
 * of the previous one. Simultaneous refreshes with one token therefore get the same successor, in every process, and
 * only a hash is stored. The proof is keyed: it distinguishes our former tokens from guesses, which must not end a
 * session, and without the key nobody can make the successor of a token.
 */
export class RefreshTokens {
  readonly #keys: KeyRing;

  constructor(keys: KeyRing) {
    this.#keys = keys;
  }

  first(sessionId: string): string {
    return this.#withProof({ sessionId, secret: randomBytes(32).toString('base64url') });
  }

  /** @param token a token with a valid proof */
  successor(token: string): string {
    return this.#withProof(next(linkOf(token)));
  }

  /**
   * Returns the newest token of a session, of which a former token was sent; undefined if the token is not of the same
   * chain, or more than 10,000 steps old.
   *
   * @param token a token with a valid proof
   * @param newestHash the hash of the newest token
   */
  newest(token: string, newestHash: string): string | undefined {
    let link = linkOf(token);
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      link = next(link);
      if (hashOf(link) === newestHash) return this.#withProof(link);
    }
    return undefined;
  }

  /** Returns the session of one of our tokens; undefined for any other text. */
  sessionOf(token: string): string | undefined {
    const [sessionId, secret, proof, ...rest] = token.split('.');
    if (sessionId === undefined || secret === undefined || proof === undefined || rest.length > 0) return undefined;
    return this.#keys.made(proof, proven({ sessionId, secret })) ? sessionId : undefined;
  }

  /** Returns the hash of a token that the database stores. It does not depend on the key of the proof. */
  hash(token: string): string {
    return hashOf(linkOf(token));
  }

  #withProof(link: Link): string {
    return `${textOf(link)}.${this.#keys.hash(proven(link))}`;
  }
}

/** A token without its proof. */
interface Link {
  readonly sessionId: string;
  readonly secret: string;
}

function linkOf(token: string): Link {
  const [sessionId = '', secret = ''] = token.split('.');
  return { sessionId, secret };
}

function next(link: Link): Link {
  return { sessionId: link.sessionId, secret: hash('sha256', `successor\n${textOf(link)}`, 'base64url') };
}

function hashOf(link: Link): string {
  return hash('sha256', textOf(link), 'base64url');
}

function proven(link: Link): string {
  return `proof\n${textOf(link)}`;
}

function textOf({ sessionId, secret }: Link): string {
  return `${sessionId}.${secret}`;
}
