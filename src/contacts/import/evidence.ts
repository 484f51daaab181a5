/** Columns that prove a "yes". If several do, the first one that is not empty is used. */
export const EVIDENCE_COLUMNS = ['consentTime', 'consentIp', 'consentSource'] as const;
export type EvidenceColumn = (typeof EVIDENCE_COLUMNS)[number];

/** The fields of `consent` that they set. */
export const EVIDENCE_FIELDS = { consentTime: 'at', consentIp: 'ip', consentSource: 'source' } as const;

const TIME = String.raw`(?:[T ,]+(\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)?\s*([ap]m)?\s*(?:UTC|GMT|Z|([+-])(\d\d):?(\d\d))?)?`;
const YEAR_FIRST = new RegExp(String.raw`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})${TIME}$`, 'i');
const YEAR_LAST = new RegExp(String.raw`^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})${TIME}$`, 'i');

/**
 * Converts an opt-in time to RFC 3339. Without an offset it is in UTC, as Mailchimp writes it. Undefined if it
 * is not a time, or is ambiguous: 03/04/2024 is in March or in April.
 */
export function momentIn(cell: string): string | undefined {
  const text = cell.trim();
  const first = YEAR_FIRST.exec(text);
  if (first) return momentOf(first.slice(1, 4).map(Number), first.slice(4));
  const last = YEAR_LAST.exec(text);
  if (!last) return undefined;
  const [one, other, year] = [last[1], last[3], last[4]].map(Number) as [number, number, number];
  // In dates with dots, the day comes first. With slashes, that depends on the country.
  const isDayFirst = last[2] === '.' || one > 12 || one === other;
  if (!isDayFirst && other <= 12) return undefined;
  return momentOf(isDayFirst ? [year, other, one] : [year, one, other], last.slice(5));
}

function momentOf(date: number[], time: (string | undefined)[]): string | undefined {
  const [year, month, day] = date as [number, number, number];
  const [hours = '0', minutes = '0', seconds = '0', half, sign, offsetHours = '0', offsetMinutes = '0'] =
    time;
  const isAfternoon = half?.toLowerCase() === 'pm';
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (isAfternoon ? 12 : 0);
  if (hour > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const moment = Date.UTC(year, month - 1, day, hour, Number(minutes), Number(seconds));
  // JavaScript converts 30 February to 1 March.
  if (new Date(moment).getUTCDate() !== day || new Date(moment).getUTCMonth() !== month - 1) return undefined;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -60_000 : 60_000);
  return new Date(moment - offset).toISOString();
}
