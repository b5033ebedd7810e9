/** A value that does not fit its field. The message completes a sentence: `must be an integer`. */
export class FieldValueError extends Error {
  override readonly name = 'FieldValueError';
}
