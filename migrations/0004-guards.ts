import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { APPEND } from './append-events.js';

/**
 * `append_events` learns to leave streams and subjects as they were. Instances of the version before go on
 * calling the function of their own signature, which stays.
 */
export class Guards1764000000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(APPEND);
  }

  async down(): Promise<void> {
    // Nothing to take back: versions before this one call another signature.
  }
}
