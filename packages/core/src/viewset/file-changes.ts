import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FileField, FileFields } from '../files/file-field.ts';
import type { StoredFile } from '../files/file-type.ts';
import { isGivenUp } from '../given-up.ts';
import { StagedFile } from '../files/staged-file.ts';

interface KeptFile {
  readonly field: FileField;
  readonly key: string;
}

/** The files that the write of one request stores, and those that nothing refers to once the write is committed. */
class FileChanges {
  readonly #stored: KeptFile[] = [];
  readonly #obsolete: KeptFile[] = [];
  #isUndone = false;

  async store(field: FileField, staged: StagedFile): Promise<StoredFile> {
    const file = await staged.store();
    this.#stored.push({ field, key: file.key });
    // A request that was given up has no effect, however long its hooks go on.
    if (this.#isUndone) await this.settle(false);
    return file;
  }

  drop(field: FileField, { key }: StoredFile): void {
    this.#obsolete.push({ field, key });
  }

  /** Deletes what the end of the transaction makes superfluous. A file that cannot be deleted now stays, and the log says which. */
  async settle(isCommitted: boolean, log?: FastifyRequest['log']): Promise<void> {
    this.#isUndone = !isCommitted;
    const superfluous = (isCommitted ? this.#obsolete : this.#stored).splice(0);
    for (const { field, key } of superfluous) {
      await field.store
        .delete(key)
        .catch((err: unknown) => log?.warn({ err, key }, 'a file that nothing refers to is left'));
    }
  }
}

const changes = new WeakMap<FastifyRequest, FileChanges>();

function changesOf(request: FastifyRequest): FileChanges {
  let known = changes.get(request);
  if (known === undefined) changes.set(request, (known = new FileChanges()));
  return known;
}

/** Stores the files of a body, and puts what the record keeps of each in the place of it. */
export async function storeFiles(request: FastifyRequest, fields: FileFields, data: object): Promise<object> {
  const stored: Record<string, unknown> = { ...data };
  for (const [name, field] of fields) {
    const staged = stored[name];
    if (staged instanceof StagedFile) stored[name] = await changesOf(request).store(field, staged);
  }
  return stored;
}

/**
 * Has the files of a record deleted once the write is committed.
 *
 * @param data the fields that an update replaces; default: all, because the record is deleted
 */
export function dropFiles(request: FastifyRequest, fields: FileFields, entity: object, data?: object): void {
  for (const [name, field] of fields) {
    const file = (entity as Record<string, StoredFile | null | undefined>)[name];
    if (file && (data === undefined || name in data)) changesOf(request).drop(field, file);
  }
}

/** Deletes the files that a write has stored which is run anew. */
export async function undoFiles(request: FastifyRequest): Promise<void> {
  const undone = changes.get(request);
  changes.delete(request);
  await undone?.settle(false, request.log);
}

/**
 * Runs a write with its transaction, and deletes the files that its end makes superfluous: of a write that fails those that it
 * has stored, of one that is committed those that it has replaced. In a transaction of the application's own, the status of the
 * answer tells how that one has ended.
 */
export async function settlingFiles<Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  fields: FileFields,
  write: () => Promise<Result>,
): Promise<Result> {
  if (fields.size === 0) return write();
  const { log } = request;
  const isInner = request.em.isInTransaction();
  try {
    const result = await write();
    if (isInner) reply.raw.once('close', () => settleByAnswer(request, reply));
    else await changes.get(request)?.settle(true, log);
    return result;
  } catch (error) {
    await changes.get(request)?.settle(false, log);
    throw error;
  }
}

/** Settles by the status of the answer; without a whole one, what the transaction refers to is unknown, and all files stay. */
function settleByAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const { log } = request;
  const isAnswered = reply.raw.writableFinished && !isGivenUp(request);
  if (isAnswered) void changes.get(request)?.settle(reply.statusCode < 400, log);
  else if (changes.has(request)) log.warn('files that nothing refers to may be left: the request was given up');
}
