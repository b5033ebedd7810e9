import type { FastifyInstance, RouteOptions } from 'fastify';
import { type CompiledNodes, compileSchema } from '../schema/compile-schema.ts';

type SerializerCompiler = NonNullable<RouteOptions['serializerCompiler']>;
type Serialize = ReturnType<SerializerCompiler>;

/**
 * Has the routes of a scope share the serializers of one schema, if it is the same object: a view sends
 * one shape from most of its routes, and Fastify would compile it for each of them anew, the HEAD of each GET included.
 * A serializer is compiled for its first answer, so that an application of hundreds of views starts without generating code
 * for each of them.
 *
 * The first route that answers is left to Fastify, which makes the scope's compiler for it. An application that has set
 * a compiler of its own is asked for every route, whose method and path it may go by.
 */
export function shareSerializers(app: FastifyInstance): (route: RouteOptions) => RouteOptions {
  if (app.serializerCompiler !== undefined) return (route) => route;
  const compiled = new WeakMap<object, Serialize>();
  // Lists have the schemas of records as their items.
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
      // One that is asked for by then is needed for an answer, which a client may have selected.
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

/** Compiles at once only what validation would not take: a mistake in a schema has to stop the start. */
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
