import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { changedFields, Commands, RecordReader, Requests, writeTo } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { isSenderAddress } from '#libs/mail';
import { Email, Flag, Input, invalid, Nested, OneOf, Operation, Text } from '#libs/rpc';
import { organizationRecord, type OrganizationRecord, organizationSchema } from './organization-record.js';
import {
  organization,
  type OrganizationEvent,
  type OrganizationFields,
  standingOrganization,
} from './organization.js';
import { mailHookOf } from '../suppressions/index.js';
import { publicLog, publicLogId, publishLog } from './public-log.js';
import { LANGUAGES, sender, type SenderFields, senderId, updateSender } from './sender.js';

/** Who mail comes from. */
class MailFrom {
  @Text({ max: 200, optional: true, nullable: true, example: 'Clean Rivers' })
  name?: string | null;

  @Email({ example: 'news@rivers.example.org' })
  address!: string;
}

@Operation({
  method: 'POST',
  name: 'organization.update-organization',
  object: 'organization',
  summary: 'Change your organization',
  description: 'Only the fields given are changed; `null` clears an optional one.',
  // Whoever publishes the log may read it from then on.
  fieldScopes: { publicLog: 'event:read' },
  answers: organizationSchema,
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
      'Whether everybody may read `/log/…`, without a key: checkpoints, positions and digests, nothing of what events say.',
  })
  publicLog?: boolean;

  @Nested(() => MailFrom, {
    optional: true,
    nullable: true,
    description:
      'Who mail comes from: an address that the operator’s mail server may send from. ASCII before the @, as in `replyTo`.',
  })
  mailFrom?: MailFrom | null;

  @Email({ optional: true, nullable: true, example: 'answers@rivers.example.org' })
  replyTo?: string | null;

  @Text({ max: 500, optional: true, nullable: true, example: 'Clean Rivers, 1 Bank Street, Oslo' })
  postalAddress?: string | null;

  @OneOf(LANGUAGES, { optional: true })
  language?: SenderFields['language'];
}

@CommandHandler(UpdateOrganization)
export class UpdateOrganizationHandler implements ICommandHandler<UpdateOrganization> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly requests: Requests,
    private readonly store: EventStore,
  ) {}

  async execute(command: UpdateOrganization): Promise<OrganizationRecord> {
    const { context, organizationId, publicLog: isPublic, ...fields } = command;
    const { mailFrom, replyTo, postalAddress, language, ...given } = fields;
    const mailFields = { mailFrom: mailFrom && addressOf(mailFrom), replyTo, postalAddress, language };
    requireSendable(mailFields);
    const [logId, mailId] = [publicLogId(organizationId), senderId(organizationId)];
    let beside: number | undefined;
    const changed = await this.commands.change(
      organization,
      command,
      organizationId,
      (state): OrganizationEvent[] => {
        const data = changedFields<OrganizationFields>(standingOrganization(state), given);
        return data ? [{ type: 'OrganizationUpdated', data }] : [];
      },
      async ({ version }, events) => {
        const log = await this.records.load(publicLog, organizationId, logId);
        const logEvents = publishLog(log.state, isPublic);
        const mail = await this.records.load(sender, organizationId, mailId);
        const mailEvents = updateSender(mail.state, mailFields);
        beside = together(log.version + logEvents.length, mail.version + mailEvents.length);
        return {
          writes: [
            writeTo(organization, organizationId, version, events),
            writeTo(publicLog, logId, log.version, logEvents),
            writeTo(sender, mailId, mail.version, mailEvents),
          ],
        };
      },
    );
    // A repeated Idempotency-Key is answered with what stands beside as it was, too: its versions are kept with the key.
    const figure = await this.requests.figure(command, async () => {
      if (beside !== undefined) return beside;
      const now = await Promise.all([
        this.records.look(publicLog, organizationId, logId),
        this.records.look(sender, organizationId, mailId),
      ]);
      return together(now[0].version, now[1].version);
    });
    const [logVersion, mailVersion] = apart(figure);
    const [log, mail] = await Promise.all([
      this.records.look(publicLog, organizationId, logId, { version: logVersion }),
      this.records.look(sender, organizationId, mailId, { version: mailVersion }),
    ]);
    const mailHook = mailHookOf(this.store.keyring, organizationId);
    return organizationRecord(organizationId, changed, log, mail, mailHook);
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
    .map(([path]) => ({ path, message: 'must be an address that mail can come from: ASCII before the @' }));
  if (issues.length > 0) throw invalid(issues);
}

/** Two versions in the one number that is kept with a key; that of the log alone is what versions before 0.4.0 keep. */
const MOST_VERSIONS = 2 ** 26;

function together(log: number, mail: number): number {
  return mail * MOST_VERSIONS + log;
}

function apart(figure: number): [log: number, mail: number] {
  return [figure % MOST_VERSIONS, Math.floor(figure / MOST_VERSIONS)];
}
