import type { FastifyRequest } from 'fastify';

/** The steps of creating a record whose mail is sent after the commit. */
export interface MailedSteps<Made, Answer> {
  /** Creates the record, in a transaction that has ended when it returns. Notes what it has made by `note`. */
  readonly create: () => Promise<Answer>;
  readonly send: (made: Made) => Promise<void>;
  /** Deletes a record whose mail was not sent. */
  readonly discard: (made: Made) => Promise<void>;
}

/**
 * Creates records whose mail is sent after the commit, so that no connection waits for the mail server, and no mail
 * speaks of a record that is rolled back.
 */
export class MailedRecords<Made> {
  readonly #made = new WeakMap<FastifyRequest, Made>();

  /** Notes the record of a request, before its transaction ends. */
  note(request: FastifyRequest, made: Made): void {
    this.#made.set(request, made);
  }

  /** Creates the record and sends its mail. If the mail is not sent, the record is deleted, and the error is thrown. */
  async create<Answer>(request: FastifyRequest, { create, send, discard }: MailedSteps<Made, Answer>): Promise<Answer> {
    const answer = await create();
    const made = this.#made.get(request)!;
    try {
      await send(made);
    } catch (error) {
      await discard(made).catch((cause: unknown) => {
        request.log.error({ err: cause }, 'a record whose mail was not sent could not be deleted');
      });
      throw error;
    }
    return answer;
  }
}
