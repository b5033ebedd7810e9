import { InvalidUsage } from '../errors.ts';

/**
 * A value that does not fit its field. The message completes a sentence, `must be an integer`: whoever knows where the
 * value stood catches it and names that place. Uncaught it is a 400, since no value of the program's own does not fit.
 */
export class FieldValueError extends InvalidUsage {}
