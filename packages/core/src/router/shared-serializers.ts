import type { FastifyInstance, RouteOptions } from 'fastify';
import { bodySchemaOf } from '../operations/response-schemas.ts';

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
  const own = app.serializerCompiler;
  if (own !== undefined) return (route) => ({ ...route, serializerCompiler: forBodies(own) });
  const compiled = new WeakMap<object, Serialize>();
  const serializerCompiler = forBodies((asked) => {
    const schema = asked.schema as object;
    let serialize = compiled.get(schema);
    if (serialize === undefined) compiled.set(schema, (serialize = app.serializerCompiler!(asked)));
    return serialize;
  });
  let isCompilerMade = false;
  return (route) => {
    if (isCompilerMade) return { ...route, serializerCompiler };
    isCompilerMade = true;
    addErrorsOnceReady(app, (route.schema as { response: Record<string, object> }).response);
    return route;
  };
}

/** Keeps the schemas of errors, which nothing is to be compiled of, from Fastify's compiler. */
function addErrorsOnceReady(app: FastifyInstance, response: Record<string, object>): void {
  const errors = Object.entries(response).filter(([status]) => Number(status) >= 400);
  for (const [status] of errors) delete response[status];
  app.addHook('onReady', async () => void Object.assign(response, Object.fromEntries(errors)));
}

/** Has a compiler see the schemas of bodies alone. Those of errors are for documents: a body of a handler goes out as it is. */
function forBodies(compile: SerializerCompiler): SerializerCompiler {
  return (asked) => {
    const schema = bodySchemaOf(asked.schema);
    return schema === undefined ? JSON.stringify : compile({ ...asked, schema });
  };
}
