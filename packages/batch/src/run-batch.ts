import { inTransaction, InvalidUsage, isTransactionLost } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { BatchFailed, endsBatch, type Failure, statusOf } from './batch-failed.ts';
import type { BatchAnswer, BatchOperation } from './operation.ts';
import { eachReference, idIn, BadReference, References, referencesInPath } from './references.ts';
import { type ReadyOperation, sendOperation, type SentOperation } from './send-operation.ts';

/** A batch that has passed the checks without a database. */
export interface Batch {
  readonly request: FastifyRequest;
  readonly operations: readonly BatchOperation[];
  /** The base of the operations' paths. */
  readonly base: string;
  readonly maxBytes: number;
  /** The most bytes of all responses together. */
  readonly maxResponseBytes: number;
}

/**
 * The operations that throttles have counted, by request. A transaction may run again, but must not count them twice.
 */
const counted = new WeakMap<FastifyRequest, Set<number>>();

/**
 * Runs the operations of a batch in order, in one transaction.
 *
 * @throws BatchFailed if an operation fails; nothing is stored then
 */
export async function runBatch(batch: Batch): Promise<BatchAnswer[]> {
  let answers: BatchAnswer[] = [];
  try {
    return await inTransaction(batch.request, async () => {
      answers = [];
      let bytesLeft = batch.maxResponseBytes;
      for (const index of batch.operations.keys()) {
        const { answer, bytes } = await runOperation(batch, index, answers, bytesLeft);
        bytesLeft -= bytes;
        answers.push(answer);
      }
      return answers;
    });
  } catch (error) {
    if (!(error instanceof OperationFailed)) throw error;
    const { failure } = error;
    const others = endsBatch(statusOf(failure)) ? [] : await otherFaults(batch, failure.index, answers);
    throw new BatchFailed([failure, ...others]);
  }
}

/** The error that rolls back the transaction of a batch. */
class OperationFailed extends BatchFailed {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super([failure]);
    this.failure = failure;
  }
}

/** @param bytesLeft the most bytes that the response may have */
async function runOperation(
  batch: Batch,
  index: number,
  answers: readonly BatchAnswer[],
  bytesLeft: number,
): Promise<{ readonly answer: BatchAnswer; readonly bytes: number }> {
  const { id } = batch.operations[index]!;
  const sent = await attempt(batch, index, answers, false);
  // The transaction is that of the whole batch, and is repeated.
  if (isTransactionLost(sent.error)) throw sent.error!;
  if (sent.status >= 400) throw new OperationFailed(failureOf(batch, index, sent));
  const { status, headers, bytes } = sent;
  if (bytes > bytesLeft) throw new OperationFailed(failureOf(batch, index, tooLarge(batch)));
  const answer = { ...(id !== undefined && { id }), status, headers, ...('body' in sent && { body: sent.body }) };
  return { answer, bytes };
}

/**
 * Checks the operations after a failed one, up to their handlers, and lists those that give 400. Skips
 * operations that refer to a missing answer, because they cannot be checked. Ignores other failures, because the
 * rollback may have caused them. Anything that hooks write meanwhile is rolled back as well.
 */
async function otherFaults(batch: Batch, failed: number, answers: readonly BatchAnswer[]): Promise<Failure[]> {
  const known = new Set(answers.map(({ id }) => id));
  const work = async (): Promise<Failure[]> => {
    const failures: Failure[] = [];
    for (let index = failed + 1; index < batch.operations.length; index++) {
      if (idsIn(batch.operations[index]!).some((id) => !known.has(id))) continue;
      const sent = await attempt(batch, index, answers, true);
      if (endsBatch(statusOf(sent))) break;
      if (statusOf(sent) === 400) failures.push(failureOf(batch, index, sent));
    }
    return failures;
  };
  try {
    return await inTransaction(batch.request, work, () => false);
  } catch (err) {
    batch.request.log.debug({ err }, 'the other operations of a batch could not be checked');
    return [];
  }
}

/** Sends an operation. A bad reference becomes its failure. */
async function attempt(
  batch: Batch,
  index: number,
  answers: readonly BatchAnswer[],
  isOnlyChecked: boolean,
): Promise<SentOperation> {
  const known = counted.get(batch.request) ?? new Set();
  counted.set(batch.request, known);
  let ready: ReadyOperation;
  try {
    ready = readyOperation(batch, batch.operations[index]!, answers);
  } catch (error) {
    if (error instanceof BadReference) return refused(error);
    throw error;
  }
  const isCounted = !known.has(index);
  known.add(index);
  return sendOperation(batch.request, ready, { isCounted, isOnlyChecked });
}

function readyOperation({ base, maxBytes }: Batch, operation: BatchOperation, answers: readonly BatchAnswer[]) {
  const { method, path, headers, body } = operation;
  const byId = new Map(answers.flatMap((answer) => (answer.id === undefined ? [] : [[answer.id, answer] as const])));
  const references = new References(byId, maxBytes);
  return {
    method,
    url: base + references.inPath(path),
    ...(headers && { headers }),
    ...('body' in operation && { body: references.inBody(body) }),
  };
}

function idsIn({ path, body }: BatchOperation): string[] {
  const references = referencesInPath(path);
  eachReference(body, (reference) => references.push(reference));
  return references.map((reference) => idIn(reference)!);
}

function refused({ place, message }: BadReference): SentOperation {
  return sentError(new InvalidUsage(`Invalid reference: ${message}`, { details: [{ in: place, path: '', message }] }));
}

function tooLarge({ maxResponseBytes }: Batch): SentOperation {
  const message = `the responses of the batch exceed ${maxResponseBytes} bytes; send fewer operations, or request smaller pages`;
  return sentError(new InvalidUsage(message, { details: [{ in: 'params', path: '', message }] }));
}

function sentError(error: InvalidUsage): SentOperation {
  return { status: error.statusCode, headers: {}, body: error.toBody(), bytes: 0, allHeaders: {}, error };
}

function failureOf({ operations }: Batch, index: number, { status, body, allHeaders, error }: SentOperation): Failure {
  const { id } = operations[index]!;
  return { index, ...(id !== undefined && { id }), status, body: body ?? null, headers: allHeaders, error };
}
