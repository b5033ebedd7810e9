import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { isShowing, type OperationPlan } from '../routes/operation-plan.ts';
import { templateFiller } from '../http/path-template.ts';
import { DEFINE, type ViewContext, type ViewDefinition } from '../view/setup/view-definition.ts';
import { ViewSet } from '../view/viewset.ts';

const LINKS = Type.Record(Type.String(), Type.String(), { description: 'The path of each collection, by its name' });

/** The root of a router: `{ "products": "/api/products", … }`, its collections, for everybody. */
export class RouterRoot extends ViewSet {
  override allowAnonymous = true;
  override permissionClasses = [];
  override responses = { list: LINKS };
  override documentation = { summaries: { list: 'List the collections' } };
  readonly #operations: readonly OperationPlan[];
  readonly #path: string;

  constructor(operations: readonly OperationPlan[], path: string) {
    super();
    this.#operations = operations;
    this.#path = path;
  }

  override list(request: FastifyRequest): Record<string, string> {
    const params = request.params as Readonly<Record<string, unknown>>;
    const below = this.#operations.filter(
      (plan) =>
        isShowing(plan) &&
        plan.path.startsWith(`${this.#path}/`) &&
        !plan.path.includes(':', this.#path.length) &&
        plan.view.name !== this.name,
    );
    return Object.fromEntries(
      below.map(({ path }) => [
        path.slice(this.#path.length + 1),
        templateFiller(path)((parameter) => params[parameter]),
      ]),
    );
  }

  /** @internal */
  override [DEFINE](context: ViewContext): ViewDefinition {
    return { ...super[DEFINE](context), listsCollections: true };
  }
}
