import { type Decision, type RecordReader } from '#libs/commands';
import { type EventStore, type StreamWrite } from '#libs/event-store';
import { type Sql } from '#libs/database';

/** Of another module: what it erases with a contact, in the same command. @param emails all that the contact ever had. */
type CascadeErasure = (
  reads: { records: RecordReader; store: EventStore; source: Sql },
  organizationId: string,
  emails: readonly string[],
) => Promise<CascadedWrites>;

/** `releasesAll`: see `Decision`. */
type CascadedWrites = {
  writes: readonly StreamWrite[];
  erases: readonly string[];
  releasesAll?: readonly string[];
};

const others: CascadeErasure[] = [];

/**
 * Has another module's data erased that are known by a contact's address and not by the contact. To be called where the
 * module is declared, before the first request.
 */
export function eraseWithContacts(other: CascadeErasure): void {
  others.push(other);
}

export async function cascadeErasure(
  ...asked: Parameters<CascadeErasure>
): Promise<Required<Pick<Decision, 'writes' | 'erases' | 'releasesAll'>>> {
  const all = await Promise.all(others.map((other) => other(...asked)));
  return {
    writes: all.flatMap(({ writes }) => writes),
    erases: all.flatMap(({ erases }) => erases),
    releasesAll: all.flatMap(({ releasesAll = [] }) => releasesAll),
  };
}
