import { InvalidUsage } from '../errors.ts';

/**
 * A value that does not fit its field. The message completes a sentence, `must be an integer`: whoever knows the place of
 * the value catches the error and names it. A filter's parameters come from the client, so that an error which
 * a filter lets through is a 400; anywhere else the value is the program's own, and the answer is a 500.
 */
export class FieldValueError extends InvalidUsage {}
