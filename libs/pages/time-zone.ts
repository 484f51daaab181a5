const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Offsets such as +02:00 are not time zones, because they have no daylight saving time. */
const NAME = /^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/;
const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** The IANA name of a time zone in any case, as it is spelled; undefined if this server does not know it. */
export function timeZoneNamed(text: string): string | undefined {
  if (!NAME.test(text) || !isKnown(text)) return undefined;
  return timeZones().find((zone) => zone.toLowerCase() === text.toLowerCase()) ?? text;
}

function isKnown(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

export function timeZones(): string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];
}

/** What a clock in the time zone shows at this moment, for `datetime-local` inputs: `2027-06-30T22:00`. */
export function localTime(timeZone: string, moment: Date): string {
  return new Date(moment.getTime() + offsetAt(timeZone, moment.getTime())).toISOString().slice(0, 16);
}

/**
 * The moment at which a clock in the time zone shows this time. If it does so twice, because clocks are set back, the first one.
 * If it never does, because they are set forward, as long after the change as the time is: 02:30 becomes 03:30.
 *
 * @param local `2027-06-30T22:00`, as `datetime-local` inputs send it; what follows the minute is ignored.
 * @returns undefined if it is not a time.
 */
export function momentAt(timeZone: string, local: string): Date | undefined {
  const shown = LOCAL.test(local) ? Date.parse(`${local.slice(0, 16)}:00Z`) : Number.NaN;
  if (Number.isNaN(shown)) return undefined;
  const [before, after] = [-DAY_MS, DAY_MS].map((ms) => shown - offsetAt(timeZone, shown + ms));
  const isRight = (moment: number) => moment + offsetAt(timeZone, moment) === shown;
  const moment = !isRight(before!) && isRight(after!) ? after! : before!;
  return new Date(moment);
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Milliseconds by which clocks in the time zone are ahead of UTC, without seconds. */
function offsetAt(timeZone: string, moment: number): number {
  let clock = clocks.get(timeZone);
  if (!clock) {
    const digits = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
    clock = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', year: 'numeric', ...digits });
    clocks.set(timeZone, clock);
  }
  const parts = Object.fromEntries(
    clock.formatToParts(moment).map(({ type, value }) => [type, Number(value)]),
  );
  const shown = Date.UTC(parts.year!, parts.month! - 1, parts.day, parts.hour, parts.minute);
  return shown - Math.floor(moment / MINUTE_MS) * MINUTE_MS;
}
