import { compileValidator } from '@viewset/core';
import { Type, type TSchema } from 'typebox';
import type { ToolArguments } from './arguments.ts';
import type { Call } from './call.ts';
import { type JsonObject, plainSchema } from './json-schema.ts';
import type { Resource } from './resource.ts';

/** What a tool does to records. Clients may ask their user before they use it. */
export interface Annotations {
  readonly readOnlyHint: boolean;
  /** True if stored data may be lost. */
  readonly destructiveHint: boolean;
  /** True if a repeated call with the same arguments changes nothing more. */
  readonly idempotentHint: boolean;
  /** Always false, because tools only reach the application. */
  readonly openWorldHint: boolean;
}

/** A tool, which is the same for every caller. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly annotations: Annotations;
  readonly arguments: readonly (keyof ToolArguments)[];
  readonly required: readonly (keyof ToolArguments)[];
  /** Tells if the tool can do something with a resource, as a caller sees it. */
  serves(resource: Resource): boolean;
  run(call: Call): Promise<JsonObject>;
}

// Clients understand `anyOf`, and warn of lists of types.
const KEY = Type.Unsafe({ anyOf: [{ type: 'string', maxLength: 500 }, { type: 'integer' }] });
const ANY_OBJECT = { type: 'object' } as const;

/** All arguments. Each means the same in every tool. */
const ARGUMENTS: Readonly<Record<keyof ToolArguments, TSchema>> = {
  resource: Type.String({ description: 'A name that describe lists' }),
  id: Type.Unsafe({ ...KEY, description: 'The id of the record; none if the resource has one record' }),
  parents: Type.Unsafe({
    ...ANY_OBJECT,
    additionalProperties: KEY,
    description: 'The ids of the records above a nested resource, by the names that describe lists',
  }),
  query: Type.Unsafe({ ...ANY_OBJECT, description: 'Parameters by their names in describe' }),
  values: Type.Unsafe({ ...ANY_OBJECT, description: 'The fields to store, by their names in describe' }),
  action: Type.String({ description: 'A name that describe lists' }),
  operation: Type.String({
    description: 'One operation alone: search, get, create, update, delete, or the name of an action',
  }),
  body: Type.Unknown({ description: 'What the action takes, as describe says' }),
  etag: Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '^[ -~]*$',
    description: 'The etag of the record as get returned it: a record that has changed since then stays as it is',
  }),
  key: Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: '^[ -~]*$',
    description: 'A text of your choice, new for each write: a repeated call with the same key writes nothing more',
  }),
};

/** Makes the schema of a tool's arguments. */
export function inputSchema(tool: Tool, left: ReadonlySet<keyof ToolArguments>): JsonObject {
  const names = tool.arguments.filter((name) => !left.has(name));
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, plainSchema(ARGUMENTS[name])])),
    ...(tool.required.length === 0 ? {} : { required: tool.required }),
    additionalProperties: false,
  };
}

/** Compiles the check of a tool's arguments. */
export function argumentsCheck(tool: Tool): (value: unknown) => unknown {
  const properties = tool.arguments.map((name) => {
    return [name, tool.required.includes(name) ? ARGUMENTS[name] : Type.Optional(ARGUMENTS[name])] as const;
  });
  return compileValidator(Type.Object(Object.fromEntries(properties)), 'body');
}
