/** One look a second. A pause of PostgreSQL, a checkpoint say, ends within two; a load balancer asks every few seconds. */
const LOOKS_UNTIL_TROUBLE = 3;
const LOOKS_UNTIL_READY = 3;
/** Instances that lost the database together do not come back in the same second. */
const MOST_LOOKS_MORE = 3;

/** Incident that lasts, and that is over only when it has stayed away: all instances would flap together otherwise. */
export class PersistentIncident {
  private lasting: string | undefined;
  private bad = 0;
  private good = 0;
  private goodUntilReady = LOOKS_UNTIL_READY;

  constructor(private readonly random: () => number = Math.random) {}

  /** Why this instance is not ready, in a sentence for everybody; undefined when it is. */
  get trouble(): string | undefined {
    return this.lasting;
  }

  look(trouble: string | undefined): void {
    if (trouble === undefined) {
      this.bad = 0;
      this.good += 1;
      if (this.good >= this.goodUntilReady) this.lasting = undefined;
      return;
    }
    this.good = 0;
    this.bad += 1;
    if (this.lasting === undefined) {
      if (this.bad < LOOKS_UNTIL_TROUBLE) return;
      this.goodUntilReady = LOOKS_UNTIL_READY + Math.floor(this.random() * MOST_LOOKS_MORE);
    }
    this.lasting = trouble;
  }
}
