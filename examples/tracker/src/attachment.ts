import { file, type FileStore, IsSafeMethodOnly, ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Attachment } from './entities.ts';
import { AttachmentsOfOwnProjects, userId, WritableTickets, WrittenByAuthor } from './membership.ts';

export const attachment = readShape(Attachment, ['id', 'file']);

/** Whoever writes tickets may attach files to it, and take their own away. */
export const attachmentViewSet = (store: FileStore) =>
  class AttachmentViewSet extends ModelViewSet(Attachment, {
    read: readShape(Attachment, ['id', 'file', 'created_at'], { ticket: 'ticket.id', author: 'author.name' }),
    write: writeShape(Attachment, ['ticket'], {
      file: file({ store, maxBytes: 10_000_000, types: ['image/*', 'application/pdf', 'text/plain'] }),
    }),
    fill: { author: userId },
    operations: ['list', 'create', 'retrieve', 'destroy'],
    filterFields: { ticket: 'ticket' },
    permissionClasses: [AttachmentsOfOwnProjects, IsSafeMethodOnly.or(WrittenByAuthor)],
    referencePermissions: { ticket: [WritableTickets] },
  }) {};
