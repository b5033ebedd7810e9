import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 24;

/** Makes a secret: `whsec_` and 24 random bytes in base64. */
export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/**
 * Signs a message with the symmetric scheme of Standard Webhooks: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in
 * base64.
 */
export function sign(secret: string, id: string, timestamp: number, body: string): string {
  return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
}

/** The error for a webhook with a wrong signature or a timestamp too far from now. */
export class InvalidWebhook extends Error {
  override readonly name = 'InvalidWebhook';
}

/** A received webhook, and the secret to check it with. */
export interface ReceivedWebhook {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body exactly as received. Parsing and serializing it again would change the signature. */
  readonly body: string | Uint8Array;
  /** The secret of the subscription, `whsec_…`. */
  readonly secret: string;
  /** The most seconds that the timestamp may differ from now, because of clocks and transport. Default: 300. */
  readonly toleranceSeconds?: number;
}

/** The body of a webhook. */
export interface WebhookPayload {
  readonly type: string;
  /** The time of the event. */
  readonly timestamp: string;
  readonly data: unknown;
}

/**
 * Checks a received webhook by the headers of Standard Webhooks, and returns its payload. Works with any sender that
 * signs with `v1`. A webhook may arrive twice, with the same `webhook-id` header.
 *
 * @throws InvalidWebhook if the signature is wrong or the timestamp too far from now; TypeError if the secret has no
 * key, or the body is already parsed
 * @example
 * app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
 * app.post('/hook', async ({ headers, body }) => {
 *   const { type, data } = verifyWebhook({ headers, body: String(body), secret: process.env['WEBHOOK_SECRET']! });
 *   console.log(type, data);
 *   return {};
 * });
 */
export function verifyWebhook(received: ReceivedWebhook): WebhookPayload {
  checkReceived(received);
  const { headers, body, secret, toleranceSeconds = 300 } = received;
  const [id, time, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  if (typeof id !== 'string' || typeof time !== 'string' || typeof signatures !== 'string') {
    throw new InvalidWebhook('the headers webhook-id, webhook-timestamp and webhook-signature are required');
  }
  const timestamp = /^\d{1,12}$/.test(time) ? Number(time) : Number.NaN;
  const isTimely = Math.abs(Date.now() / 1000 - timestamp) <= toleranceSeconds;
  if (!isTimely) throw new InvalidWebhook('webhook-timestamp is too far from now');
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  const expected = Buffer.from(sign(secret, id, timestamp, text));
  const isSigned = signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isSigned) throw new InvalidWebhook('no signature fits the secret and the body as it was received');
  return JSON.parse(text) as WebhookPayload;
}

function checkReceived({ body, secret, toleranceSeconds }: ReceivedWebhook): void {
  // Anybody can sign with an empty key, such as an unset variable.
  if (typeof secret !== 'string' || keyOf(secret).length === 0) {
    throw new TypeError('verifyWebhook(): "secret" must be the secret of the subscription, whsec_ and a key in base64');
  }
  // A request may have no body, whatever its headers say.
  if (body === undefined || body === null) throw new InvalidWebhook('the webhook has no body');
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError(
      'verifyWebhook(): "body" must be the text or the bytes as they were received, not what was parsed from them',
    );
  }
  if (toleranceSeconds !== undefined && !(typeof toleranceSeconds === 'number' && toleranceSeconds >= 0)) {
    throw new TypeError(`verifyWebhook(): "toleranceSeconds" must be a number, got ${String(toleranceSeconds)}`);
  }
}
