import { type RecordReader } from '#libs/commands';
import { organization, existingOrganization } from './organization.js';
import { sender, type SenderFields, senderId } from './sender.js';

/** The sender of emails, for modules that send them. */
export type Sender = SenderFields & {
  /** The organization's name. */
  name: string;
};

/**
 * @throws RpcError NOT_FOUND if the organization does not exist; NewerEvent if a later version has changed
 * it.
 */
export async function senderOf(records: RecordReader, organizationId: string): Promise<Sender> {
  const [{ state }, own] = await Promise.all([
    records.load(organization, organizationId, organizationId),
    records.load(sender, organizationId, senderId(organizationId)),
  ]);
  return { ...own.state, name: existingOrganization(state).name };
}
