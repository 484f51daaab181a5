/** An error in the command as typed: printed as one sentence, without a stack. */
export class UsageError extends Error {}
