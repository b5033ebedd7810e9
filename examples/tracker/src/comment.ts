import { IsSafeMethodOnly, ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Comment } from './entities.ts';
import { person } from './member.ts';
import { userId, WrittenByAuthor, WritesTickets } from './membership.ts';

export const comment = readShape(Comment, ['id', 'text', 'created_at'], { author: person });

export class CommentViewSet extends ModelViewSet(Comment, {
  read: comment,
  write: writeShape(Comment, ['text']),
  fill: { author: userId },
  searchFields: ['text'],
  orderingFields: { created_at: 'created_at' },
  permissionClasses: [WritesTickets, IsSafeMethodOnly.or(WrittenByAuthor)],
}) {}
