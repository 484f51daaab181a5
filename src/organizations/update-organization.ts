import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader, Requests, writeTo } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { isSenderAddress } from '#libs/mail';
import { timeZoneNamed } from '#libs/pages';
import { Resources } from '#libs/resources';
import {
  Colour,
  Email,
  Flag,
  Input,
  invalid,
  Nested,
  OneOf,
  Operation,
  Slug,
  Text,
  WebAddress,
} from '#libs/rpc';
import { images } from '../images/index.js';
import { organizationRecord, type OrganizationRecord, organizationSchema } from './organization-record.js';
import {
  organization,
  type OrganizationFields,
  existingOrganization,
  updateOrganization,
} from './organization.js';
import { mailHookOf } from '../suppressions/index.js';
import { OrganizationNames } from './organization-names.js';
import { isReserved, OrganizationSlugs } from './organization-slugs.js';
import { publicLog, publicLogId, publishLog } from './public-log.js';
import { LANGUAGES, sender, type SenderFields, senderId, updateSender } from './sender.js';
import { SiteAddress } from './site-address.js';

/** The sender of email. */
class MailFrom {
  @Text({ max: 200, optional: true, nullable: true, example: 'Clean Rivers' })
  name?: string | null;

  @Email({ example: 'news@rivers.example.org' })
  address!: string;
}

@Operation({
  name: 'organization.update-organization',
  summary: 'Update your organization',
  description: 'Changes only the fields you send; `null` clears an optional field.',
  // Publishing the log makes it readable for everyone, so it requires the scope to read it.
  fieldScopes: { publicLog: 'history:read' },
  answers: organizationSchema,
  reasons: ['SLUG_TAKEN'],
})
export class UpdateOrganization extends Input {
  @Text({ max: 200, optional: true, example: 'Clean Rivers' })
  name?: string;

  @Text({ max: 500, optional: true, nullable: true, example: 'https://rivers.example.org' })
  website?: string | null;

  @Email({ optional: true, nullable: true, example: 'office@rivers.example.org' })
  email?: string | null;

  @Text({ max: 500, optional: true, nullable: true })
  country?: string | null;

  @Flag({
    optional: true,
    description:
      'Whether anyone can read `/log/…` without a key. It contains checkpoints, positions and digests, but no ' +
      'event content.',
  })
  publicLog?: boolean;

  @Nested(() => MailFrom, {
    optional: true,
    nullable: true,
    description:
      'The sender of email: an address that the operator’s mail server can send from. Must be ASCII before the @, ' +
      'as must `replyTo`.',
  })
  mailFrom?: MailFrom | null;

  @Email({ optional: true, nullable: true, example: 'answers@rivers.example.org' })
  replyTo?: string | null;

  @Text({ max: 500, optional: true, nullable: true, example: 'Clean Rivers, 1 Bank Street, Oslo' })
  postalAddress?: string | null;

  @OneOf(LANGUAGES, {
    optional: true,
    description: 'The language of its pages, and of email that the server itself writes.',
  })
  language?: SenderFields['language'];

  @Slug({
    optional: true,
    nullable: true,
    example: 'clean-rivers',
    description: 'The first part of the path of its pages. A previous slug redirects to them for a year.',
  })
  slug?: string | null;

  @Colour({
    optional: true,
    nullable: true,
    example: '#0b6e4f',
    description: 'The accent colour of its pages.',
  })
  colour?: string | null;

  @Text({
    max: 500,
    optional: true,
    nullable: true,
    namesRecord: true,
    description: "Its logo: one of the organization's images.",
  })
  imageId?: string | null;

  @WebAddress({ max: 500, optional: true, nullable: true, example: 'https://rivers.example.org/privacy' })
  privacyUrl?: string | null;

  @Text({
    max: 100,
    optional: true,
    documentedDefault: 'UTC',
    example: 'Europe/Berlin',
    description: 'The IANA name of the time zone in which its pages show times.',
  })
  timeZone?: string;
}

/** @throws RpcError BAD_REQUEST if there is no such time zone. */
function readTimeZone(given: string | undefined): { timeZone?: string } {
  if (given === undefined) return {};
  const timeZone = timeZoneNamed(given);
  if (timeZone !== undefined) return { timeZone };
  throw invalid([{ path: 'timeZone', message: 'must be the IANA name of a time zone, like Europe/Berlin' }]);
}

@CommandHandler(UpdateOrganization)
export class UpdateOrganizationHandler implements ICommandHandler<UpdateOrganization> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly store: EventStore,
    private readonly names: OrganizationNames,
    private readonly slugs: OrganizationSlugs,
    private readonly resources: Resources,
    private readonly addresses: SiteAddress,
  ) {}

  async execute(command: UpdateOrganization): Promise<OrganizationRecord> {
    const { context, organizationId, publicLog: isPublic, ...fields } = command;
    const { mailFrom, replyTo, postalAddress, language, ...rest } = fields;
    const given = { ...rest, ...readTimeZone(rest.timeZone) };
    const mailFields = { mailFrom: mailFrom && addressOf(mailFrom), replyTo, postalAddress, language };
    requireSendable(mailFields);
    requireFree(given.slug);
    const [logId, mailId] = [publicLogId(organizationId), senderId(organizationId)];
    let versions: number | undefined;
    const changed = await this.commands.change(
      organization,
      command,
      organizationId,
      (state) => updateOrganization(state, given),
      async ({ version }, events) => {
        await this.prepare(organizationId, given);
        const log = await this.records.load(publicLog, organizationId, logId);
        const logEvents = publishLog(log.state, isPublic);
        const mail = await this.records.load(sender, organizationId, mailId);
        const mailEvents = updateSender(mail.state, mailFields);
        versions = packVersions(log.version + logEvents.length, mail.version + mailEvents.length);
        return {
          recordVersion: version + log.version + mail.version,
          writes: [
            writeTo(organization, organizationId, version, events),
            writeTo(publicLog, logId, log.version, logEvents),
            writeTo(sender, mailId, mail.version, mailEvents),
          ],
        };
      },
    );
    // A repeated Idempotency-Key returns the other streams as they were, too: their versions are stored with
    // the key.
    const figure = await this.requests.figure(command, async () => {
      if (versions !== undefined) return versions;
      const now = await Promise.all([
        this.records.look(publicLog, organizationId, logId),
        this.records.look(sender, organizationId, mailId),
      ]);
      return packVersions(now[0].version, now[1].version);
    });
    const [logVersion, mailVersion] = unpackVersions(figure);
    const [log, mail] = await Promise.all([
      this.records.look(publicLog, organizationId, logId, { version: logVersion }),
      this.records.look(sender, organizationId, mailId, { version: mailVersion }),
    ]);
    const mailHook = mailHookOf(this.store.keyring, organizationId);
    const { name, colour } = existingOrganization(changed.state);
    if (given.name !== undefined || given.colour !== undefined)
      this.names.keep(organizationId, { name, colour });
    if (given.slug !== undefined) await this.settleSlug(organizationId);
    const url = this.addresses.with(organizationId, existingOrganization(changed.state).slug);
    return organizationRecord(organizationId, changed, log, mail, { mailHook, url });
  }

  /** Uses the current state: a repeated request may be old. */
  private async settleSlug(organizationId: string): Promise<void> {
    const { state } = await this.records.look(organization, organizationId, organizationId);
    await this.slugs.settle(organizationId, existingOrganization(state).slug);
    this.addresses.forget(organizationId);
  }

  /** Problems that do not follow from its own history. */
  private async prepare(
    organizationId: string,
    { slug, imageId }: Partial<OrganizationFields>,
  ): Promise<void> {
    if (imageId != null) await this.resources.require(images, organizationId, imageId);
    if (slug != null) await this.slugs.take(organizationId, slug);
  }
}

function addressOf({ name = null, address }: MailFrom): SenderFields['mailFrom'] {
  return { name, address };
}

/** @throws RpcError BAD_REQUEST for addresses that few servers could send from or to. */
function requireSendable({ mailFrom, replyTo }: Partial<SenderFields>): void {
  const addresses = { 'mailFrom.address': mailFrom?.address, replyTo };
  const issues = Object.entries(addresses)
    .filter(([, address]) => address != null && !isSenderAddress(address))
    .map(([path]) => ({
      path,
      message: 'must be an address that email can be sent from, with only ASCII before the @',
    }));
  if (issues.length > 0) throw invalid(issues);
}

/** @throws RpcError BAD_REQUEST for slugs that are paths of this server. */
function requireFree(slug: string | null | undefined): void {
  if (slug == null || !isReserved(slug)) return;
  throw invalid([{ path: 'slug', message: 'is an address of this server: choose another' }]);
}

/** Packs two versions into the one number stored with a key. Versions before 0.4.0 stored only the log's. */
const MAX_VERSIONS = 2 ** 26;

function packVersions(log: number, mail: number): number {
  return mail * MAX_VERSIONS + log;
}

function unpackVersions(figure: number): [log: number, mail: number] {
  return [figure % MAX_VERSIONS, Math.floor(figure / MAX_VERSIONS)];
}
