/** A script of its own: only who sets up two-step login needs it. */
export { encode } from 'uqr';
