import { RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { handlerOf, hasScope, Input, Operation, PastRecord, Timestamp } from '#libs/rpc';
import { organizationRecord, organizationSchema } from './organization-record.js';
import { organization } from './organization.js';
import { mailHookOf } from '../suppressions/index.js';
import { publicLog, publicLogId } from './public-log.js';
import { SiteAddress } from './site-address.js';
import { sender, senderId } from './sender.js';

@Operation({
  name: 'organization.get-organization',
  summary: 'Retrieve your organization',
  answers: organizationSchema,
})
export class GetOrganization extends Input {
  @Timestamp({ optional: true, description: 'Returns the organization as it was at this time.' })
  asOf?: string;
}

export const GetOrganizationHandler = handlerOf(
  GetOrganization,
  [RecordReader, EventStore, SiteAddress],
  async ({ organizationId, asOf, context }, records, store, addresses) => {
    const past = await records.past(asOf);
    const folded = await records.look(organization, organizationId, organizationId, past);
    const log = await records.look(publicLog, organizationId, publicLogId(organizationId), past);
    const mail = await records.look(sender, organizationId, senderId(organizationId), past);
    const mayReport = hasScope(context.scopes, 'organization:write');
    const mailHook = mayReport ? mailHookOf(store.keyring, organizationId) : null;
    const url = await addresses.of(organizationId);
    const record = organizationRecord(organizationId, folded, log, mail, { mailHook, url });
    return past ? new PastRecord(record, past) : record;
  },
);
