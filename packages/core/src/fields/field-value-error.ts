import { InvalidUsage } from '../errors/errors.ts';

/**
 * A value that does not fit its field. The message ends a sentence, `must be an integer`; code that knows the place of the value catches
 * the error and adds the place. If a filter throws it, the client gets 400, because the value is from the client. Anywhere else the value
 * is from the program, and the client gets 500.
 */
export class FieldValueError extends InvalidUsage {}
