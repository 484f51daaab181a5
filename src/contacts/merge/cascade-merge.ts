import { type RecordReader } from '#libs/commands';
import { type EventStore, type Guard, type StreamWrite } from '#libs/event-store';

/** An address of the person, and whether its contact said no to email. */
type MergedAddress = { email: string; isUnsubscribed: boolean };

type Merged = {
  survivorId: string;
  otherIds: readonly string[];
  /** Of all contacts; that of the one that is kept comes first. */
  addresses: readonly MergedAddress[];
};

type CascadedMerge = {
  writes: readonly StreamWrite[];
  /** Streams about a merged contact. The merge is decided again if they change, even if they have not begun. */
  guards?: readonly Guard[];
  /** The person said no to email in the other module. Then the contact that is kept is unsubscribed. */
  refused?: boolean;
};

type CascadeMerge = (
  reads: { records: RecordReader; store: EventStore },
  organizationId: string,
  merged: Merged,
) => Promise<CascadedMerge>;

const others: CascadeMerge[] = [];

/**
 * Registers what another module does when contacts are merged, for data other than links. Call it where the module is declared,
 * before the first request.
 */
export function mergeWithContacts(other: CascadeMerge): void {
  others.push(other);
}

export async function cascadeMerge(...asked: Parameters<CascadeMerge>): Promise<Required<CascadedMerge>> {
  const all = await Promise.all(others.map((other) => other(...asked)));
  return {
    writes: all.flatMap(({ writes }) => writes),
    guards: all.flatMap(({ guards = [] }) => guards),
    refused: all.some(({ refused }) => refused),
  };
}
