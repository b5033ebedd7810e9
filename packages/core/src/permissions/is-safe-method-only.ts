import type { FastifyRequest } from 'fastify';
import { Permission } from './permission.ts';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Lets in requests that only read: GET, HEAD and OPTIONS.
 *
 * @example
 * permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)]   // everybody reads, who is logged in writes
 */
export class IsSafeMethodOnly extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    return SAFE_METHODS.has(request.method);
  }
}
