import type { FastifyInstance, RouteOptions } from 'fastify';
import type { TSchema } from 'typebox';
import { type CompiledNodes, compileSchema } from '../schema/compile-schema.ts';
import { compileSerializer, type Serialize } from '../schema/serializer.ts';
import { UnfitValue } from '../schema/unfit-value.ts';
import { named } from '../operations/unfit-response.ts';

type SerializerCompiler = NonNullable<RouteOptions['serializerCompiler']>;

/**
 * Shares one serializer between the routes of a scope that have the same schema object. A view sends one shape from
 * most of its routes. A serializer is compiled for its first response, so an application with hundreds of views starts
 * without generating code for each. A mistake in a schema still fails at startup.
 *
 * The serializers are the library's own, even if the application has set a compiler: they validate responses by the
 * rules that validate bodies.
 */
export function shareSerializers(app: FastifyInstance): (route: RouteOptions) => RouteOptions {
  const compiled = new WeakMap<object, Serialize>();
  // The schemas of lists contain the schemas of records.
  const nodes: CompiledNodes = new Map();
  let isReady = false;
  app.addHook('onReady', async () => {
    isReady = true;
    nodes.clear();
  });
  const serializerOf = (schema: TSchema): Serialize => {
    const known = compiled.get(schema);
    if (known !== undefined) return known;
    // After the start, a new schema is a client's selection, which is made of checked schemas.
    if (!isReady) compileSchema(schema, 'response', nodes, app.getSchemas());
    let made: Serialize | undefined;
    const serialize: Serialize = (value) => (made ??= compileSerializer(schema, app.getSchemas()))(value);
    compiled.set(schema, serialize);
    return serialize;
  };
  return (route) => {
    const serializerCompiler: SerializerCompiler = ({ schema }) => {
      const serialize = serializerOf(schema);
      return (data) => {
        try {
          return serialize(data);
        } catch (error) {
          throw error instanceof UnfitValue ? named(error, data, route.config?.viewset) : error;
        }
      };
    };
    return { ...route, serializerCompiler };
  };
}
