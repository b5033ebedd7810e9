import { ServiceUnavailable } from '../errors.ts';

/** 503: a store is down, refuses to work or does not answer in time. `cause` has the driver's error. */
export class StoreUnavailable extends ServiceUnavailable {
  constructor(cause: unknown) {
    super(undefined, { cause });
  }
}
