/** The five operations, in the terms of REST; `update` is PUT and PATCH. */
export const OPERATIONS = ['list', 'create', 'retrieve', 'update', 'destroy'] as const;
/** The name of an operation. */
export type Operation = (typeof OPERATIONS)[number];

export interface OperationRoute {
  readonly operation: Operation;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** True where it acts on one record, named by its primary key in the path. */
  readonly detail: boolean;
}

export const OPERATION_ROUTES: readonly OperationRoute[] = [
  { operation: 'list', method: 'GET', detail: false },
  { operation: 'create', method: 'POST', detail: false },
  { operation: 'retrieve', method: 'GET', detail: true },
  { operation: 'update', method: 'PUT', detail: true },
  { operation: 'update', method: 'PATCH', detail: true },
  { operation: 'destroy', method: 'DELETE', detail: true },
];
