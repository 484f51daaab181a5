import { Inject, Injectable } from '@nestjs/common';
import { getStorageToken } from '@nestjs/throttler';
import { networkOf, type WindowStorage } from '#libs/rate-limit';
import { type Suspicion } from '../confirmations/index.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/**
 * Forms from one network per hour. A school or an event venue shares one address, so above the first number signatures are only marked
 * as suspicious. Above the second number, forms are rejected.
 */
const MANY_FROM_NETWORK = 30;
const MAX_FROM_NETWORK = 500;
/** Forms for one petition per minute. A popular petition can have more, so they are never rejected. */
const MANY_AT_ONCE = 3_000;

/** Limits for forms, counted over all instances like rate limits. */
@Injectable()
export class Budgets {
  constructor(@Inject(getStorageToken()) private readonly storage: WindowStorage) {}

  /** Counts a form. @returns what is suspicious about it; undefined if it exceeds the limit */
  async take(petitionId: string, address: string | undefined): Promise<Suspicion[] | undefined> {
    const network = networkOf(address);
    const [byNetwork] = await this.storage.accept(
      [{ key: `sign:${petitionId}:${network}`, limit: MAX_FROM_NETWORK }],
      HOUR_MS,
    );
    if (byNetwork!.isBlocked) return undefined;
    const [ofPetition] = await this.storage.accept(
      [{ key: `sign:${petitionId}`, limit: MANY_AT_ONCE }],
      MINUTE_MS,
    );
    return [
      ...(byNetwork!.totalHits > MANY_FROM_NETWORK ? (['MANY_FROM_NETWORK'] as const) : []),
      ...(ofPetition!.isBlocked ? (['MANY_AT_ONCE'] as const) : []),
    ];
  }
}
