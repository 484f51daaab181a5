import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { EventStore } from '#libs/event-store';
import { domainOf, type MailMessage, Mailer } from '#libs/mail';
import { Resources } from '#libs/resources';
import { hasScope, RpcError } from '#libs/rpc';
import { type ContactDetails } from '../contacts/index.js';
import { brandOf, organization, senderOf, existingOrganization } from '../organizations/index.js';
import { CustomFields, type CustomValue, namedValues } from '../fields/index.js';
import { inLanguage, type PetitionFields, petitions } from '../petitions/index.js';
import { localeNear } from '#locales';
import { PublicAddress } from '../config/index.js';
import { type Audience, type BroadcastFields, type Blocker } from './broadcast.js';
import { htmlOf, type Sender, textOf } from './layout.js';
import { CONTACT_FIELDS, type MergeFields, PETITION_FIELDS, TemplateError } from './merge-fields.js';
import { type CompiledTemplate, templates } from './templates.js';
import { SignLinks } from './sign-links.js';
import { unsubscribeToken } from './unsubscribe-token.js';

/** The parts shared by all messages of a broadcast. */
export type MessageTemplate = {
  organizationId: string;
  broadcastId: string;
  template: CompiledTemplate;
  sender: Sender & { from: MailMessage['from']; replyTo: string | null };
  organization: MergeFields['organization'];
  petition: MergeFields['petition'];
  petitionId: string | undefined;
  /** The keys of custom fields by their ids. */
  keys: ReadonlyMap<string, string>;
};

export type Blocked = { blocker: Blocker; path: string; message: string };

/** The recipient of a message. Its values by the ids of their fields. */
export type Recipient = { id: string; customFields: { [fieldId: string]: CustomValue } } & ContactDetails;

export type Letter = {
  subject: string;
  html: string;
  text: string;
  unsubscribeUrl: string;
  /** Milliseconds spent in its template. */
  took: number;
};

const MAX_TRIALS = 2;

/** The recipient of a preview without a contact: a contact without any details. */
export const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Writes a broadcast's message to each of its recipients. */
@Injectable()
export class MessageBuilder {
  constructor(
    private readonly records: RecordReader,
    private readonly resources: Resources,
    private readonly store: EventStore,
    private readonly mailer: Mailer,
    private readonly address: PublicAddress,
    private readonly customFields: CustomFields,
    private readonly signLinks: SignLinks,
  ) {}

  /**
   * Returns everything needed to write messages, or all blockers.
   *
   * @param language of the message; null: the organization's.
   * @param isCounted whether clicks on links are counted: only in what is sent, because until then such links lead nowhere.
   */
  async prepare(
    organizationId: string,
    broadcastId: string,
    fields: Omit<BroadcastFields, 'countClicks'>,
    language: string | null = null,
    isCounted = false,
  ): Promise<{ writing?: MessageTemplate; blockers: Blocked[] }> {
    const blockers: Blocked[] = [];
    const block = (blocker: Blocker, path: string, message: string) => {
      blockers.push({ blocker, path, message });
    };
    const folded = await this.records.look(organization, organizationId, organizationId);
    const { name, website, email, country } = existingOrganization(folded.state);
    const sender = await senderOf(this.records, organizationId);
    const from = sender.mailFrom ?? this.mailer.defaultFrom;
    if (fields.subject === '') block('NO_SUBJECT', 'subject', 'The broadcast has no subject.');
    if (fields.content === '') block('NO_CONTENT', 'content', 'The broadcast has no content.');
    if (!from) {
      const message = 'The organization has no sender. Set mailFrom with organization.update-organization.';
      block('NO_SENDER', 'organization.mailFrom', message);
    }
    if (sender.postalAddress === null) {
      const message =
        'The organization has no postal address, which bulk email must contain. Set postalAddress with ' +
        'organization.update-organization.';
      block('NO_POSTAL_ADDRESS', 'organization.postalAddress', message);
    }
    if (!this.address.isKnown) {
      const message =
        'Recipients could not unsubscribe: the operator has not set PUBLIC_URL, the public address of this server.';
      block('NO_PUBLIC_URL', '', message);
    }
    const petitionId = petitionOf(fields.audience);
    const { subject, preheader, content, format } = fields;
    const keys = await this.customFields.keysOf(organizationId);
    const fieldKeys = [...keys.values()];
    let template: CompiledTemplate | undefined;
    try {
      const hasPetition = petitionId !== undefined;
      template = await templates.compile({
        ...{ subject, preheader, content, format, hasPetition, fieldKeys },
        colour: sender.colour,
        countedAt: isCounted ? `${this.address.url}/l/${broadcastId}` : null,
      });
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      block(error.blocker, error.part, error.message);
    }
    if (!template) return { blockers };
    const writing: MessageTemplate = {
      organizationId,
      broadcastId,
      template,
      sender: {
        brand: await brandOf(
          this.records,
          organizationId,
          { ...sender, name: from?.name ?? name },
          this.address,
        ),
        postalAddress: sender.postalAddress,
        language: localeNear(language ?? sender.language, sender.language).language,
        // Empty only in previews: a broadcast without a sender cannot be sent.
        from: from ?? { name, address: '' },
        replyTo: sender.replyTo,
      },
      organization: { name, website, email, country, postalAddress: sender.postalAddress },
      petition:
        petitionId === undefined ? undefined : await this.petition(organizationId, petitionId, language),
      petitionId,
      keys,
    };
    const failure = await this.trial(writing);
    if (failure) return { blockers: [...blockers, failure] };
    return { writing, blockers };
  }

  /**
   * Like {@link write}, for a preview: no one can sign for a contact with it.
   *
   * @param scopes of the user who opens the preview. Without `contact:write`, the unsubscribe link belongs to
   * no contact.
   * @throws RpcError CONFLICT if the template fails.
   */
  async show(
    writing: MessageTemplate,
    contact: Recipient | null,
    scopes: readonly string[],
  ): Promise<Letter> {
    try {
      const unsubscribes = hasScope(scopes, 'contact:write') ? contact?.id : undefined;
      return await this.write(writing, contact, { unsubscribes: unsubscribes ?? NOBODY });
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw notReady([{ blocker: error.blocker, path: 'content', message: error.message }]);
    }
  }

  /** Reports templates that take too much time or memory before anyone receives a message. */
  private async trial(writing: MessageTemplate): Promise<Blocked | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.write(writing, null);
        return undefined;
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        // A short stall of the machine is not the template's fault.
        if (attempt === MAX_TRIALS)
          return { blocker: error.blocker, path: 'content', message: error.message };
      }
    }
  }

  /**
   * @param contact null: a contact without any details.
   * @param links the contacts that the personal links belong to. Without `signs`, the link to sign is the
   * petition's page.
   * @throws TemplateError
   */
  async write(
    writing: MessageTemplate,
    contact: Recipient | null,
    links: { unsubscribes: string; signs?: string } = contact
      ? { unsubscribes: contact.id, signs: contact.id }
      : { unsubscribes: NOBODY },
  ): Promise<Letter> {
    const { organizationId, broadcastId, template, sender, organization } = writing;
    const token = unsubscribeToken(this.store.keyring, {
      organizationId,
      contactId: links.unsubscribes,
      broadcastId,
    });
    const petition = this.petitionFor(writing, links.signs);
    const unsubscribeUrl = `${this.address.url}/u/${token}`;
    const fields = Object.fromEntries(CONTACT_FIELDS.map((field) => [field, contact?.[field] ?? null]));
    const { rendered, took } = await template.render({
      contact: {
        ...(fields as Omit<MergeFields['contact'], 'fields'>),
        fields: Object.fromEntries(
          Object.entries(namedValues(contact?.customFields ?? {}, writing.keys)).map(([key, value]) => [
            key,
            Array.isArray(value) ? value.join(', ') : value,
          ]),
        ),
      },
      organization,
      ...(petition ? { petition } : {}),
      unsubscribeUrl,
      language: sender.language,
    });
    return {
      subject: rendered.subject,
      html: htmlOf(rendered, sender, unsubscribeUrl),
      text: textOf(rendered, sender, unsubscribeUrl),
      unsubscribeUrl,
      took,
    };
  }

  /**
   * Builds the email from a rendered message.
   *
   * @param messageId its unique id, without the domain.
   */
  message(writing: MessageTemplate, letter: Letter, to: string, messageId: string): MailMessage {
    const { from, replyTo } = writing.sender;
    return {
      organizationId: writing.organizationId,
      from,
      replyTo,
      to,
      subject: letter.subject,
      text: letter.text,
      html: letter.html,
      messageId: `${messageId}@${domainOf(from)}`,
      headers: {
        'List-Unsubscribe': `<${letter.unsubscribeUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      },
      automatic: false,
    };
  }

  private petitionFor(
    { organizationId, broadcastId, petition, petitionId }: MessageTemplate,
    contactId: string | undefined,
  ): MergeFields['petition'] {
    if (!petition?.url || petitionId === undefined || contactId === undefined) return petition;
    const token = this.signLinks.tokenOf({ organizationId, petitionId, contactId, broadcastId });
    return { ...petition, signUrl: `${petition.url}/sign/${token}` };
  }

  /** A deleted petition counts as one without any details. */
  private async petition(
    organizationId: string,
    petitionId: string,
    language: string | null,
  ): Promise<MergeFields['petition']> {
    try {
      const record = await this.resources.get(petitions, {
        organizationId,
        petitionId,
      } as unknown as Parameters<Resources['get']>[1]);
      const own = record as unknown as PetitionFields &
        Pick<NonNullable<MergeFields['petition']>, 'url'> & { signatures: number; offlineSignatures: number };
      const { url, ...values } = language === null ? own : inLanguage(own, language);
      return pick({ ...values, url, signUrl: url, signatures: own.signatures + own.offlineSignatures });
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== 'NOT_FOUND') throw error;
      return pick({});
    }
  }
}

const OF_TEMPLATES: readonly Blocker[] = ['UNKNOWN_MERGE_FIELD', 'TEMPLATE_INVALID'];

/** Why a message has no preview. Blockers to sending, such as a missing sender, do not prevent it. */
export function notShowable(blockers: readonly Blocked[]): RpcError {
  return notReady(blockers.filter(({ blocker }) => OF_TEMPLATES.includes(blocker)));
}

/** Reports all blockers together. */
export function notReady(blockers: readonly Blocked[]): RpcError {
  const sentences = blockers.map(({ blocker, message }) => `${blocker}: ${message}`);
  return new RpcError('CONFLICT', `This broadcast cannot be sent. ${sentences.join(' ')}`, {
    reason: 'BROADCAST_NOT_READY',
    issues: blockers.map(({ path, blocker, message }) => ({ path, message: `${blocker}: ${message}` })),
  });
}

function pick(values: Partial<NonNullable<MergeFields['petition']>>): NonNullable<MergeFields['petition']> {
  return Object.fromEntries(PETITION_FIELDS.map((field) => [field, values[field] ?? null])) as NonNullable<
    MergeFields['petition']
  >;
}

/**
 * The petition that a broadcast is about: the one whose signers are the audience. Otherwise the one whose signers
 * are excluded, because everyone else is asked to sign it.
 */
function petitionOf({ filter: _, all = false, petitionIds = [], ...others }: Audience): string | undefined {
  const isOfPetitions =
    !all && Object.entries(others).every(([field, ids]) => field.startsWith('exclude') || ids.length === 0);
  if (isOfPetitions && petitionIds.length === 1) return petitionIds[0];
  const { excludePetitionIds = [] } = others;
  return excludePetitionIds.length === 1 ? excludePetitionIds[0] : undefined;
}

/**
 * The message id: the same in every retry, so mail programs recognize duplicates. Both ids are in base64url,
 * 44 characters: with a domain of 20, the header fits on one line (RFC 5322).
 */
export function messageIdOf(broadcastId: string, contactId: string): string {
  return `b${Buffer.concat([bytesOf(broadcastId), bytesOf(contactId)]).toString('base64url')}`;
}

/** Accepts both forms: earlier versions wrote the ids unencoded. Undefined if the message is not from a broadcast. */
export function readMessageId(messageId: string): { broadcastId: string; contactId: string } | undefined {
  const uuid = '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})';
  const [, broadcastId, contactId] = new RegExp(`^<?broadcast\\.${uuid}\\.${uuid}@`).exec(messageId) ?? [];
  if (broadcastId !== undefined) return { broadcastId, contactId: contactId! };
  const [, short] = /^<?b([\w-]{43})@/.exec(messageId) ?? [];
  if (short === undefined) return undefined;
  const hex = Buffer.from(short, 'base64url').toString('hex');
  return { broadcastId: uuidIn(hex.slice(0, 32)), contactId: uuidIn(hex.slice(32)) };
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function uuidIn(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
