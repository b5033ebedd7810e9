import type { FastifyRequest } from 'fastify';
import { Permission } from './permission.ts';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Lets through requests that only read (RFC 9110, section 9.2.1).
 *
 * @example
 * permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)]   // everybody reads, users write
 */
export class IsSafeMethodOnly extends Permission {
  override hasPermission(request: FastifyRequest): boolean {
    return SAFE_METHODS.has(request.method);
  }
}
