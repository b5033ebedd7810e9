/**
 * Reports whether an origin is of the machine of its user, as the pages of inspectors are. `@viewset/auth` has the same
 * rule for names and addresses.
 */
export function isLoopback(origin: string): boolean {
  return /^https?:\/\/(?:(?:[\w-]+\.)*localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/.test(origin);
}
