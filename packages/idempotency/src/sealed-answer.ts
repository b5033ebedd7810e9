import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, randomBytes } from 'node:crypto';
import type { SentAnswer } from '@viewset/core';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Makes the id of a key's record. It does not reveal the key. */
export function recordId(account: string, route: string, key: string): string {
  return hash('sha256', JSON.stringify([account, route, key]), 'hex');
}

/** Hashes a request. Only somebody who has the key can check a guess against the hash. */
export function fingerprintOf(key: string, content: string): string {
  return createHmac('sha256', key).update(content).digest('hex');
}

/** Encrypts an answer with the key of its request. */
export function seal(key: string, id: string, { status, headers, body }: SentAnswer): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, secretOf(key, id), iv);
  const isText = typeof body === 'string';
  const text = JSON.stringify({ status, headers, isText, body: isText ? body : (body?.toString('base64') ?? null) });
  const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
}

/** Decrypts an answer. Throws if `seal` did not make it with this key and record id. */
export function unseal(key: string, id: string, text: string): SentAnswer {
  const bytes = Buffer.from(text, 'base64');
  const decipher = createDecipheriv(CIPHER, secretOf(key, id), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  const { status, headers, isText, body } = JSON.parse(opened.toString()) as Stored;
  return { status, headers, body: isText || body === null ? body : Buffer.from(body, 'base64') };
}

interface Stored {
  readonly status: number;
  readonly headers: SentAnswer['headers'];
  /** False: the body is base64. */
  readonly isText: boolean;
  readonly body: string | null;
}

function secretOf(key: string, id: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, id, 'viewset idempotency', 32));
}
