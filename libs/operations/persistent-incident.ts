/** There is one check per second. Pauses of PostgreSQL, such as a checkpoint, end within two seconds. */
const CHECKS_UNTIL_INCIDENT = 3;
const CHECKS_UNTIL_READY = 3;
/** A random delay, so that instances that lost the database together do not return in the same second. */
const MAX_EXTRA_CHECKS = 3;

/** Ignores short incidents, and ends only after several good checks. Otherwise, all instances would flap together. */
export class PersistentIncident {
  private lasting: string | undefined;
  private bad = 0;
  private good = 0;
  private goodUntilReady = CHECKS_UNTIL_READY;

  constructor(private readonly random: () => number = Math.random) {}

  /** Why this instance is not ready, in a sentence for API clients; undefined if it is ready. */
  get problem(): string | undefined {
    return this.lasting;
  }

  look(problem: string | undefined): void {
    if (problem === undefined) {
      this.bad = 0;
      this.good += 1;
      if (this.good >= this.goodUntilReady) this.lasting = undefined;
      return;
    }
    this.good = 0;
    this.bad += 1;
    if (this.lasting === undefined) {
      if (this.bad < CHECKS_UNTIL_INCIDENT) return;
      this.goodUntilReady = CHECKS_UNTIL_READY + Math.floor(this.random() * MAX_EXTRA_CHECKS);
    }
    this.lasting = problem;
  }
}
