/**
 * Waits for a promise up to a time limit, in milliseconds. Returns false after the limit, and true if the promise was
 * fulfilled before. It does not stop what makes the promise. For plugins that must end in time when an application closes.
 *
 * Throws what the promise is rejected with before the limit.
 *
 * @example
 * if (!(await isInTime(orm.close(), 3000))) console.warn('the database did not respond');
 */
export async function isInTime(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  const over = Promise.withResolvers<false>();
  const timer = setTimeout(over.resolve, limitMs, false);
  try {
    return await Promise.race([promise.then(() => true), over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
