import type { FastifyRequest } from 'fastify';
import { getCurrentUser } from '../current-user.ts';
import { Permission } from './permission.ts';

/** Lets in whoever is logged in. */
export class IsAuthenticated extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    return getCurrentUser(request) !== null;
  }
}
