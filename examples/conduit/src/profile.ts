import { action, exists, IsAuthenticated, IsSafeMethodOnly, ModelViewSet, readShape } from '@viewset/core';
import { Type } from 'typebox';
import { User } from './entities.ts';
import { me } from './user.ts';

export const profile = readShape(User, ['username', 'bio', 'image'], { following: exists('followers', me) });

export class ProfileViewSet extends ModelViewSet(User, {
  read: profile,
  lookupField: 'username',
  operations: ['retrieve'],
  envelope: { one: 'profile' },
  allowAnonymous: true,
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
}) {
  follow = action(
    { methods: ['post', 'delete'], detail: true, response: Type.Object({ profile: profile.schema }) },
    async (request) => {
      const { followers } = await this.getObject(request);
      await setMember(followers, request);
      return { profile: await this.retrieve(request) };
    },
  );
}
