import type { JsonObject } from './json-schema.ts';

/** A call that cannot be done. The model sees it as the tool's error; it is not a server error. */
export class ToolProblem extends Error {
  /** Additional members of the result that explain how to fix the call. */
  readonly more: JsonObject;

  constructor(message: string, more: JsonObject = {}) {
    super(message);
    this.more = more;
  }
}
