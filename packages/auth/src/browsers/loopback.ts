const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/i;

/** True of a name or an address of this machine, as URLs have it. `@viewset/mcp` has the same rule. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}
