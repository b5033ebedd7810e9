import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../errors.ts';
import { parseFieldText } from '../fields/field-text.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import { QuerySet } from '../query/queryset.ts';
import type { BoundWriteShape } from '../shapes/bound-write-shape.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { parametersOf } from './request-state.ts';
import { type AnyModelOptions, Resource } from './resource.ts';
import type { ViewContext } from './view-context.ts';
import { type OperationSchemas, ViewSet } from './viewset.ts';

/** What the router asks of a view of an entity's records: answered by its resource, whatever its operations do. */
export abstract class ResourceView<Entity extends object> extends ViewSet {
  /** The entity that the view is about. */
  protected readonly entity: EntityName<Entity>;
  readonly #options: AnyModelOptions;
  #resource: Resource | undefined;

  constructor(entity: EntityName<Entity>, options: AnyModelOptions) {
    super();
    this.entity = entity;
    this.#options = options;
    this.permissionClasses = options.permissionClasses;
    this.throttles = options.throttles ?? [];
    this.ignoreUnknownParameters = options.ignoreUnknownParameters;
  }

  /** @internal */
  override operations(): readonly Operation[] {
    return this.#options.operations ?? (this.#options.write === undefined ? ['list', 'retrieve'] : OPERATIONS);
  }

  /** @internal */
  override bind(context: ViewContext): void {
    this.#resource = new Resource(this.name, this.entity as EntityName<object>, this.#options, context);
  }

  /** @internal */
  override schemasOf(operation: Operation, partial: boolean): OperationSchemas {
    const { readSchema } = this.resource;
    switch (operation) {
      case 'list':
        return { response: { 200: this.resource.listSchema() } };
      case 'retrieve':
        return { response: { 200: readSchema } };
      case 'create':
        return { ...this.#bodySchemas(false), response: { 201: readSchema } };
      case 'update':
        return { ...this.#bodySchemas(partial), response: { 200: readSchema } };
      case 'destroy':
        return {};
    }
  }

  /** Every filter and the paginator get to say what does not fit them; no query is run. @internal */
  override checkListParameters(request: FastifyRequest): void {
    const problems = new InvalidUsageCollector();
    const parameters = parametersOf(request);
    const queryset = QuerySet.of(request, this.entity);
    for (const filter of this.resource.filters) problems.attempt(() => filter.apply(queryset, parameters, request));
    problems.attempt(() => this.resource.paginator?.check(parameters));
    problems.throwIfAny();
  }

  /** @internal */
  override parameterNames(): readonly string[] {
    return this.resource.parameterNames;
  }

  /** @internal */
  override parsePk(text: string): unknown {
    try {
      return parseFieldText(this.resource.pkType, text);
    } catch {
      return undefined;
    }
  }

  override get meta(): EntityMetadata {
    return this.resource.meta;
  }

  /** What the declarations came to. @internal */
  protected get resource(): Resource {
    if (this.#resource === undefined) throw new TypeError(`${this.name} is used before a router has registered it`);
    return this.#resource;
  }

  /** @internal */
  protected get writeShape(): BoundWriteShape<object> {
    const { write } = this.resource;
    if (write === undefined) throw new ImproperlyConfigured(`${this.name}: create and update need the option "write"`);
    return write;
  }

  #bodySchemas(partial: boolean): OperationSchemas {
    const write = this.writeShape;
    return partial
      ? { body: write.partialSchema, validateBody: (body) => write.validatePartial(body) }
      : { body: write.schema, validateBody: (body) => write.validate(body) };
  }
}
