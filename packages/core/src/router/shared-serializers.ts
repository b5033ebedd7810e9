import type { FastifyInstance, RouteOptions } from 'fastify';

type SerializerCompiler = NonNullable<RouteOptions['serializerCompiler']>;
type Serialize = ReturnType<SerializerCompiler>;

/**
 * Has the routes of a scope share what Fastify compiles of a response's schema, where it is the same object: a view sends
 * one shape from most of its routes, and Fastify would compile it for each of them anew, the HEAD of each GET included.
 *
 * The first route that answers is left to Fastify, which makes the scope's compiler for it. An application that has set
 * a compiler of its own is asked for every route, whose method and path it may go by.
 */
export function shareSerializers(app: FastifyInstance): (route: RouteOptions) => RouteOptions {
  if (app.serializerCompiler !== undefined) return (route) => route;
  const compiled = new WeakMap<object, Serialize>();
  const serializerCompiler: SerializerCompiler = (asked) => {
    const schema = asked.schema as object;
    let serialize = compiled.get(schema);
    if (serialize === undefined) compiled.set(schema, (serialize = app.serializerCompiler!(asked)));
    return serialize;
  };
  let isCompilerMade = false;
  return (route) => {
    if (isCompilerMade) return { ...route, serializerCompiler };
    isCompilerMade = true;
    return route;
  };
}
