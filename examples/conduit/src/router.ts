import { Router } from '@viewset/core';
import { ArticleViewSet } from './article.ts';
import { CommentViewSet } from './comment.ts';
import { ProfileViewSet } from './profile.ts';
import { TagViewSet } from './tag.ts';
import { CurrentUserViewSet, UserViewSet } from './user.ts';

export const conduitRouter = () =>
  new Router({ prefix: 'api' })
    .register('users', UserViewSet)
    .register('user', CurrentUserViewSet)
    .register('tags', TagViewSet)
    .register('profiles', ProfileViewSet)
    .register('articles', ArticleViewSet)
    .register('articles/:article/comments', CommentViewSet);

/** The type of the API, for `createClient<Api>()` of `@viewset/client`. */
export type Api = ReturnType<typeof conduitRouter>;
