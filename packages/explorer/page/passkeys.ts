import type { Api } from './api-model.ts';
import { Refusal, send } from './exchanges.ts';
import { beginSession } from './logins.ts';
import { texts } from '../src/texts.ts';

/** True if the API logs people in with passkeys, and the browser has them. */
export function hasPasskeyLogin({ account }: Api): boolean {
  return account.passkeyLogin !== undefined && account.passkeyLoginOptions !== undefined && hasPasskeys();
}

/** True if the browser reads the options of an API by itself. */
export function hasPasskeys(): boolean {
  return typeof window.PublicKeyCredential?.parseCreationOptionsFromJSON === 'function';
}

/** Has the browser make a passkey. Throws Refusal if the person or the device refuses. */
export function createPasskey(options: unknown): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never);
  return answered(navigator.credentials.create({ publicKey }));
}

/** Logs in with a passkey of this device. Throws Refusal. */
export async function logInWithPasskey({ account }: Api): Promise<void> {
  const { passkeyLoginOptions: options, passkeyLogin: login } = account;
  const { body } = await send({ operation: options!, url: options!.path });
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(body as never);
  const passkey = await answered(navigator.credentials.get({ publicKey }));
  beginSession((await send({ operation: login!, url: login!.path, body: { passkey } })).body);
}

async function answered(asking: Promise<Credential | null>): Promise<unknown> {
  try {
    return ((await asking) as PublicKeyCredential).toJSON();
  } catch (error) {
    const isKnown = (error as DOMException).name === 'InvalidStateError';
    throw new Refusal(400, 'passkey', isKnown ? texts.passkeyKnown : texts.passkeyRefused);
  }
}
