import { type TestDatabase } from '#libs/testing';
import { eventually } from './processes.js';

/** The moment that a record waits for has come, as far as the product knows. Waits until its timer is set for that moment. */
export async function comeDue({ source }: TestDatabase, id: string, dueAt: string): Promise<void> {
  await eventually(async () => {
    const [, changed] = await source.query<[unknown[], number]>(
      'UPDATE timers SET next_at = clock_timestamp() WHERE id = $1 AND due_at = $2',
      [id, dueAt],
    );
    expect(changed).toBe(1);
  });
}
