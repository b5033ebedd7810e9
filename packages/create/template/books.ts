import { IsAuthenticated, IsSafeMethodOnly, ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Type } from 'typebox';
import { Book } from './entities.ts';

export class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'pages']),
  write: writeShape(Book, ['title'], { pages: Type.Integer({ minimum: 1, maximum: 10_000 }) }),
  searchFields: ['title'], // ?search=emma
  filterFields: { min_pages: 'pages__gte', max_pages: 'pages__lte' }, // ?min_pages=300
  orderingFields: { title: 'title', pages: 'pages' }, // ?sort=-pages,title
  ordering: ['title'], // the order without ?sort
  // if accounts
  // Everybody may read books, users may write them. Without these two lines, reading needs a login too.
  allowAnonymous: true,
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
  // end
}) {}
