/** Where a schema holds other schemas. */
export const ONE_SCHEMA: ReadonlySet<string> = new Set([
  'additionalItems',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
]);
export const LIST_OF_SCHEMAS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'items', 'oneOf']);
export const MAP_OF_SCHEMAS: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);
/** Closed or open, an object keeps what its schema names: what is unknown is dropped, never refused. */
export const OPENNESS: ReadonlySet<string> = new Set(['additionalProperties', 'unevaluatedProperties']);

/** The keyword that a refinement becomes; see `plainSchema`. Under a name that no schema has by itself. */
export const REFINE = 'viewset:refine';
