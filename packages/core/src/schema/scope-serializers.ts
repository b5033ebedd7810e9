import type { FastifyInstance, RouteOptions } from 'fastify';
import type { TSchema } from 'typebox';
import { type CompiledNodes, compileSchema } from './compile-schema.ts';
import { compileSerializer, type Serialize } from './serializer.ts';

/** Makes the serializer of a schema. */
export type SerializerOf = (schema: TSchema) => Serialize;

/**
 * Shares one serializer between the routes of a scope that have the same schema object. A view sends one shape from
 * most of its routes. A serializer is compiled for its first response, so an application with hundreds of views starts
 * without generating code for each. A mistake in a schema still fails at startup.
 *
 * Also removes a serializer of replies that the application has set at the root. Fastify would use it in place of the
 * schemas.
 */
export function schemaSerializers(app: FastifyInstance): SerializerOf {
  // The types of Fastify do not know null, its default.
  app.setReplySerializer(null as never);
  const compiled = new WeakMap<object, Serialize>();
  // The schemas of lists contain the schemas of records.
  const nodes: CompiledNodes = new Map();
  let isReady = false;
  app.addHook('onReady', async () => {
    isReady = true;
    nodes.clear();
  });
  return (schema) => {
    const known = compiled.get(schema);
    if (known !== undefined) return known;
    // After the start, a new schema is a client's selection, which is made of checked schemas.
    if (!isReady) compileSchema(schema, 'response', nodes, app.getSchemas());
    let made: Serialize | undefined;
    const serialize: Serialize = (value) => (made ??= compileSerializer(schema, app.getSchemas()))(value);
    compiled.set(schema, serialize);
    return serialize;
  };
}

/**
 * Makes the routes of a scope serialize their responses by their JSON Schemas, whatever the application has set at the
 * root for its own routes: a compiler that knows only Zod's schemas, or a serializer of replies. A plugin calls it in
 * the scope of its routes.
 *
 * The serializers are the library's: a value that does not fit its schema gives a 500, and the log names it.
 *
 * @example
 * await app.register(async (scope) => {
 *   serializeBySchema(scope);
 *   const response = { 200: Type.Object({ version: Type.String() }) };
 *   scope.get('/version', { schema: { response } }, async () => ({ version: '1.2.0' }));
 * });
 */
export function serializeBySchema(app: FastifyInstance): void {
  const serializerOf = schemaSerializers(app);
  app.setSerializerCompiler(({ schema }) => serializerOf(schema as TSchema));
}

export type SerializerCompiler = NonNullable<RouteOptions['serializerCompiler']>;
