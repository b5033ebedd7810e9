/** A user's mistake on the command line. Its message is shown without a stack. */
export class Mistake extends Error {}
