import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { queryWide, ReadSource } from '#libs/database';
import { type Past } from '#libs/event-store';
import { stoodAt } from '#libs/links';
import { Resources } from '#libs/resources';
import { noSuch, Operation, PastRecord, RecordInput, recordSchema, textOrNull, Timestamp } from '#libs/rpc';
import { contact, joinCountry, sumByCountry } from '../contacts/index.js';
import { OfflineSignatures } from './offline-counts.js';
import { petitions, signedAt } from './petitions.js';
import { type ThankYouCounts, thankYouCounts, ThankYouMails } from './thank-you-mails.js';

/** Maximum countries and sources returned: both are free text. */
const MAX_VALUES = 250;
/** Contacts per query when reading their past state. */
const PAGE = 50;

type Count = { signatures: number };
export type Stats = Count & {
  petitionId: string;
  offlineSignatures: number;
  days: ({ date: string } & Count)[];
  countries: ({ country: string | null } & Count)[];
  sources: ({ source: string | null } & Count)[];
  recruited: number;
  recruiters: ({ signatureId: string } & Count)[];
  thankYouMails: ThankYouCounts | null;
};

const counted = { signatures: { type: 'integer' } };
const listOf = (properties: object) => ({
  type: 'array',
  items: recordSchema({ ...properties, ...counted }),
});

@Operation({
  name: 'petition.get-stats',
  summary: 'Count the signatures of a petition by day, country and source',
  description:
    'Counts only valid signatures. Days are those of `signedAt`, in UTC; days without signatures are omitted. Countries come from the ' +
    'signers’ contacts and are null if unknown or erased. Sources are what led signers to the petition. Each ' +
    'list contains the 250 most frequent values. With `asOf`, all numbers are as they were at that time.',
  answers: recordSchema({
    petitionId: { type: 'string' },
    ...counted,
    offlineSignatures: {
      type: 'integer',
      description: 'Signatures on paper. The other numbers exclude them.',
    },
    days: listOf({ date: { type: 'string', format: 'date' } }),
    countries: listOf({ country: textOrNull }),
    sources: listOf({ source: textOrNull }),
    recruited: {
      type: 'integer',
      description: 'Signatures that came through the share links of other signers.',
    },
    recruiters: {
      ...listOf({ signatureId: { type: 'string' } }),
      description: 'The signatures whose share links brought the most signatures, and how many each brought.',
    },
    thankYouMails: {
      ...thankYouCounts,
      description:
        'The thank-you emails by outcome; null if there are none, and with `asOf`, because the history does not contain them.',
    },
  }),
})
export class GetStats extends RecordInput('petitionId') {
  @Timestamp({ optional: true, description: 'Returns the numbers as they were at this time.' })
  asOf?: string;
}

type Row = {
  day: string | null;
  source: string | null;
  country: string | null;
  kind: 'day' | 'source' | 'country' | 'all';
  signatures: number;
};

@QueryHandler(GetStats)
export class GetStatsHandler implements IQueryHandler<GetStats> {
  constructor(
    private readonly reads: ReadSource,
    private readonly resources: Resources,
    private readonly records: RecordReader,
    private readonly mails: ThankYouMails,
    private readonly offline: OfflineSignatures,
  ) {}

  async execute({ organizationId, petitionId, asOf }: GetStats): Promise<Stats | PastRecord<Stats>> {
    const past = await this.records.past(asOf);
    if (!(await this.resources.findAt(petitions, organizationId, petitionId, past))) throw noSuch('petition');
    // Later than any event, so the current state applies.
    const { moment, position } = past ?? { moment: 'infinity', position: Number.MAX_SAFE_INTEGER };
    const values = [organizationId, petitionId, moment, position];
    const rows = await queryWide<Row>(this.reads, organizationId, 'page', STATS, values);
    const recruiters = await queryWide<{ id: string; signatures: number; all: number }>(
      this.reads,
      organizationId,
      'page',
      RECRUITERS,
      values,
    );
    const of = (kind: Row['kind']) => rows.filter((row) => row.kind === kind);
    const countries = new Map(of('country').map(({ country, signatures }) => [country, signatures]));
    if (past) await this.addChanged(organizationId, values, past, countries);
    const stats: Stats = {
      petitionId,
      signatures: of('all')[0]?.signatures ?? 0,
      offlineSignatures: await this.offline.total(organizationId, petitionId, past),
      days: of('day')
        .map(({ day, signatures }) => ({ date: day!, signatures }))
        .toSorted((one, other) => (one.date < other.date ? -1 : 1)),
      countries: mostFrequent(
        [...sumByCountry(countries)].map(([country, signatures]) => ({ country, signatures })),
      ),
      sources: mostFrequent(of('source').map(({ source, signatures }) => ({ source, signatures }))),
      recruited: recruiters[0]?.all ?? 0,
      recruiters: recruiters.map(({ id, signatures }) => ({ signatureId: id, signatures })),
      thankYouMails: past ? null : await this.mails.count(organizationId, petitionId),
    };
    return past ? new PastRecord(stats, past) : stats;
  }

  /** For contacts that have changed since, reads their country at that time from their histories. */
  private async addChanged(
    organizationId: string,
    values: unknown[],
    past: Past,
    countries: Map<string | null, number>,
  ): Promise<void> {
    const changed = await queryWide<{ id: string }>(this.reads, organizationId, 'page', CHANGED, values);
    for (let n = 0; n < changed.length; n += PAGE) {
      const page = changed.slice(n, n + PAGE);
      const folded = await Promise.all(
        page.map(({ id }) => this.records.look(contact, organizationId, id, past)),
      );
      for (const { state } of folded) {
        const country = state.status === 'standing' ? state.details.country : null;
        countries.set(country, (countries.get(country) ?? 0) + 1);
      }
    }
  }
}

function mostFrequent<Counted extends Count>(all: Counted[]): Counted[] {
  return all
    .filter(({ signatures }) => signatures > 0)
    .toSorted((one, other) => other.signatures - one.signatures)
    .slice(0, MAX_VALUES);
}

const WAS_VALID = stoodAt(petitions.linkTable!, true);

const STATS = `
  SELECT day::text, source, country, CASE grouping(day, source, country)
      WHEN 3 THEN 'day' WHEN 5 THEN 'source' WHEN 6 THEN 'country' ELSE 'all' END AS kind,
    CASE WHEN grouping(country) = 1 THEN count(*) ELSE count(*) FILTER (WHERE NOT has_changed) END::int AS signatures
  FROM (
    SELECT (${signedAt('l')} AT TIME ZONE 'UTC')::date AS day, l.source, c.country,
      coalesce(c.updated_at > $3::timestamptz, false) AS has_changed
    FROM ${petitions.linkTable!} l ${joinCountry('l.subject_id')}
    WHERE ${WAS_VALID}
  ) each GROUP BY GROUPING SETS ((day), (source), (country), ())`;

const CHANGED = `
  SELECT l.subject_id AS id FROM ${petitions.linkTable!} l ${joinCountry('l.subject_id')}
  WHERE ${WAS_VALID} AND c.updated_at > $3::timestamptz`;

const RECRUITERS = `
  SELECT l.via AS id, count(*)::int AS signatures, (sum(count(*)) OVER ())::int AS all
  FROM ${petitions.linkTable!} l WHERE ${WAS_VALID} AND l.via IS NOT NULL
  GROUP BY l.via ORDER BY signatures DESC, l.via LIMIT ${MAX_VALUES}`;
