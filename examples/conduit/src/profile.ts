import { action, exists, IsAuthenticated, ModelViewSet, readShape } from '@viewset/core';
import { Type } from 'typebox';
import { Follow, User } from './entities.ts';
import { tie } from './tie.ts';

/** A user as others see one. */
export const profile = readShape(User, ['username', 'bio', 'image'], {
  following: exists('followers', ({ user }) => user && { follower: user.id }),
});

export class ProfileViewSet extends ModelViewSet(User, {
  read: profile,
  lookupField: 'username',
  operations: ['retrieve'],
  envelope: { one: 'profile' },
  allowAnonymous: true,
}) {
  follow = action(
    {
      methods: ['post', 'delete'],
      detail: true,
      permissionClasses: [IsAuthenticated],
      response: Type.Object({ profile: profile.schema }),
    },
    async (request) => {
      const followed = await this.getObject(request);
      await tie(request, Follow, { followed, follower: request.user.id });
      return { profile: await this.represent(followed, request) };
    },
  );
}
