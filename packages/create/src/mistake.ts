/** A mistake of the person at the terminal: its message is shown without a stack. */
export class Mistake extends Error {}
