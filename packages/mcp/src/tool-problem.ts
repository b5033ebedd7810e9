import type { JsonObject } from './json-schema.ts';

/** A call that cannot be done: an error of the tool, which the model reads, and no fault of the server. */
export class ToolProblem extends Error {
  /** Further members of the result, which say how to mend the call. */
  readonly more: JsonObject;

  constructor(message: string, more: JsonObject = {}) {
    super(message);
    this.more = more;
  }
}
