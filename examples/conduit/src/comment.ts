import { IsOwner, ModelViewSet, PageNumberPagination, readShape, writeShape } from '@viewset/core';
import { Comment } from './entities.ts';
import { profile } from './profile.ts';

/** The comments of an article. */
export class CommentViewSet extends ModelViewSet(Comment, {
  read: readShape(Comment, ['id', 'body', 'createdAt', 'updatedAt'], { author: profile }),
  write: writeShape(Comment, ['body']),
  operations: ['list', 'create', 'destroy'],
  // The specification has no pages here. One page without end would be a list that a client can make as long as it likes.
  pagination: PageNumberPagination,
  pageSize: 1000,
  maxPageSize: 1000,
  envelope: { one: 'comment', many: 'comments' },
  allowAnonymous: true,
  permissionClasses: [IsOwner('author')],
}) {}
