import { type CustomValue } from '../../fields/index.js';
import { type FieldCondition } from './filter.js';
import { fold } from './folded-text.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Whether the value of a custom field matches a condition; undefined if it has none. Equals `customFieldSql`. */
export function matchesCustomValue(
  { op, value: wanted }: FieldCondition,
  value: CustomValue | undefined,
  now: Date,
): boolean {
  if (value === undefined) return false;
  switch (op) {
    case 'isSet':
      return true;
    case 'is':
    case 'isNot':
      if (typeof wanted !== 'string') return value === wanted;
      return hasOption(value, wanted) || (typeof value === 'string' && fold(value) === fold(wanted));
    case 'contains':
      return (
        hasOption(value, wanted as string) ||
        (typeof value === 'string' && fold(value).includes(fold(wanted as string)))
      );
    case 'startsWith':
      return typeof value === 'string' && fold(value).startsWith(fold(wanted as string));
    case 'atLeast':
      return isOrdered(wanted, value);
    case 'atMost':
      return isOrdered(value, wanted);
    case 'between': {
      const [from, to] = wanted as [unknown, unknown];
      return isOrdered(from, value) && isOrdered(value, to);
    }
    case 'inLast': {
      const first = new Date(now.getTime() - (wanted as number) * DAY_MS);
      return isOrdered(dayOf(first), value) && isOrdered(value, dayOf(now));
    }
  }
}

function hasOption(value: CustomValue, wanted: string): boolean {
  return Array.isArray(value) && value.some((option) => fold(option) === fold(wanted));
}

/** Compares numbers, or texts by their code points, like PostgreSQL. Others are not ordered. */
function isOrdered(one: unknown, other: unknown): boolean {
  if (typeof one === 'number' && typeof other === 'number') return one <= other;
  return (
    typeof one === 'string' &&
    typeof other === 'string' &&
    Buffer.compare(Buffer.from(one), Buffer.from(other)) <= 0
  );
}

function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
