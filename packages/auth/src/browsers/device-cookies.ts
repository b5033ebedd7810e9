import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hostCookie, readCookies, setCookie } from './cookies.ts';
import type { KeyRing } from '../secrets/key-ring.ts';

const NAME = 'device';
/** A browser remembers at most this many accounts, the latest ones. */
const MAX_ACCOUNTS = 5;
/** Browsers keep no cookie for longer. */
const LIFETIME_SECONDS = 400 * 86_400;
const VALUE = /^([\w-]{22})((?:\.[\w-]{43}){1,5})$/;

interface Device {
  readonly id: string;
  /** One for each account that has logged in there. */
  readonly proofs: readonly string[];
}

/**
 * Device cookies (OWASP): a browser that has logged into an account keeps a proof of it. Its wrong passwords are
 * counted separately, so other clients cannot block it. The server stores nothing; proofs are keyed hashes of device and
 * address.
 *
 * @see https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 */
export class DeviceCookies {
  readonly #keys: KeyRing;

  constructor(keys: KeyRing) {
    this.#keys = keys;
  }

  /** Returns the device of a request if it has logged into the address's account; undefined for unknown devices. */
  knownDevice(request: FastifyRequest, address: string): string | undefined {
    return this.#devices(request).find((device) => this.#hasProof(device, address))?.id;
  }

  /** Makes the browser remember a login to the address's account. */
  remember(request: FastifyRequest, reply: FastifyReply, address: string): void {
    const devices = this.#devices(request);
    const { id, proofs } = devices[0] ?? { id: randomBytes(16).toString('base64url'), proofs: [] };
    const proof = this.#keys.hash(textOf(id, address));
    const others = proofs.filter((each) => !this.#keys.made(each, textOf(id, address))).slice(0, MAX_ACCOUNTS - 1);
    setCookie(request, reply, hostCookie(request, NAME), [id, proof, ...others].join('.'), LIFETIME_SECONDS);
  }

  #devices(request: FastifyRequest): Device[] {
    return readCookies(request, hostCookie(request, NAME).name).flatMap((value) => {
      const [, id, proofs = ''] = VALUE.exec(value) ?? [];
      return id === undefined ? [] : [{ id, proofs: proofs.split('.').slice(1) }];
    });
  }

  #hasProof({ id, proofs }: Device, address: string): boolean {
    return proofs.some((proof) => this.#keys.made(proof, textOf(id, address)));
  }
}

function textOf(device: string, address: string): string {
  return `${device}\n${address}`;
}
