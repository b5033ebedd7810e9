/** Reports whether an origin is of the machine of its user, as the pages of inspectors are. */
export function isLoopback(origin: string): boolean {
  return /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(origin);
}
