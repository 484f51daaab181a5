import { RecordReader } from '#libs/commands';
import { timeZoneNamed } from '#libs/pages';
import { organization } from '../organizations/index.js';
import { type PageContext } from './page-context.js';

/** The organization's time zone. Every person may know it, also without access to its other settings. */
export async function timeZoneOf({ api }: PageContext): Promise<string> {
  const { organizationId: id } = api;
  const { state } = await api.find(RecordReader).look(organization, id, id);
  // This server may have older time zone data than the one that stored it.
  return (state.status === 'standing' ? timeZoneNamed(state.timeZone) : undefined) ?? 'UTC';
}
