import { createHash, randomUUID } from 'node:crypto';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  WebAuthnCredential,
} from '@simplewebauthn/server';
import { clientNetwork, securityEvent } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { LoginWays } from '../accounts/login-ways.ts';
import { type Assertion, challengeOf, type NewCredential } from './passkey-answers.ts';
import { PasskeyChallenges } from './passkey-challenges.ts';
import {
  checkPasskey,
  MAX_CREDENTIAL_ID_LENGTH,
  MAX_PUBLIC_KEY_LENGTH,
  type PasskeyEntity,
} from './passkey-contract.ts';
import { PasskeyRecords } from './passkey-records.ts';
import { type RelyingParty, type RelyingPartyOptions, relyingPartyOf } from './relying-party.ts';
import { loadWebAuthn, type WebAuthnLibrary } from './webauthn-library.ts';
import type { Wiring } from '../wiring.ts';

/** A passkey as its owner sees it. */
export interface ShownPasskey {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

/** The purpose of an answer. The challenge must have the same purpose. */
export type PasskeyPurpose =
  /**
   * Logs the passkey's owner in, in the browser that asked for the challenge. The authenticator must verify the user.
   */
  | { readonly to: 'login'; readonly browser: string }
  /** Ends an attempt to log in, which began with the password. The authenticator need not verify the user. */
  | { readonly to: 'end-login'; readonly account: number; readonly attempt: string }
  /** The logged-in user proves once more who they are. */
  | { readonly to: 'prove'; readonly account: number };

export interface PasskeysParts {
  readonly library: WebAuthnLibrary;
  readonly records: PasskeyRecords;
  readonly challenges: PasskeyChallenges;
  readonly relyingParty: RelyingPartyOptions;
  readonly loginWays: LoginWays;
}

/** EdDSA, ES256 and RS256, by their numbers in COSE. */
const ALGORITHMS = [-8, -7, -257];
const ADDING = { residentKey: 'required', userVerification: 'required' } as const;

/** The passkeys of accounts (WebAuthn): how they are added, shown, used and deleted. */
export class Passkeys {
  readonly #library: WebAuthnLibrary;
  readonly #records: PasskeyRecords;
  readonly #challenges: PasskeyChallenges;
  readonly #relyingParty: RelyingPartyOptions;
  readonly #loginWays: LoginWays;

  constructor({ library, records, challenges, relyingParty, loginWays }: PasskeysParts) {
    this.#library = library;
    this.#records = records;
    this.#challenges = challenges;
    this.#relyingParty = relyingParty;
    this.#loginWays = loginWays;
  }

  /** Makes the options by which a browser makes a passkey of the account. */
  async creationOptions(
    request: FastifyRequest,
    { id, email, name }: AccountEntity,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const party = this.#partyOf(request);
    const challenge = await this.#challenges.issue(purposeOfAdding(id), { account: id });
    return this.#library.generateRegistrationOptions({
      rpID: party.id,
      rpName: party.name,
      userID: userHandle(party, id),
      userName: email,
      userDisplayName: name,
      challenge: bytes(challenge),
      excludeCredentials: await this.#credentialsOf(request, id),
      authenticatorSelection: ADDING,
      supportedAlgorithmIDs: ALGORITHMS,
    });
  }

  /**
   * Adds a passkey that a browser has created. Undefined if it is invalid. Throws TargetObjectAlreadyExist if it was
   * added before, or the account has the most passkeys allowed.
   */
  async add(
    request: FastifyRequest,
    account: number,
    name: string,
    credential: NewCredential,
  ): Promise<ShownPasskey | undefined> {
    const made = await this.#verifyNew(request, account, credential);
    if (made === undefined) return undefined;
    const fields = {
      id: randomUUID(),
      name,
      credential_id: made.id,
      public_key: Buffer.from(made.publicKey).toString('base64url'),
      counter: made.counter,
      transports: credential.response.transports ?? null,
    };
    const isStorable =
      fields.credential_id.length <= MAX_CREDENTIAL_ID_LENGTH && fields.public_key.length <= MAX_PUBLIC_KEY_LENGTH;
    return isStorable ? shown(await this.#records.create(request, fields)) : undefined;
  }

  async list(request: FastifyRequest, account: number): Promise<ShownPasskey[]> {
    return (await this.#records.list(request.em, account)).map(shown);
  }

  /**
   * Deletes a passkey of the logged-in user. False if the account has no such passkey. Throws TargetObjectAlreadyExist if
   * the account could not log in without it.
   */
  delete(request: FastifyRequest, id: string): Promise<boolean> {
    return this.#loginWays.remove(request, (em, account) => this.#records.delete(em, account, id));
  }

  /**
   * Makes the options with which a browser asks for a passkey: any of its passkeys for a login, else one of the
   * account's.
   */
  async requestOptions(
    request: FastifyRequest,
    purpose: PasskeyPurpose,
  ): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const account = 'account' in purpose ? purpose.account : undefined;
    const client = purpose.to === 'prove' ? { account: purpose.account } : { address: clientNetwork(request) };
    const challenge = await this.#challenges.issue(JSON.stringify(purpose), client);
    return this.#library.generateAuthenticationOptions({
      rpID: this.#partyOf(request).id,
      challenge: bytes(challenge),
      userVerification: mustVerifyUser(purpose) ? 'required' : 'preferred',
      ...(account !== undefined && { allowCredentials: await this.#credentialsOf(request, account) }),
    });
  }

  /**
   * Finds the account of an assertion. Undefined if the passkey is unknown or belongs to another account, the challenge
   * has another purpose, or anything else is wrong.
   */
  async check(request: FastifyRequest, purpose: PasskeyPurpose, assertion: Assertion): Promise<number | undefined> {
    const challenge = await this.#takeChallenge(assertion, JSON.stringify(purpose));
    if (challenge === undefined) return undefined;
    const passkey = await this.#records.byCredential(request.em, assertion.id);
    if (passkey === undefined) return undefined;
    const account = passkey.account.id;
    if (!this.#isFor(request, purpose, account, assertion)) return undefined;
    const counter = await this.#verify(request, challenge, passkey, assertion, mustVerifyUser(purpose));
    if (counter === undefined) return undefined;
    if (await this.#records.use(request.em, passkey.id, counter)) return account;
    const event = { ...securityEvent(request, 'auth.passkey_counter'), account, passkey: passkey.id };
    request.log.warn(event, 'the counter of a passkey did not increase: there may be a copy of the passkey');
    return undefined;
  }

  /** True unless the server or the authenticator names another account. One of them has to name one. */
  #isFor(request: FastifyRequest, purpose: PasskeyPurpose, account: number, { response }: Assertion): boolean {
    if ('account' in purpose && purpose.account !== account) return false;
    const handle = response.userHandle ?? undefined;
    if (handle === undefined) return 'account' in purpose;
    return handle === Buffer.from(userHandle(this.#partyOf(request), account)).toString('base64url');
  }

  /** Returns the counter of a valid assertion. */
  #verify(
    request: FastifyRequest,
    challenge: string,
    { credential_id: id, public_key }: PasskeyEntity,
    { response, ...assertion }: Assertion,
    requireUserVerification: boolean,
  ): Promise<number | undefined> {
    const { id: expectedRPID, origins } = this.#partyOf(request);
    const { clientDataJSON, authenticatorData, signature } = response;
    return readable(request, async () => {
      const { verified, authenticationInfo } = await this.#library.verifyAuthenticationResponse({
        response: {
          ...assertion,
          response: { clientDataJSON, authenticatorData, signature },
          clientExtensionResults: {},
        },
        expectedChallenge: challenge,
        expectedOrigin: [...origins],
        expectedRPID,
        requireUserVerification,
        // The counter is 0 here, because it is compared in the database.
        credential: { id, publicKey: bytes(public_key), counter: 0 },
      });
      return verified ? authenticationInfo.newCounter : undefined;
    });
  }

  /** Returns the passkey of a valid answer. */
  async #verifyNew(
    request: FastifyRequest,
    account: number,
    credential: NewCredential,
  ): Promise<WebAuthnCredential | undefined> {
    const challenge = await this.#takeChallenge(credential, purposeOfAdding(account));
    if (challenge === undefined) return undefined;
    const { id: expectedRPID, origins } = this.#partyOf(request);
    const { attestationObject, clientDataJSON } = credential.response;
    return readable(request, async () => {
      if (this.#hasCertificates(attestationObject)) return undefined;
      const { registrationInfo } = await this.#library.verifyRegistrationResponse({
        response: { ...credential, response: { attestationObject, clientDataJSON }, clientExtensionResults: {} },
        expectedChallenge: challenge,
        expectedOrigin: [...origins],
        expectedRPID,
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      });
      return registrationInfo?.credential;
    });
  }

  /**
   * We never ask for certificates. If some come anyway, the library might load addresses that a stranger has chosen.
   */
  #hasCertificates(attestationObject: string): boolean {
    const decoded = this.#library.decodeAttestationObject(bytes(attestationObject));
    const format = decoded.get('fmt');
    return format !== 'none' && (format !== 'packed' || decoded.get('attStmt').get('x5c') !== undefined);
  }

  /** Uses up the challenge that an answer is for, and returns it. Undefined if it was not made for the purpose. */
  async #takeChallenge(answer: NewCredential | Assertion, purpose: string): Promise<string | undefined> {
    const challenge = challengeOf(answer);
    if (challenge === undefined) return undefined;
    return (await this.#challenges.take(challenge, purpose)) ? challenge : undefined;
  }

  async #credentialsOf(request: FastifyRequest, account: number): Promise<{ id: string; transports: string[] }[]> {
    const passkeys = await this.#records.list(request.em, account);
    return passkeys.map(({ credential_id: id, transports }) => ({ id, transports: textsIn(transports) }));
  }

  #partyOf(request: FastifyRequest): RelyingParty {
    return relyingPartyOf(request, this.#relyingParty);
  }
}

/** Undefined: passkeys are off. Throws ImproperlyConfigured if `@simplewebauthn/server` is not installed. */
export async function passkeysOf({
  orm,
  model,
  accounts,
  store,
  options,
  loginWays,
}: Wiring): Promise<Passkeys | undefined> {
  const { passkeys, keyFor } = options;
  if (passkeys === undefined) return undefined;
  return new Passkeys({
    library: await loadWebAuthn(),
    records: new PasskeyRecords(checkPasskey(orm, passkeys.entity, model), accounts),
    challenges: new PasskeyChallenges(store, keyFor('challenges of passkeys')),
    relyingParty: passkeys.relyingParty,
    loginWays,
  });
}

function purposeOfAdding(account: number): string {
  return JSON.stringify({ to: 'add', account });
}

function mustVerifyUser({ to }: PasskeyPurpose): boolean {
  return to !== 'end-login';
}

/**
 * The account's handle, which an authenticator stores and shows to anybody who holds it. It contains no name or
 * address. It does not depend on a secret, so passkeys remain valid when the secret changes.
 */
function userHandle({ id }: RelyingParty, account: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(`viewset passkey\n${id}\n${account}`).digest());
}

/** Runs the library on client data. It throws all kinds of errors for data that it cannot read. */
async function readable<Result>(
  request: FastifyRequest,
  verify: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  try {
    return await verify();
  } catch (error) {
    request.log.debug({ err: error }, 'the answer of an authenticator is not good');
    return undefined;
  }
}

function bytes(base64url: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(base64url, 'base64url'));
}

/** A JSON column may hold anything. */
function textsIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
}

function shown({ id, name, created_at, last_used_at }: PasskeyEntity): ShownPasskey {
  return { id, name, created_at: created_at.toISOString(), last_used_at: last_used_at?.toISOString() ?? null };
}
