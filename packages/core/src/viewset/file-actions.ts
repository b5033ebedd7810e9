import { Type } from 'typebox';
import { NotFound } from '../errors.ts';
import type { FileFields } from '../files/file-field.ts';
import type { StoredFile } from '../files/file-type.ts';
import { type Action, action, kebabCase, type RecordRequest } from './action.ts';
import { sendFile } from './send-file.ts';

/** Returns the path of a file's route below its record, which links to the file lead to whatever paths a router makes of names. */
export function filePath(field: string): string {
  return kebabCase(field);
}

export const NO_FILES: FileFields = new Map();

const BYTES = Type.String({ contentMediaType: 'application/octet-stream', description: 'The bytes of the file' });

/** Makes the routes that send the files of a record, to whom the record may be shown. */
export function fileActions(
  files: FileFields,
  getObject: (request: RecordRequest) => Promise<object>,
): ReadonlyMap<string, Action> {
  return new Map(
    [...files].map(([name, { store }]) => [
      name,
      action(
        { detail: true, urlPath: filePath(name), responses: { 200: BYTES, 206: BYTES, 304: null, 416: null } },
        async (request, reply) => {
          const record = (await getObject(request)) as Readonly<Record<string, StoredFile | null | undefined>>;
          const file = record[name];
          if (!file) throw new NotFound();
          return sendFile(request, reply, store, file);
        },
      ) as Action,
    ]),
  );
}
