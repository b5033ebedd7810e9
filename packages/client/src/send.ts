import { ApiError } from './api-error.ts';
import { type ApiRequest, createExchange, type Success } from './exchange.ts';
import { KeptAnswers } from './kept-answers.ts';
import type { ClientOptions } from './options.ts';
import { Tokens } from './tokens.ts';
import { sleep, unlessAborted, waitMsAfter } from './waiting.ts';

/** Sends a request until it succeeds or must not be repeated. Throws ApiError if it does not succeed. */
export type Send = (request: ApiRequest) => Promise<Success>;

/** Makes the function that sends a client's requests with its tokens, and repeats them if that may help. */
export function createSend(client: ClientOptions): Send {
  const { retries: retriesOfGet = 2, maxRetryWaitMs = 10_000 } = client;
  const tokens = new Tokens(client.token, client.refresh);
  const kept = new KeptAnswers(client.keptAnswers ?? 100);
  const exchange = createExchange(client, kept);
  return async (request) => {
    const { signal, token: fixed, retries = request.method === 'GET' ? retriesOfGet : 0 } = request.options;
    let token = fixed === undefined ? await unlessAborted(tokens.current(), signal) : fixed;
    let isRenewed = fixed !== undefined;
    let retry = 0;
    for (;;) {
      const answer = await exchange(request, token);
      if (!(answer instanceof ApiError)) return answer;
      if (!isRenewed && tokens.isRefused(answer, token)) {
        isRenewed = true;
        const fresh = await unlessAborted(tokens.renew(token), signal).catch((cause: unknown) => {
          signal?.throwIfAborted();
          throw Object.assign(answer, { cause });
        });
        kept.handOver(token, fresh);
        token = fresh;
        continue;
      }
      const waitMs = waitMsAfter(answer, retry++);
      if (retry > retries || waitMs === undefined || waitMs > maxRetryWaitMs) throw answer;
      await sleep(waitMs, signal);
    }
  };
}
