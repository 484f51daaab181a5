import { type TestDatabase } from '#libs/testing';
import { eventually } from './processes.js';

/** Waits until the timer of a record is set for `dueAt`, and makes it due now. */
export async function comeDue({ source }: TestDatabase, id: string, dueAt: string): Promise<void> {
  await eventually(async () => {
    const [, changed] = await source.query<[unknown[], number]>(
      'UPDATE timers SET next_at = clock_timestamp() WHERE id = $1 AND due_at = $2',
      [id, dueAt],
    );
    expect(changed).toBe(1);
  });
}
