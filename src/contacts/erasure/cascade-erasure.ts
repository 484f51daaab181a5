import { type RecordReader } from '#libs/commands';
import { type EventStore, type StreamWrite } from '#libs/event-store';
import { type Sql } from '#libs/database';

/**
 * Erases data of another module with a contact, in the same command.
 *
 * @param emails all current and previous addresses of the contact.
 */
type CascadeErasure = (
  reads: { records: RecordReader; store: EventStore; source: Sql },
  organizationId: string,
  emails: readonly string[],
) => Promise<CascadedWrites>;

/**
 * `releasesAll`: see `Decision`. `isAwaited`: whether the person has begun something, such as a signature, that the erasure
 * would end. Then the undo of an import keeps the contact.
 */
type CascadedWrites = {
  writes: readonly StreamWrite[];
  erases: readonly string[];
  releasesAll?: readonly string[];
  isAwaited?: boolean;
};

const others: CascadeErasure[] = [];

/**
 * Registers a function that erases data of another module that is found by a contact's address, not by its id.
 * Call it where the module is declared, before the first request.
 */
export function eraseWithContacts(other: CascadeErasure): void {
  others.push(other);
}

export async function cascadeErasure(
  ...asked: Parameters<CascadeErasure>
): Promise<Required<CascadedWrites>> {
  const all = await Promise.all(others.map((other) => other(...asked)));
  return {
    writes: all.flatMap(({ writes }) => writes),
    erases: all.flatMap(({ erases }) => erases),
    releasesAll: all.flatMap(({ releasesAll = [] }) => releasesAll),
    isAwaited: all.some(({ isAwaited = false }) => isAwaited),
  };
}
