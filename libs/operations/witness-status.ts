/** What the witnesses of the history say, for those who tell it; the program that asks them provides it. */
export abstract class WitnessStatus {
  /** As this instance last saw it; undefined before its first look, or where no witness is asked. */
  abstract readonly lastSeen:
    | {
        /** Organizations whose history a witness contradicts. */
        readonly contradicted: number;
        /** Witnesses that do not answer as they should; only the instance that asks them knows. */
        readonly failing: number;
      }
    | undefined;
}
