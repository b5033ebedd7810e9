import { valueAt } from './json-pointer.ts';

/** A JSON Schema as the document of a Viewset application has it; only what the page reads. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly contentMediaType?: string;
  readonly contentSchema?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly 'x-reference'?: { readonly entity: string; readonly field: string };
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly explode?: boolean;
  readonly schema?: Schema;
  readonly 'x-viewset'?: { readonly pages?: PagePart };
}

/** The part of a page that a parameter chooses. */
export type PagePart = 'number' | 'offset' | 'cursor' | 'size';

export interface Media {
  readonly schema?: Schema;
}

export interface DocumentResponse {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface DocumentOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly required?: boolean; readonly content?: Readonly<Record<string, Media>> };
  readonly responses?: Readonly<Record<string, DocumentResponse>>;
  readonly 'x-viewset'?: {
    readonly view: string;
    readonly action: string;
    /** Tells operations of one action apart: a list as a file, several records from an array. */
    readonly variant?: string;
    readonly detail: boolean;
    readonly entity?: string;
    readonly key?: string;
    /** The member that the body and the answer stand in. */
    readonly envelope?: string;
    /** The members of a page by their usual names; null if a page has no such member. */
    readonly pageMembers?: Readonly<Record<string, string | null>>;
    readonly permissions: readonly string[];
    /** True of a list that can be followed as it changes. */
    readonly live?: boolean;
    /** The names of the shapes of the body, if it may have one of several. */
    readonly writeShapes?: readonly string[];
  };
}

export interface ApiDocument {
  readonly info?: { readonly title?: string; readonly version?: string; readonly description?: string };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths?: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  readonly components?: unknown;
}

/** The most references that lead to one another; more lead in a circle. */
const MAX_REFERENCES = 20;

/** Returns what a reference of the document leads to, or the value itself if it is none. */
export function follow<Value extends object>(document: ApiDocument, value: Value | { readonly $ref: string }): Value {
  let current: unknown = value;
  for (let count = 0; count < MAX_REFERENCES; count++) {
    const { $ref } = (current ?? {}) as { $ref?: string };
    if ($ref === undefined) return (current ?? {}) as Value;
    current = valueAt(document, $ref);
  }
  return {} as Value;
}
