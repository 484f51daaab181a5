import { type RecordReader } from '#libs/commands';
import { type Brand } from '#libs/mail';
import { type PublicAddress } from '../config/index.js';
import { image, logoFileOf } from '../images/index.js';
import { organization, existingOrganization } from './organization.js';
import { sender, type SenderFields, senderId } from './sender.js';

/** The sender of emails, for modules that send them. */
export type Sender = SenderFields & {
  /** The organization's name. */
  name: string;
  colour: string | null;
  imageId: string | null;
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
  const { name, colour, imageId } = existingOrganization(state);
  return { ...own.state, name, colour, imageId };
}

/** What emails of the organization look like. @param name as the email names it */
export async function brandOf(
  records: RecordReader,
  organizationId: string,
  { name, colour, imageId }: Pick<Sender, 'name' | 'colour' | 'imageId'>,
  { url }: PublicAddress,
): Promise<Brand> {
  const logo = imageId === null ? undefined : await records.look(image, organizationId, imageId);
  const file = logo?.state.status === 'standing' ? logoFileOf(logo.state) : undefined;
  return { name, colour, logo: file ? { ...file, url: url + file.path } : null };
}
