import { Type } from 'typebox';
import { orNotFound } from '../../errors/errors.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FileFields } from '../../files/file-field.ts';
import type { StoredFile } from '../../files/file-type.ts';
import { type Action, action, withTraits, type RecordRequest } from '../../view/setup/action.ts';
import type { FeaturedView } from '../../view/setup/feature.ts';
import { SHOWN_RECORDS } from '../../view/records/shown-records.ts';
import { filePath } from '../../view/files/file-links.ts';
import { stateOf } from '../../view/request/request-state.ts';
import { sendFile } from './send-file.ts';

/**
 * Makes the routes that serve the files of a record.
 *
 * @param sent the names of the files that get a route
 */
export function fileActions(
  view: FeaturedView,
  files: FileFields,
  sent: readonly string[],
): ReadonlyMap<string, Action> {
  return new Map(
    [...files]
      .filter(([name]) => sent.includes(name))
      .map(([name, { store, types }]) => {
        const contentMediaType = types.join(', ');
        const bytes = Type.String({ format: 'binary', contentMediaType, description: 'The bytes of the file' });
        const responses = { 200: bytes, 206: bytes, 304: null, 416: null };
        const fileOf = async (request: RecordRequest, reply: FastifyReply): Promise<StoredFile> => {
          const record = (await view[SHOWN_RECORDS].findForFile(request, reply, name)) as Readonly<
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
        const permit = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
          await view[SHOWN_RECORDS].findForFile(request, reply, name);
        };
        return [name, withTraits(send, { permissionsOf: 'retrieve', sendsFile: true, permit })];
      }),
  );
}

/** Makes the next lookup read the record again. */
function forgetObject(request: RecordRequest): void {
  stateOf(request).object = undefined;
  request.em.clear();
}
