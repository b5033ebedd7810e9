import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { Assertion, NewCredential } from '../../src/passkeys/passkey-answers.ts';

/** What an answer differs in from a good one. */
export interface Tampering {
  readonly challenge?: string;
  readonly origin?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly rpId?: string;
  readonly counter?: number;
  readonly credentialId?: string;
  readonly userHandle?: string | undefined;
  /** False: the user was asked for nothing but a touch. */
  readonly isVerified?: boolean;
  readonly isPresent?: boolean;
  readonly key?: KeyObject;
  readonly attestation?: { fmt: string; attStmt: Buffer };
}

interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
}

interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
}

/** An authenticator in software, with the browser in front of it: it can do what no browser would. */
export class Authenticator {
  readonly #pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #origin: string;
  readonly id: string;
  #userHandle = '';
  counter = 0;

  constructor(origin: string, id: Buffer = randomBytes(32)) {
    this.#origin = origin;
    this.id = id.toString('base64url');
  }

  create({ challenge, rp, user }: CreationOptions, tampering: Tampering = {}): NewCredential {
    this.#userHandle = user.id;
    const { fmt = 'none', attStmt = map([]) } = tampering.attestation ?? {};
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.from([id.length >> 8, id.length & 255]);
    const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKey(this.#pair.publicKey)]);
    const authData = Buffer.concat([this.#data(rp.id, tampering, 0x40), attested]);
    const object = map([
      [text('fmt'), text(fmt)],
      [text('attStmt'), attStmt],
      [text('authData'), byteString(authData)],
    ]);
    return {
      ...this.#credential(tampering),
      response: {
        clientDataJSON: this.#clientData('webauthn.create', challenge, tampering).toString('base64url'),
        attestationObject: object.toString('base64url'),
        transports: ['internal'],
      },
    };
  }

  get({ challenge, rpId }: RequestOptions, tampering: Tampering = {}): Assertion {
    this.counter++;
    const clientData = this.#clientData('webauthn.get', challenge, tampering);
    const authenticatorData = this.#data(rpId, tampering);
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()]);
    const signature = sign('sha256', signed, tampering.key ?? this.#pair.privateKey);
    const { userHandle } = { userHandle: this.#userHandle, ...tampering };
    return {
      ...this.#credential(tampering),
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: signature.toString('base64url'),
        ...(userHandle !== undefined && { userHandle }),
      },
    };
  }

  #credential({ credentialId: id = this.id }: Tampering) {
    return {
      id,
      rawId: id,
      type: 'public-key' as const,
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    };
  }

  #clientData(expectedType: string, given: string, tampering: Tampering): Buffer {
    const { type = expectedType, challenge = given, origin = this.#origin, crossOrigin = false } = tampering;
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin }));
  }

  #data(
    rpId: string,
    { rpId: other = rpId, isVerified = true, isPresent = true, counter }: Tampering,
    flags = 0,
  ): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter ?? this.counter);
    const all = flags | (isPresent ? 1 : 0) | (isVerified ? 4 : 0);
    return Buffer.concat([createHash('sha256').update(other).digest(), Buffer.from([all]), count]);
  }
}

/** CBOR (RFC 8949), as much of it as an authenticator needs. */
export function map(entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([head(5, entries.length), ...entries.flat()]);
}

export function list(items: readonly Buffer[]): Buffer {
  return Buffer.concat([head(4, items.length), ...items]);
}

export function text(value: string): Buffer {
  return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
}

export function byteString(value: Buffer): Buffer {
  return Buffer.concat([head(2, value.length), value]);
}

export function integer(value: number): Buffer {
  return value >= 0 ? head(0, value) : head(1, -1 - value);
}

function head(type: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(type << 5) | value]);
  if (value < 256) return Buffer.from([(type << 5) | 24, value]);
  return Buffer.from([(type << 5) | 25, value >> 8, value & 255]);
}

function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return map([
    [integer(1), integer(2)],
    [integer(3), integer(-7)],
    [integer(-1), integer(1)],
    [integer(-2), byteString(Buffer.from(x, 'base64url'))],
    [integer(-3), byteString(Buffer.from(y, 'base64url'))],
  ]);
}
