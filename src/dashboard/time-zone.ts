import { RecordReader } from '#libs/commands';
import { type Html, localTime, momentAt, timeZoneNamed } from '#libs/pages';
import { invalid, type Issue, operationNamed, parseInput, RpcError } from '#libs/rpc';
import { organization } from '../organizations/index.js';
import { type FormInput, type PageContext } from './page-context.js';
import { TextField } from './parts.js';

/** The organization's time zone. Every person may know it, also without access to its other settings. */
export async function timeZoneOf({ api }: PageContext): Promise<string> {
  const { organizationId: id } = api;
  const { state } = await api.find(RecordReader).look(organization, id, id);
  // This server may have older time zone data than the one that stored it.
  return (state.status === 'standing' ? timeZoneNamed(state.timeZone) : undefined) ?? 'UTC';
}

/** A field for a time in this zone. @param value RFC 3339 */
export function TimeField(
  form: FormInput,
  timeZone: string,
  {
    value,
    isOptional = true,
    ...options
  }: { name: string; label: string; hint?: string; value: string | null | undefined; isOptional?: boolean },
): Html {
  const local = value ? localTime(timeZone, new Date(value)) : undefined;
  return TextField(form, { ...options, value: local, type: 'datetime-local', isOptional });
}

/** The typed time. @param before as it is stored. It stays if unchanged: the form shows no seconds, and only one of two equal times. */
export function typedTime(
  form: FormInput,
  name: string,
  timeZone: string,
  before: string | null,
): string | null {
  const typed = form.typed(name);
  if (typed === null) return null;
  const isSame = before !== null && typed.slice(0, 16) === localTime(timeZone, new Date(before));
  return isSame ? before : (momentAt(timeZone, typed)?.toISOString() ?? typed);
}

/**
 * Rejects a typed time in the past, which would take effect immediately.
 *
 * @param fields the operation's input. Its other errors are reported together with this one. @param before the stored time,
 *   which is always allowed.
 */
export function requireFuture(
  operation: string,
  fields: Record<string, unknown>,
  name: string,
  before: string | null,
): void {
  const time = fields[name] as string | null | undefined;
  if (!time || time === before || !(Date.parse(time) <= Date.now())) return;
  throw invalid([...issuesOf(operation, fields), { path: name, message: 'must be in the future' }]);
}

/** Errors that can be found without loading records. */
function issuesOf(operation: string, fields: Record<string, unknown>): Issue[] {
  try {
    parseInput(operationNamed(operation), fields, 'body');
    return [];
  } catch (error) {
    if (error instanceof RpcError && error.details.issues) return error.details.issues;
    throw error;
  }
}
