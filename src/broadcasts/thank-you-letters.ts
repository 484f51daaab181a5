import { Injectable, type OnModuleInit } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { TtlCache } from '#libs/database';
import { type RecordedEvent } from '#libs/event-store';
import { Resources } from '#libs/resources';
import { invalid, RpcError } from '#libs/rpc';
import {
  existingPetition,
  type ExistingPetition,
  inLanguage,
  petition,
  type PetitionFields,
  petitions,
  type ThankYouMail,
} from '../petitions/index.js';
import { type Blocked, MessageBuilder, type MessageTemplate, NOBODY, notReady } from './message-builder.js';

/** Without them, broadcasts cannot be sent, but this email responds to a signature. */
const NOT_NEEDED: readonly Blocked['blocker'][] = ['NO_POSTAL_ADDRESS'];

/** Milliseconds for the emails of one request. One thread checks those of all organizations. */
const LONGEST_CHECK = 2_000;

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
        const { thankYouMail, translations = {} } = data as Partial<PetitionFields>;
        await this.check(organizationId, thankYouMail, '');
        const started = performance.now();
        for (const [language, texts] of Object.entries(translations)) {
          if (performance.now() - started > LONGEST_CHECK)
            throw invalid([
              {
                path: 'translations',
                message:
                  'contains emails that take too long to check together: send a few languages at a time',
              },
            ]);
          await this.check(organizationId, texts?.thankYouMail, `translations.${language}.`);
        }
      }
    });
  }

  /**
   * The email of a petition; undefined if it has none or was deleted.
   *
   * @param language of the signer's page; null: unknown.
   */
  async current(
    organizationId: string,
    petitionId: string,
    language: string | null,
  ): Promise<Prepared | undefined> {
    const { state, version } = await this.records.load(petition, organizationId, petitionId);
    const written = 'thankYouMail' in state ? mailIn(state, language) : undefined;
    if (!written) return undefined;
    return this.prepared.get(`${organizationId} ${petitionId} ${version} ${language}`, () =>
      this.prepare(organizationId, petitionId, written.mail, written.language),
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
   * @param language of a translation. Default: the petition's own.
   * @param unless blockers that do not matter.
   * @throws RpcError NOT_FOUND if the petition does not exist; CONFLICT if it has no email, or it cannot be written.
   */
  async require(
    organizationId: string,
    petitionId: string,
    language: string | undefined,
    unless: readonly Blocked['blocker'][],
  ): Promise<MessageTemplate> {
    const { state } = await this.records.look(petition, organizationId, petitionId);
    const written = mailIn(existingPetition(state), language ?? null);
    if (!written) {
      throw new RpcError(
        'CONFLICT',
        'This petition has no thank-you email. Set thankYouMail with petition.update-petition.',
        { reason: 'NO_THANK_YOU_MAIL' },
      );
    }
    const { writing, blockers } = await this.prepare(
      organizationId,
      petitionId,
      written.mail,
      written.language,
    );
    const left = blockers.filter(({ blocker }) => !unless.includes(blocker));
    if (!writing || left.length > 0) throw notReady(left);
    return writing;
  }

  /** @param at where the email is in the input. */
  private async check(organizationId: string, mail: ThankYouMail | null | undefined, at: string) {
    if (!mail) return;
    const { blockers } = await this.prepare(organizationId, NOBODY, mail, null);
    const faults = blockers.filter(({ path }) => path === 'subject' || path === 'content');
    if (faults.length > 0)
      throw invalid(
        faults.map(({ path, blocker, message }) => ({
          path: `${at}thankYouMail.${path}`,
          message: `${blocker}: ${message}`,
        })),
      );
  }

  private async prepare(
    organizationId: string,
    petitionId: string,
    { subject, content }: ThankYouMail,
    language: string | null,
  ): Promise<Prepared> {
    const audience = { petitionIds: [petitionId] };
    const fields = { name: '', subject, preheader: null, content, format: 'MARKDOWN', audience } as const;
    const { writing, blockers } = await this.messageBuilder.prepare(
      organizationId,
      petitionId,
      fields,
      language,
    );
    const left = blockers.filter(({ blocker }) => !NOT_NEEDED.includes(blocker));
    return { ...(writing ? { writing } : {}), blockers: left };
  }
}

/** The email in a language, and that language. Petitions without an email have none in other languages either. */
function mailIn(
  petition: ExistingPetition,
  language: string | null,
): { mail: ThankYouMail; language: string | null } | undefined {
  if (!petition.thankYouMail) return undefined;
  const own = { mail: petition.thankYouMail, language: language ?? petition.language };
  return language === null ? own : { ...own, mail: inLanguage(petition, language).thankYouMail! };
}
