/** What the self-check found, for those who tell it; the program that checks provides it. */
export abstract class SelfCheckStatus {
  /** As this instance last saw it; undefined before its first look, or where nothing is checked. */
  abstract readonly lastSeen:
    | {
        /** What somebody seems to have changed. */
        readonly findings: readonly object[];
        /** Histories and read models, and how many of them were looked at in time. */
        readonly subjects: number;
        readonly current: number;
      }
    | undefined;
}
