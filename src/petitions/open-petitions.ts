import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type Guard } from '#libs/event-store';
import { exists, petition, requireOpen } from './petition.js';

/** When the cache is full, it is cleared: few petitions collect signatures at the same time. */
const MAX_CACHED = 1_000;

/**
 * Caches the petitions that accept signatures, so that signing does not load them. If an entry is outdated,
 * the guard rejects the signature, and the retry loads the petition.
 */
@Injectable()
export class OpenPetitions {
  private readonly guards = new Map<string, { guard: Guard; until: number }>();

  constructor(private readonly records: RecordReader) {}

  /**
   * Returns the guard of a signature: the petition's version, which must not change.
   *
   * @param skipCache load the petition even if it is cached.
   * @throws RpcError NOT_FOUND, or CONFLICT unless the petition accepts signatures.
   */
  async guard(organizationId: string, petitionId: string, skipCache: boolean): Promise<Guard> {
    const key = `${organizationId} ${petitionId}`;
    const known = this.guards.get(key);
    if (known && !skipCache && Date.now() < known.until) return known.guard;

    this.guards.delete(key);
    const { state, version } = await this.records.load(petition, organizationId, petitionId);
    requireOpen(state, new Date());
    const guard = { streamId: petitionId, version };
    if (this.guards.size >= MAX_CACHED) this.guards.clear();
    const closesAt = exists(state) ? state.closesAt : null;
    this.guards.set(key, { guard, until: closesAt === null ? Infinity : Date.parse(closesAt) });
    return guard;
  }
}
