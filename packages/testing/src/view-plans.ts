import type { OperationPlan } from '@viewset/core';
import type { FastifyInstance } from 'fastify';

/** A view class. Its routes are found by the class's name. */
export type ViewClass = abstract new () => object;

/** The operations and actions of a view, at the first place where it is registered. */
export class ViewPlans {
  readonly View: ViewClass;
  readonly all: readonly OperationPlan[];

  constructor(app: FastifyInstance, View: ViewClass) {
    const plans = app.viewset.operations.filter(({ view }) => view.name === View.name);
    if (plans.length === 0) throw new Error(`${View.name} is registered at no router of the application`);
    const { basename } = plans[0]!.view;
    this.View = View;
    this.all = plans.filter((plan) => plan.view.basename === basename && isUsual(plan));
  }

  /** Finds the plan of an operation or action. For `update`, `method` chooses one. */
  find(action: string, method?: OperationPlan['method']): OperationPlan | undefined {
    return this.all.find((plan) => plan.action === action && (method === undefined || plan.method === method));
  }

  /** Finds the plan of an operation or action. Throws if the view does not have it. */
  get(action: string): OperationPlan {
    const plan = this.find(action);
    if (plan !== undefined) return plan;
    const known = [...new Set(this.all.map((each) => each.action))].join(', ');
    throw new Error(`${this.View.name} has no "${action}"; it has: ${known}`);
  }
}

/** False for variants of an operation: exports, QUERY, and bulk writes. */
function isUsual({ action, method, variant, detail }: OperationPlan): boolean {
  const isOfOne = action === 'update' || action === 'destroy';
  return variant === undefined && method !== 'QUERY' && (detail || !isOfOne);
}
