import type { FastifyRequest } from 'fastify';
import { ofEntities, type Projection } from '../language/projection.ts';
import type { QuerySet } from '../query/queryset.ts';
import { parametersOf } from './request-state.ts';
import { ResourceView } from './resource-view.ts';

/** What is sent of the records of a view: each in the read shape, alone or on a page. */
export abstract class RepresentedView<Entity extends object, Output extends object> extends ResourceView<Entity> {
  #output: Projection<Output> | undefined;

  /** The page that the request asks for, of a query set's records in the read shape; for actions that list. */
  paginate(request: FastifyRequest, queryset: QuerySet<Entity>): Promise<object> {
    const { paginator } = this.resource;
    if (paginator === null) {
      return Promise.reject(new TypeError(`${this.name}: paginate() needs a paginator, but pagination is off`));
    }
    return paginator.paginate(queryset, this.answerProjection, parametersOf(request));
  }

  /** The records of a query set in the read shape. */
  rows(queryset: QuerySet<Entity>): Promise<Output[]> {
    return queryset.rows(this.answerProjection);
  }

  /**
   * An entity in the read shape; the relations that the shape reads must be loaded, and are where the view calls this.
   *
   * Override it to make records of entities, with their methods and getters, for list, retrieve, create and update alike:
   * every record is then read as an entity of `request.em`, by the same statement. As long as nobody does, rows are read
   * as rows and no entity is made. What is sent of the record is what the read shape declares; what one field needs that
   * is no column, `computed()` says at less cost.
   *
   * @example
   * override represent(product: ProductEntity) {
   *   return { ...super.represent(product), name: product.displayName() };
   * }
   */
  represent(entity: Entity): Output {
    return this.resource.projection.readEntity(entity) as Output;
  }

  /** How records are read and made that are sent. @internal */
  protected get answerProjection(): Projection<Output> {
    if (this.#output !== undefined) return this.#output;
    const projection = this.resource.projection as Projection<Output>;
    const isOwn = this.represent !== RepresentedView.prototype.represent;
    return (this.#output = isOwn ? ofEntities(projection, (entity) => this.represent(entity as Entity)) : projection);
  }
}
