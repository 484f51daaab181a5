import { isatty } from 'node:tty';

const COLOURS: Record<string, number> = { debug: 90, warn: 33, error: 31, fatal: 31 };
const SHOWN_ELSEWHERE = ['level', 'time', 'pid', 'message', 'stack'];

/** People read a terminal; programs read everything else. */
export const isTerminal = isatty(1);
/** Follows NO_COLOR and what TERM supports. */
const hasColours = isTerminal && process.stdout.hasColors();

/**
 * A log line for people: `14:03:07 info  listening port=3000`, in local time. The stack of an error follows on lines of its own.
 *
 * @param line a JSON object, as the logger writes it.
 */
export function readableLine(line: string, isColoured = hasColours): string {
  const fields = JSON.parse(line) as Record<string, unknown>;
  const { level, time, message, stack = [] } = fields;
  const colour = isColoured ? COLOURS[String(level)] : undefined;
  const label = String(level).padEnd(5);
  const rest = Object.entries(fields)
    .filter(([name]) => !SHOWN_ELSEWHERE.includes(name))
    .map(([name, value]) => `${name}=${shown(value)}`);
  const head = [
    new Date(String(time)).toTimeString().slice(0, 8),
    colour === undefined ? label : `\u001B[${colour}m${label}\u001B[39m`,
    String(message),
    ...rest,
  ];
  return [head.join(' '), ...[stack].flat().map((text) => `  ${String(text).trim()}`)].join('\n') + '\n';
}

/** Longer lists, such as the migrations of a new database, would fill the screen. The log of programs has all of them. */
const MOST_SHOWN = 5;

function shown(value: unknown): string {
  if (Array.isArray(value) && value.length > MOST_SHOWN) return `[${value.length} items]`;
  return typeof value === 'string' && /^[^\s"=\p{Cc}]+$/u.test(value) ? value : JSON.stringify(value);
}
