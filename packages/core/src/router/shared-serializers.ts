import type { FastifyInstance, RouteOptions } from 'fastify';
import { schemaSerializers, type SerializerCompiler } from '../schema/scope-serializers.ts';
import { UnfitValue } from '../schema/unfit-value.ts';
import { named } from '../routes/unfit-response.ts';

/**
 * Gives the routes of a scope the library's serializers, even if the application has set a compiler: they validate
 * responses by the rules that validate bodies. Their errors name the record.
 */
export function shareSerializers(app: FastifyInstance): (route: RouteOptions) => RouteOptions {
  const serializerOf = schemaSerializers(app);
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
