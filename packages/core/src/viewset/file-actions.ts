import { Type } from 'typebox';
import { NotFound } from '../errors.ts';
import type { FileFields } from '../files/file-field.ts';
import type { StoredFile } from '../files/file-type.ts';
import { type Action, action, kebabCase, type RecordRequest } from './action.ts';
import { stateOf } from './request-state.ts';
import { sendFile } from './send-file.ts';

/** Returns the path of a file's route below its record, which links to the file lead to whatever paths a router makes of names. */
export function filePath(field: string): string {
  return kebabCase(field);
}

const BYTES = Type.String({ contentMediaType: 'application/octet-stream', description: 'The bytes of the file' });

/** Makes the routes that send the files of a record, to whom the record may be shown. */
export function fileActions(
  files: FileFields | undefined,
  getObject: (request: RecordRequest) => Promise<object>,
): ReadonlyMap<string, Action> {
  const responses = { 200: BYTES, 206: BYTES, 304: null, 416: null };
  return new Map(
    [...(files ?? [])].map(([name, { store }]) => {
      const fileOf = async (request: RecordRequest): Promise<StoredFile> => {
        const record = (await getObject(request)) as Readonly<Record<string, StoredFile | null | undefined>>;
        return record[name] ?? notFound();
      };
      const send = action({ detail: true, urlPath: filePath(name), responses }, async (request, reply) => {
        for (let file = await fileOf(request); ;) {
          try {
            return await sendFile(request, reply, store, file);
          } catch (error) {
            // Another request may have replaced or deleted the file since the record was read.
            forgetObject(request);
            const current = await fileOf(request);
            if (current.key === file.key) throw error;
            file = current;
          }
        }
      });
      return [name, send];
    }),
  );
}

function notFound(): never {
  throw new NotFound();
}

/** Has the record of a request read anew. */
function forgetObject(request: RecordRequest): void {
  stateOf(request).object = undefined;
  request.em.clear();
}
