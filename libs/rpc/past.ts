/** A state of the past: what was recorded up to the moment, and stored up to the position. */
export type Past = { moment: Date; position: number };

/** A record as it was; the envelope then says of when, so that the answer can be reproduced. */
export class PastRecord<Record> {
  constructor(
    readonly record: Record,
    readonly asOf: Past,
  ) {}
}
