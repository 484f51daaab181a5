import { RecordReader } from '#libs/commands';
import { queryWide, ReadSource } from '#libs/database';
import { stoodAt } from '#libs/links';
import { Resources } from '#libs/resources';
import {
  handlerOf,
  noSuch,
  Operation,
  PastRecord,
  RecordInput,
  recordSchema,
  textOrNull,
  Timestamp,
} from '#libs/rpc';
import { forms } from './forms.js';

/** Maximum sources returned: they are free text. */
const MAX_SOURCES = 250;

type FormStats = {
  formId: string;
  submissions: number;
  days: { date: string; submissions: number }[];
  sources: { source: string | null; submissions: number }[];
};

const counted = { submissions: { type: 'integer' } };
const listOf = (properties: object) => ({
  type: 'array',
  items: recordSchema({ ...properties, ...counted }),
});

@Operation({
  name: 'form.get-stats',
  summary: 'Count the sign-ups of a form by day and source',
  description:
    'Counts only confirmed sign-ups. Days are those of the confirmation, in UTC; days without sign-ups are omitted. Sources are ' +
    `what led people to the form, the ${MAX_SOURCES} most frequent first. With \`asOf\`, all numbers are as they were at that time.`,
  answers: recordSchema({
    formId: { type: 'string' },
    ...counted,
    days: listOf({ date: { type: 'string', format: 'date' } }),
    sources: listOf({ source: textOrNull }),
  }),
})
export class GetFormStats extends RecordInput('formId') {
  @Timestamp({ optional: true, description: 'Returns the numbers as they were at this time.' })
  asOf?: string;
}

type Row = { kind: 'day' | 'source' | 'all'; day: string | null; source: string | null; submissions: number };

export const GetFormStatsHandler = handlerOf(
  GetFormStats,
  [ReadSource, Resources, RecordReader],
  async ({ organizationId, formId, asOf }, reads, resources, records) => {
    const past = await records.past(asOf);
    if (!(await resources.findAt(forms, organizationId, formId, past))) throw noSuch('form');
    // Later than any event, so the current state applies.
    const { moment, position } = past ?? { moment: 'infinity', position: Number.MAX_SAFE_INTEGER };
    const values = [organizationId, formId, moment, position];
    const rows = await queryWide<Row>(reads, organizationId, 'page', STATS, values);
    const of = (kind: Row['kind']) => rows.filter((row) => row.kind === kind);
    const stats: FormStats = {
      formId,
      submissions: of('all')[0]?.submissions ?? 0,
      days: of('day')
        .map(({ day, submissions }) => ({ date: day!, submissions }))
        .toSorted((one, other) => (one.date < other.date ? -1 : 1)),
      sources: of('source')
        .map(({ source, submissions }) => ({ source, submissions }))
        .toSorted((one, other) => other.submissions - one.submissions)
        .slice(0, MAX_SOURCES),
    };
    return past ? new PastRecord(stats, past) : stats;
  },
);

/** A sign-up and its request share a stream, and the request has the source. */
const STATS = `
  SELECT day::text, source,
    CASE grouping(day, source) WHEN 1 THEN 'day' WHEN 2 THEN 'source' ELSE 'all' END AS kind, count(*)::int AS submissions
  FROM (
    SELECT (l.created_at AT TIME ZONE 'UTC')::date AS day, p.source
    FROM ${forms.linkTable!} l
    LEFT JOIN ${forms.otherLinkTable!} p ON p.organization_id = l.organization_id AND p.id = l.id
    WHERE ${stoodAt(forms.linkTable!, false)}
  ) each GROUP BY GROUPING SETS ((day), (source), ())`;
