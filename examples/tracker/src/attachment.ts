import { file, type FileStore, IsSafeMethodOnly, ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Attachment } from './entities.ts';
import { userId, WrittenByAuthor, WritesTickets } from './membership.ts';

export const attachment = readShape(Attachment, ['id', 'file']);

/** Users who may write tickets may attach files to them, and remove their files. */
export const attachmentViewSet = (store: FileStore) =>
  class AttachmentViewSet extends ModelViewSet(Attachment, {
    read: readShape(Attachment, ['id', 'file', 'created_at'], { author: 'author.name' }),
    write: writeShape(Attachment, [], {
      file: file({ store, maxBytes: 10_000_000, types: ['image/*', 'application/pdf', 'text/plain'] }),
    }),
    fill: { author: userId },
    operations: ['list', 'create', 'retrieve', 'destroy'],
    permissionClasses: [WritesTickets, IsSafeMethodOnly.or(WrittenByAuthor)],
  }) {};
