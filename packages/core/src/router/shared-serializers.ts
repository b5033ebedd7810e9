import type { FastifyInstance, RouteOptions } from 'fastify';
import { type CompiledNodes, compileSchema } from '../schema/compile-schema.ts';

type SerializerCompiler = NonNullable<RouteOptions['serializerCompiler']>;
type Serialize = ReturnType<SerializerCompiler>;

/**
 * Shares one serializer between the routes of a scope that have the same schema object. A view sends one shape from
 * most of its routes. Fastify would compile it again for each route, and for HEAD of each GET. A serializer is compiled
 * for its first response, so an application with hundreds of views starts without generating code for each.
 *
 * The first route is left to Fastify, which makes the scope's compiler for it. If the application has set a compiler,
 * it is called for every route, because it may depend on the method and path.
 */
export function shareSerializers(app: FastifyInstance): (route: RouteOptions) => RouteOptions {
  if (app.serializerCompiler !== undefined) return (route) => route;
  const compiled = new WeakMap<object, Serialize>();
  // The schemas of lists contain the schemas of records.
  const nodes: CompiledNodes = new Map();
  let isReady = false;
  app.addHook('onReady', async () => {
    isReady = true;
    nodes.clear();
  });
  const serializerCompiler: SerializerCompiler = (asked) => {
    const schema = asked.schema as object;
    let serialize = compiled.get(schema);
    if (serialize === undefined) {
      const compile = app.serializerCompiler!;
      // After the start, a new schema is a client's selection, and its response needs the serializer now.
      compiled.set(schema, (serialize = isReady ? compile(asked) : makeSerializer(compile, asked, nodes)));
    }
    return serialize;
  };
  let isCompilerMade = false;
  return (route) => {
    if (isCompilerMade) return { ...route, serializerCompiler };
    isCompilerMade = true;
    return route;
  };
}

/** Compiles at once only a schema that validation rejects, so that a mistake in a schema fails at startup. */
function makeSerializer(
  compile: SerializerCompiler,
  asked: Parameters<SerializerCompiler>[0],
  nodes: CompiledNodes,
): Serialize {
  try {
    compileSchema(asked.schema, 'body', nodes);
  } catch {
    return compile(asked);
  }
  let serialize: Serialize | undefined;
  return (data) => (serialize ??= compile(asked))(data);
}
