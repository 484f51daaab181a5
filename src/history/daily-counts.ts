import { Injectable } from '@nestjs/common';
import { ReadSource, TtlCache } from '#libs/database';
import { countEvents } from '#libs/event-store';
import { localTime, momentAt } from '#libs/pages';

const DAY_MS = 86_400_000;
/** Past days hardly change: only by events that were being written at midnight. */
const CACHE_MS = 600_000;

const KINDS = {
  signatures: { recordType: 'signature', type: 'PetitionSigned' },
  contacts: { recordType: 'contact', type: 'ContactCreated' },
  unsubscribes: { recordType: 'contact', type: 'ContactUnsubscribed' },
};

export type Counted = keyof typeof KINDS;
/** @property date `2027-06-30` */
export type CountsOfDay = { date: string } & Record<Counted, number>;

/**
 * Counts what happened each day, from the history. So nothing is subtracted later, and imports count on the day they ran. Contains no
 * personal data.
 */
@Injectable()
export class DailyCounts {
  private readonly past = new TtlCache<number[][]>(CACHE_MS);

  constructor(private readonly reads: ReadSource) {}

  /** The last days in a time zone until the day of `moment`. Days before that one are cached. */
  async of(
    organizationId: string,
    timeZone: string,
    days: number,
    moment = new Date(),
  ): Promise<CountsOfDay[]> {
    const today = localTime(timeZone, moment).slice(0, 10);
    // One more, where the current day ends.
    const dates = Array.from({ length: days + 1 }, (_, n) =>
      new Date(Date.parse(today) + (n - days + 1) * DAY_MS).toISOString().slice(0, 10),
    );
    const moments = dates.map((date) => momentAt(timeZone, `${date}T00:00`)!);
    const count = (some: Date[]) => countEvents(this.reads, organizationId, some, Object.values(KINDS));
    const key = [organizationId, timeZone, today, days].join(' ');
    const [past, current] = await Promise.all([
      this.past.get(key, () => count(moments.slice(0, -1))),
      count(moments.slice(-2)),
    ]);
    return [...past, ...current].map((counts, n) => {
      const [signatures = 0, contacts = 0, unsubscribes = 0] = counts;
      return { date: dates[n]!, signatures, contacts, unsubscribes };
    });
  }
}
