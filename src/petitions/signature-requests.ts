import { Injectable } from '@nestjs/common';
import { type Decision, RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { readSignedIds, signIds } from '#libs/event-store';
import { confirmRequest, expireRequest, type ExpiryReason, signatureRequest } from './signature-request.js';

/** Identifies the request that a link in an email confirms. */
export type RequestName = { organizationId: string; requestId: string };

const PURPOSE = 'confirm signature';
/** Maximum replacements followed from an outdated link to the newest request. */
const MAX_STEPS = 100;

type Loaded = Awaited<ReturnType<SignatureRequests['load']>>;

/** Signatures awaiting confirmation, and their links. */
@Injectable()
export class SignatureRequests {
  constructor(
    private readonly records: RecordReader,
    private readonly store: EventStore,
  ) {}

  tokenOf({ organizationId, requestId }: RequestName): string {
    return signIds(this.store.keyring, PURPOSE, [organizationId, requestId]);
  }

  /** Undefined if the token was not issued here. */
  readToken(token: string): RequestName | undefined {
    const ids = readSignedIds(this.store.keyring, PURPOSE, 2, token);
    return ids && { organizationId: ids[0]!, requestId: ids[1]! };
  }

  /** Loads a request with the version to append at. */
  async load({ organizationId, requestId }: RequestName) {
    const { state, version } = await this.records.load(signatureRequest, organizationId, requestId);
    return { requestId, state, version };
  }

  /** The request a link leads to: the newest, if the signer has requested again. */
  async latest(name: RequestName): Promise<Loaded> {
    let found = await this.load(name);
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      if (found.state.status !== 'EXPIRED' || found.state.by === null) break;
      found = await this.load({ ...name, requestId: found.state.by });
    }
    return found;
  }

  /** Ends the request, erases its data and releases all its keys. */
  confirmed({ requestId, state, version }: Loaded, signatureId: string): Decision {
    return ended(requestId, version, confirmRequest(state, signatureId));
  }

  expired({ requestId, state, version }: Loaded, reason: ExpiryReason, by: string | null = null): Decision {
    return ended(requestId, version, expireRequest(state, reason, by));
  }
}

function ended(
  requestId: string,
  expectedVersion: number,
  events: ReturnType<typeof expireRequest>,
): Decision {
  if (events.length === 0) return { recordId: requestId, writes: [] };
  const { streamType } = signatureRequest;
  const write = { streamType, streamId: requestId, expectedVersion, events, subjectId: requestId };
  return { recordId: requestId, writes: [write], erases: [requestId], releasesAll: [requestId] };
}
