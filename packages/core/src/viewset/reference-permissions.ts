import type { FastifyRequest } from 'fastify';
import type { Awaitable } from '../awaitable.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { evaluatePermissions } from '../permissions/evaluate.ts';
import { makePermissions, type PermissionClass, type PermissionView } from '../permissions/permission.ts';
import type { Reference } from '../shapes/bound-input.ts';
import type { ReferenceGrant } from '../shapes/references.ts';

/** Tells which records the references of a request's body may lead to. */
export type ReferencePermissions = (
  request: FastifyRequest,
  reference: Reference,
) => Awaitable<ReferenceGrant | undefined>;

/**
 * Makes the permissions of references, each asked as if by a view of the entity referred to.
 *
 * @throws ImproperlyConfigured for a field that is no reference of the write shape
 */
export function referencePermissions(
  view: Pick<PermissionView, 'name' | 'getAction'>,
  references: ReadonlyMap<string, readonly Reference[]>,
  declared: Readonly<Record<string, readonly PermissionClass[] | undefined>>,
): ReferencePermissions {
  const { name } = view;
  const byReference = new Map(
    Object.entries(declared).flatMap(([field, classes = []]) => {
      const found = references.get(field) ?? [];
      const [first] = found;
      if (first === undefined) {
        const known = [...references.keys()].join(', ') || 'none';
        throw new ImproperlyConfigured(
          `${name}: option "referencePermissions" names "${field}", which is no reference of the write shape; it has: ${known}`,
        );
      }
      const target: PermissionView = { name, getAction: (request) => view.getAction(request), meta: first.target };
      const permissions = makePermissions(classes, `${name}: referencePermissions.${field}`);
      const grantOf = (request: FastifyRequest): Awaitable<ReferenceGrant> =>
        evaluatePermissions(permissions, request, target, { object: true });
      return found.map((reference) => [reference, grantOf] as const);
    }),
  );
  return (request, reference) => byReference.get(reference)?.(request);
}
