import type { HttpError } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { wrongCode } from './request-body.ts';
import type { TakenCode, VerificationCodes } from '../codes/verification-codes.ts';

/** A code in a request. */
export interface SentCode {
  /** The key under which the code is stored: an address, or the key that `issue` got instead. */
  readonly key: string;
  readonly code: string;
  /** A device that has logged into the account before. */
  readonly device?: string | undefined;
  /** True if the code has a note. */
  readonly isNoted?: boolean;
  /** The security event of a wrong code. */
  readonly event: string;
  /** Makes the error of a wrong code. Default: InvalidUsage that names `code`. */
  readonly refused?: () => HttpError;
}

/**
 * Does what a code confirms. Takes the code before anything else: of several requests with one code, only one
 * continues, and without the code nothing is revealed. If the work fails, the code is restored.
 *
 * @param work gets the code's note
 * @throws InvalidUsage, or the error of `refused`, for a wrong code, and TooManyRequests while the key is blocked because of wrong codes
 */
export async function useCode<Result>(
  request: FastifyRequest,
  codes: VerificationCodes,
  { key, code, device, isNoted = false, event, refused }: SentCode,
  work: (note: string) => Promise<Result>,
): Promise<Result> {
  const taken = isNoted ? await codes.takeNoted(key, code, device) : await codes.take(key, code, device);
  if (taken === undefined) throw refused?.() ?? wrongCode('is wrong or has expired', event);
  try {
    return await work(taken.note);
  } catch (error) {
    await restore(request, codes, { key, code, taken });
    throw error;
  }
}

/** The client hears of the failure of the work; of the loss of the code too, only the log. */
async function restore(
  request: FastifyRequest,
  codes: VerificationCodes,
  { key, code, taken }: { key: string; code: string; taken: TakenCode },
): Promise<void> {
  try {
    await codes.restore(key, code, taken);
  } catch (error) {
    request.log.warn({ err: error }, 'a verification code could not be put back after its use had failed');
  }
}
