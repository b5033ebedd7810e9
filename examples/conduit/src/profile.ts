import { action, exists, IsAuthenticated, ModelViewSet, readShape } from '@viewset/core';
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
    { answers: 'record', methods: ['post', 'delete'], detail: true, permissionClasses: [IsAuthenticated] },
    async (request, reply) => {
      const followed = await this.getObject(request);
      await tie(request, Follow, { followed, follower: request.user.id });
      return this.retrieve(request, reply);
    },
  );
}
