import type { OperationParameter, OperationPlan, ViewsetInstance } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { isObject, type JsonObject, plainSchema, propertyNames } from './json-schema.ts';
import { type LeftOut, type OperationName, type Resource, recordSchema, valuesSchema } from './resource.ts';

/** What a catalog needs to know about the sender of a request. */
export type Rights = Pick<ViewsetInstance, 'admitsSender' | 'readShapeOf' | 'writeShapeOf'>;

/**
 * What an operation takes from one caller. If the view chooses a shape by a record that is not known yet, it has the
 * fields of all shapes.
 */
export interface OperationInput {
  /** The schema of the values; undefined if it takes none. */
  readonly values: unknown;
  readonly query: readonly OperationParameter[];
}

/** The resources that one caller sees, without operations that reject the caller before a record is known. */
export class Catalog {
  /** All resources that the tools reach, for any caller. */
  readonly all: ReadonlyMap<string, Resource>;
  readonly #request: FastifyRequest;
  readonly #rights: Rights;
  readonly #shown = new Map<string, Promise<Resource | undefined>>();

  constructor(all: ReadonlyMap<string, Resource>, request: FastifyRequest, rights: Rights) {
    this.all = all;
    this.#request = request;
    this.#rights = rights;
  }

  /** The resources with at least one operation that the caller may use. */
  async shown(): Promise<ReadonlyMap<string, Resource>> {
    const shown = new Map<string, Resource>();
    // One after another, because permissions may query the database.
    for (const name of this.all.keys()) {
      const resource = await this.resource(name);
      if (resource !== undefined) shown.set(name, resource);
    }
    return shown;
  }

  /** Returns a resource as the caller sees it; undefined if the caller may use nothing of it. */
  resource(name: string): Promise<Resource | undefined> {
    const known = this.#shown.get(name) ?? this.#find(this.all.get(name));
    this.#shown.set(name, known);
    return known;
  }

  async #find(resource: Resource | undefined): Promise<Resource | undefined> {
    if (resource === undefined) return undefined;
    const operations = new Map<OperationName, OperationPlan>();
    const actions = new Map<string, OperationPlan>();
    const leftOut: LeftOut[] = [];
    for (const [name, plan] of resource.operations) if (await this.may(plan)) operations.set(name, plan);
    for (const [name, plan] of resource.actions) if (await this.may(plan)) actions.set(name, plan);
    for (const each of resource.leftOut) if (await this.may(each.plan)) leftOut.push(each);
    return operations.size + actions.size === 0 ? undefined : { name: resource.name, operations, actions, leftOut };
  }

  /**
   * Tells if the caller may use an operation, as far as that is known without its record. A permission that throws
   * counts as no, but does not affect other operations.
   */
  async may(plan: OperationPlan): Promise<boolean> {
    try {
      return await this.#rights.admitsSender(this.#request, plan);
    } catch (error) {
      this.#request.log.error(
        { err: error, operation: plan.operationId },
        'a permission has failed; the tools leave it out',
      );
      return false;
    }
  }

  /** Returns what an operation takes from a caller who may use it. */
  async inputOf(plan: OperationPlan): Promise<OperationInput> {
    return { values: await this.#valuesOf(plan), query: await this.#queryOf(plan) };
  }

  async #valuesOf(plan: OperationPlan): Promise<unknown> {
    const chosen = await this.#rights.writeShapeOf(this.#request, plan);
    return shapeIn(valuesSchema(plan), plan.writeShapes, chosen);
  }

  /** Returns the parameters. `fields` names only fields that the view shows to the caller. */
  async #queryOf(plan: OperationPlan): Promise<readonly OperationParameter[]> {
    const { queryParameters } = plan;
    if (!queryParameters.some(({ name }) => name === 'fields')) return queryParameters;
    const names = propertyNames(await this.recordOf(plan));
    if (names === undefined) return queryParameters;
    return queryParameters.map((each) => (each.name === 'fields' ? limitedTo(each, names) : each));
  }

  /**
   * Returns the schema of the records that an operation sends to a caller who may use it; undefined if it declares none.
   * If the view chooses the schema by a record that is not known yet, returns a schema for all of them.
   */
  async recordOf(plan: OperationPlan): Promise<unknown> {
    const schema = recordSchema(plan);
    if (schema === undefined) return undefined;
    return shapeIn(schema, plan.readShapes, await this.#rights.readShapeOf(this.#request, plan));
  }
}

/** Limits the names of a parameter to those of a record's fields. */
function limitedTo(parameter: OperationParameter, names: readonly string[]): OperationParameter {
  const schema = plainSchema(parameter.schema) as JsonObject;
  const { items } = schema;
  if (!isObject(items) || !Array.isArray(items['enum'])) return parameter;
  const known = (items['enum'] as unknown[]).filter((name) => names.includes(name as string));
  return { ...parameter, schema: { ...schema, items: { ...items, enum: known } } };
}

/** Returns the schema of the chosen shape in the union of all shapes; the union if no shape is chosen. */
function shapeIn(schema: unknown, shapes: readonly string[], chosen: string | undefined): unknown {
  if (chosen === undefined || !isObject(schema) || !Array.isArray(schema['anyOf'])) return schema;
  return (schema['anyOf'] as unknown[])[shapes.indexOf(chosen)] ?? schema;
}
