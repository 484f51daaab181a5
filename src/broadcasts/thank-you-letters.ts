import { Injectable, type OnModuleInit } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { TtlCache } from '#libs/database';
import { type RecordedEvent } from '#libs/event-store';
import { Resources } from '#libs/resources';
import { invalid, RpcError } from '#libs/rpc';
import { existingPetition, petition, petitions, type ThankYouMail } from '../petitions/index.js';
import { type Blocked, MessageBuilder, type MessageTemplate, NOBODY, notReady } from './message-builder.js';

/** Without them, broadcasts cannot be sent, but this email answers a signature. */
const NOT_NEEDED: readonly Blocked['blocker'][] = ['NO_POSTAL_ADDRESS'];

type Prepared = { writing?: MessageTemplate; blockers: Blocked[] };

/** Writes the emails that thank signers, like broadcasts to the signers of the petition. */
@Injectable()
export class ThankYouLetters implements OnModuleInit {
  /** Petitions are signed in bursts. */
  private readonly prepared = new TtlCache<Prepared>();

  constructor(
    private readonly records: RecordReader,
    private readonly resources: Resources,
    private readonly messageBuilder: MessageBuilder,
  ) {}

  /** A wrong email would only be noticed when people sign, so petitions are checked when they change. */
  onModuleInit(): void {
    this.resources.checkBy(petitions, async (organizationId, events) => {
      for (const { data } of events) {
        const mail = data.thankYouMail as ThankYouMail | null | undefined;
        if (!mail) continue;
        const { blockers } = await this.prepare(organizationId, NOBODY, mail);
        const faults = blockers.filter(({ path }) => path === 'subject' || path === 'content');
        if (faults.length > 0)
          throw invalid(
            faults.map(({ path, blocker, message }) => ({
              path: `thankYouMail.${path}`,
              message: `${blocker}: ${message}`,
            })),
          );
      }
    });
  }

  /** The email of a petition; undefined if it has none or was deleted. */
  async current(organizationId: string, petitionId: string): Promise<Prepared | undefined> {
    const { state, version } = await this.records.load(petition, organizationId, petitionId);
    const mail = 'thankYouMail' in state ? state.thankYouMail : null;
    if (!mail) return undefined;
    return this.prepared.get(`${organizationId} ${petitionId} ${version}`, () =>
      this.prepare(organizationId, petitionId, mail),
    );
  }

  /** Whether a petition had an email when the event was recorded. */
  async hadAt({ organizationId, position, recordedAt }: RecordedEvent, petitionId: string): Promise<boolean> {
    const { state } = await this.records.look(petition, organizationId, petitionId, {
      moment: recordedAt,
      position,
    });
    return 'thankYouMail' in state && state.thankYouMail !== null;
  }

  /**
   * The template of a petition's email, for a preview or a test.
   *
   * @param unless blockers that do not matter.
   * @throws RpcError NOT_FOUND if the petition does not exist; CONFLICT if it has no email, or it cannot be written.
   */
  async require(
    organizationId: string,
    petitionId: string,
    unless: readonly Blocked['blocker'][],
  ): Promise<MessageTemplate> {
    const { state } = await this.records.look(petition, organizationId, petitionId);
    const { thankYouMail } = existingPetition(state);
    if (!thankYouMail) {
      throw new RpcError(
        'CONFLICT',
        'This petition has no thank-you email. Set thankYouMail with petition.update-petition.',
        { reason: 'NO_THANK_YOU_MAIL' },
      );
    }
    const { writing, blockers } = await this.prepare(organizationId, petitionId, thankYouMail);
    const left = blockers.filter(({ blocker }) => !unless.includes(blocker));
    if (!writing || left.length > 0) throw notReady(left);
    return writing;
  }

  private async prepare(
    organizationId: string,
    petitionId: string,
    { subject, content }: ThankYouMail,
  ): Promise<Prepared> {
    const audience = { petitionIds: [petitionId] };
    const fields = { name: '', subject, preheader: null, content, format: 'MARKDOWN', audience } as const;
    const { writing, blockers } = await this.messageBuilder.prepare(organizationId, petitionId, fields);
    const left = blockers.filter(({ blocker }) => !NOT_NEEDED.includes(blocker));
    return { ...(writing ? { writing } : {}), blockers: left };
  }
}
