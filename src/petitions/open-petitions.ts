import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type Guard } from '#libs/event-store';
import { exists, petition, requireOpen } from './petition.js';

/** Then all are forgotten: petitions that take signatures at one moment are few. */
const MOST_PETITIONS = 1_000;

/**
 * The petitions that take signatures, remembered so that a signer need not load them. What is remembered may
 * be outdated: the guard that a signature is appended with says so, and then it is looked up afresh.
 */
@Injectable()
export class OpenPetitions {
  private readonly guards = new Map<string, { guard: Guard; until: number }>();

  constructor(private readonly records: RecordReader) {}

  /**
   * What must stay as it is for a signature to count.
   *
   * @param afresh look it up, whatever is remembered.
   * @throws RpcError NOT_FOUND, or CONFLICT unless the petition takes signatures.
   */
  async guard(organizationId: string, petitionId: string, afresh: boolean): Promise<Guard> {
    const key = `${organizationId} ${petitionId}`;
    const known = this.guards.get(key);
    if (known && !afresh && Date.now() < known.until) return known.guard;

    this.guards.delete(key);
    const { state, version } = await this.records.load(petition, organizationId, petitionId);
    requireOpen(state, new Date());
    const guard = { streamId: petitionId, version };
    if (this.guards.size >= MOST_PETITIONS) this.guards.clear();
    const closesAt = exists(state) ? state.closesAt : null;
    this.guards.set(key, { guard, until: closesAt === null ? Infinity : Date.parse(closesAt) });
    return guard;
  }
}
