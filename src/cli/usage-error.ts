/** A mistake of the person at the keyboard: one sentence, no stack. */
export class UsageError extends Error {}
