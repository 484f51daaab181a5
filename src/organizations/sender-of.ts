import { type RecordReader } from '#libs/commands';
import { organization, existingOrganization } from './organization.js';
import { sender, type SenderFields, senderId } from './sender.js';

/** Who writes, for whoever makes mail. */
export type Sender = SenderFields & {
  /** The organization's. */
  name: string;
};

/** @throws RpcError NOT_FOUND where there is no such organization, NewerEvent where a later version has changed it. */
export async function senderOf(records: RecordReader, organizationId: string): Promise<Sender> {
  const [{ state }, own] = await Promise.all([
    records.load(organization, organizationId, organizationId),
    records.load(sender, organizationId, senderId(organizationId)),
  ]);
  return { ...own.state, name: existingOrganization(state).name };
}
