import { type RecordReader } from '#libs/commands';
import { type EventStore, type StreamWrite } from '#libs/event-store';

/** An address of the person, and whether its contact said no to email. */
type MergedAddress = { email: string; isUnsubscribed: boolean };

/** `refused`: the person said no to email in the other module. Then the contact that is kept is unsubscribed. */
type CascadedMerge = { refused: boolean; writes: readonly StreamWrite[] };

type CascadeMerge = (
  reads: { records: RecordReader; store: EventStore },
  organizationId: string,
  survivorId: string,
  /** All contacts; the one that is kept comes first. */
  addresses: readonly MergedAddress[],
) => Promise<CascadedMerge>;

const others: CascadeMerge[] = [];

/**
 * Registers what another module does when contacts are merged, for data that is found by an address. Call it where the module
 * is declared, before the first request.
 */
export function mergeWithContacts(other: CascadeMerge): void {
  others.push(other);
}

export async function cascadeMerge(...asked: Parameters<CascadeMerge>): Promise<CascadedMerge> {
  const all = await Promise.all(others.map((other) => other(...asked)));
  return { refused: all.some(({ refused }) => refused), writes: all.flatMap(({ writes }) => writes) };
}
