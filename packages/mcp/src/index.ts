export { mcp } from './mcp.ts';
export type { McpOAuth, McpOptions } from './options.ts';
