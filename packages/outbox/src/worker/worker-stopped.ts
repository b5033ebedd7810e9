/** Why the signal of a handler aborts when its worker stops. The handler has not failed, and neither has a receiver. */
export class WorkerStopped extends Error {
  override readonly name = 'WorkerStopped';

  constructor() {
    super('the worker was stopped');
  }
}
