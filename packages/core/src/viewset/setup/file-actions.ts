import { Type } from 'typebox';
import { orNotFound } from '../../errors.ts';
import type { FastifyReply } from 'fastify';
import type { FileFields } from '../../files/file-field.ts';
import type { StoredFile } from '../../files/file-type.ts';
import { type Action, action, type RecordRequest, withPermissionsOf } from './action.ts';
import { filePath } from '../files/file-links.ts';
import { stateOf } from '../request/request-state.ts';
import { sendFile } from '../files/send-file.ts';

/** Finds the record of a request for one of its files. Throws NotFound if no GET shows the file to the request. */
export type FileRecord = (request: RecordRequest, reply: FastifyReply, file: string) => Promise<object>;

/**
 * Makes the routes that serve the files of a record.
 *
 * @param sent the names of the files that get a route
 */
export function fileActions(
  files: FileFields,
  sent: readonly string[],
  recordOf: FileRecord,
): ReadonlyMap<string, Action> {
  return new Map(
    [...files]
      .filter(([name]) => sent.includes(name))
      .map(([name, { store, types }]) => {
        const contentMediaType = types.join(', ');
        const bytes = Type.String({ format: 'binary', contentMediaType, description: 'The bytes of the file' });
        const responses = { 200: bytes, 206: bytes, 304: null, 416: null };
        const fileOf = async (request: RecordRequest, reply: FastifyReply): Promise<StoredFile> => {
          const record = (await recordOf(request, reply, name)) as Readonly<
            Record<string, StoredFile | null | undefined>
          >;
          return orNotFound(record[name] ?? undefined);
        };
        const send = action({ detail: true, urlPath: filePath(name), responses }, async (request, reply) => {
          for (let file = await fileOf(request, reply); ;) {
            try {
              return await sendFile(request, reply, store, file);
            } catch (error) {
              // Another request may have replaced or deleted the file after the record was read.
              forgetObject(request);
              const current = await fileOf(request, reply);
              if (current.key === file.key) throw error;
              file = current;
            }
          }
        });
        return [name, withPermissionsOf('retrieve', send)];
      }),
  );
}

/** Makes the next lookup read the record again. */
function forgetObject(request: RecordRequest): void {
  stateOf(request).object = undefined;
  request.em.clear();
}
