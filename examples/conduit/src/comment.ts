import { IsOwner, ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Comment } from './entities.ts';
import { profile } from './profile.ts';

/** The comments of an article. */
export class CommentViewSet extends ModelViewSet(Comment, {
  read: readShape(Comment, ['id', 'body', 'createdAt', 'updatedAt'], { author: profile }),
  write: writeShape(Comment, ['body']),
  operations: ['list', 'create', 'destroy'],
  pagination: null,
  envelope: { one: 'comment', many: 'comments' },
  allowAnonymous: true,
  permissionClasses: [IsOwner('author')],
}) {}
