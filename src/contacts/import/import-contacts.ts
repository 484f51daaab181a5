import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader, Requests } from '#libs/commands';
import { DamagedEvent, EventStore, type Guard, NewerEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { type Resource } from '#libs/resources';
import {
  comparableEmail,
  Flag,
  Id,
  type Input,
  type InputClass,
  inputOf,
  OneOf,
  Operation,
  OperationRunner,
  recordSchema,
  type RequestContext,
  RpcError,
  StreamedInput,
  Text,
} from '#libs/rpc';
import { MAP_FIELD, readMap } from './column-map.js';
import { prefetch } from './prefetch.js';
import { settleAll } from './settle-all.js';
import { withSmallHeap } from './small-heap.js';
import { contact, type Contact, hasEmail, type ExistingContact } from '../contact.js';
import { Consents, isGiven } from '../consent/consents.js';
import { ContactsByEmail, emailKeys, emailTaken } from '../contact-address.js';
import { type GivenContact, mergeContact, newContact } from '../contact-write.js';
import {
  type DecidedColumns,
  describeNamingColumns,
  type ImportedContact,
  type ImportedLine,
  type LineSource,
  NDJSON,
  readImport,
} from './imported-contacts.js';
import { CustomFields } from '../../fields/index.js';
import { externalIdKey, externalIdTaken } from '../external-ids.js';
import { ImportedLinks, type NamedRecords, type Target } from './imported-links.js';
import { ImportedSignatures, type Signing } from './imported-signatures.js';

/** Failed lines that a response lists; it only counts the others. */
const MOST_FAILURES = 100;

const count = { type: 'integer' };
const failure = recordSchema({ line: count, message: { type: 'string' } });

/** The kinds of records to which all contacts of a file can be linked, by the field that names them. */
const targets = new Map<string, Resource>();
const IMPORT_SCOPES: Record<string, string> = {};

/**
 * Lets an import link all its contacts to a record of another module. Call it where the kind is declared,
 * before the first request.
 *
 * @param description of the field, which is named like the record's id: `listId`.
 */
export function importContactsInto(resource: Resource, description: string): void {
  Id({ optional: true, description })(ImportContacts.prototype, resource.idField);
  IMPORT_SCOPES[resource.idField] = `${resource.object}:write`;
  targets.set(resource.idField, resource);
}

/** @returns the guard under which the address stays unsuppressed; undefined if it is suppressed. */
type Unsuppressed = (
  reads: { records: RecordReader; store: EventStore },
  organizationId: string,
  email: string,
) => Promise<Guard | undefined>;
type Suppress = InputClass<Input & { email: string; reason: string }>;
let suppress: Suppress | undefined;
let unsuppressed: Unsuppressed | undefined;

/**
 * Registers the command that suppresses an address, and the check whether it is suppressed. Call it where the
 * module is declared, before the first request.
 */
export function suppressImportedBy(command: Suppress, whether: Unsuppressed): void {
  suppress = command;
  unsuppressed = whether;
}

const DESCRIPTION =
  'The body contains one contact per line and can be of any length. NDJSON lines have the fields of ' +
  'create-contact. The first line of a CSV table names its columns: the fields of create-contact, or the names ' +
  'that other systems use for them. The delimiter and the character set are detected. Missing, null or empty ' +
  'fields are left unchanged.\n\nNo one is subscribed by accident. Columns such as `status`, `unsubscribed` or ' +
  '`No Bulk Emails` are recognized with their values; one "no" outweighs every "yes". If no column states who ' +
  'is subscribed, set `subscribed` for everyone else; otherwise, the request fails with 400. An import ' +
  'resubscribes an unsubscribed contact only if three conditions are met. The line has `onConflict: update`. ' +
  'It proves that the person agreed after unsubscribing (`consent.at`, or an opt-in time). The address is not ' +
  'suppressed. Columns such as `opt-in time`, `opt-in IP` and `source` are recorded as the `consent` of ' +
  'subscribed contacts. If no column states otherwise, people with a tag, list, note or custom field such as ' +
  '`Unsubscribed` or `No emails, please` are not subscribed. Addresses that bounced or were marked as spam are also suppressed, which requires the ' +
  'scope `suppression:write`.\n\nA contact that already matches its line is `unchanged`. If it differs, the line ' +
  'fails, or updates the contact with `onConflict: update`. A contact whose line says no is unsubscribed even if ' +
  'the line fails. A failed line does not affect other lines; the ' +
  `first ${MOST_FAILURES} are reported with their line numbers. To resume an interrupted import, send the same ` +
  'file again. Exports can be imported without changes: `id`, `createdAt` and `updatedAt` are ignored. The ' +
  "apostrophe before a CSV cell like `'+49 …`, which keeps spreadsheets from reading it as a formula, is also " +
  'ignored.';

@Operation({
  name: 'contact.import-contacts',
  object: 'import',
  summary: 'Import contacts',
  get description() {
    return [DESCRIPTION, ...describeNamingColumns()].join(' ');
  },
  answers: recordSchema({
    created: count,
    updated: count,
    unchanged: count,
    failed: { type: 'array', items: failure, maxItems: MOST_FAILURES },
    failedCount: count,
  }),
  bodyTypes: ['application/x-ndjson', 'text/csv'],
  fieldScopes: IMPORT_SCOPES,
})
export class ImportContacts extends StreamedInput {
  @OneOf(['fail', 'update'], { default: 'fail' })
  onConflict!: 'fail' | 'update';

  @Flag({
    optional: true,
    description:
      'Whether contacts are subscribed if their line does not state it. Required unless a column states it. ' +
      'Existing contacts keep their setting.',
  })
  subscribed?: boolean;

  @OneOf(['refuse', 'ignore'], {
    default: 'refuse',
    description: 'Whether a CSV table with unrecognized columns is rejected or imported without them.',
  })
  unknown!: 'refuse' | 'ignore';

  @Text(MAP_FIELD)
  map?: string;

  /** Called after each page with the counts so far. Not a field. */
  onProgress?: (done: ImportAnswer) => void;
  /** How the columns are used, if that was decided before. Not a field. */
  columns?: DecidedColumns;
  /** Whether a contact that differs from its line and is left unchanged is still linked. Not a field. */
  linksTaken?: boolean;
  /** The petition that each contact signs. Not a field. */
  signing?: Signing;
  /** The background import that this is a part of. Not a field. */
  run?: ImportRun;
}

/** A background import, which several processes may run one after another. */
export type ImportRun = {
  /** The last line that earlier attempts finished. */
  after: number;
  /** Whether an earlier attempt may have stored further lines without finishing their page. */
  isRepeated: boolean;
  /** Whether nothing is stored. */
  isDry: boolean;
  /** The id of the first event that a line stores. It is the same in each attempt. */
  eventIdOf(this: void, line: number): string;
  /** Called after each page; the next page may be in progress. */
  finish(this: void, page: FinishedPage): Promise<void>;
  /** Why the import must end. Then lines that are not stored yet are left out. */
  ending(this: void): Error | undefined;
};

export type FinishedPage = { lastLine: number; bytes: number; rows: FinishedRow[] };

/**
 * `hasSigned`: whether the line added a signature. `source`: the cells or fields of a line that failed; undefined if it
 * could not be read.
 */
export type FinishedRow = { line: number; contactId: string | null } & (
  | { did: 'created' | 'updated' | 'unchanged'; hasSigned?: true }
  | { problem: string; address: string; source: LineSource | undefined }
);

export function targetsOf(command: object): Target[] {
  const given = command as { [field: string]: string | undefined };
  return [...targets].flatMap(([field, resource]) => {
    const id = given[field];
    return id === undefined ? [] : [{ resource, id }];
  });
}

export type ImportAnswer = {
  created: number;
  updated: number;
  unchanged: number;
  /** The signatures added by an import of signatures. */
  signed?: number;
  failed: { line: number; message: string }[];
  failedCount: number;
};

type Done =
  /**
   * `contactId`: null in a dry run for a contact that would be created. `position`: of the line's last event, if this
   * attempt stored one.
   */
  | {
      did: 'created' | 'updated' | 'unchanged';
      contactId: string | null;
      position?: number | undefined;
      hasSigned?: true;
    }
  /** `contactId`: the contact that has the address, and is at most unsubscribed. */
  | { problem: string; contactId?: string; position?: number | undefined }
  /** The import ended before. */
  | { isLeftOut: true };

/** For a line that was rejected. */
const NO_NAMES: NamedRecords = new Map();

/** An event that an earlier attempt stored for a line. */
type Stored = { streamType: string; streamId: string; type: string };

type Known = { contactId: string; state: ExistingContact; version: number };

type ImportedPage = { page: ImportedLine[]; results: Done[] };

/** A page, and the contacts that have its addresses and external ids, by these: see `namesOf`. */
type LookedUp = { page: ImportedLine[]; known: Map<string, Known> };

/** The contact events that an import can write. */
/** Part of the problem of a line that failed and nevertheless unsubscribed its contact. */
export const UNSUBSCRIBED = 'It was unsubscribed.';

const WRITTEN = ['ContactCreated', 'ContactUpdated', 'ContactSubscribed', 'ContactUnsubscribed'];

@CommandHandler(ImportContacts)
export class ImportContactsHandler implements ICommandHandler<ImportContacts> {
  constructor(
    private readonly commands: Commands,
    private readonly requests: Requests,
    private readonly records: RecordReader,
    private readonly projections: Projections,
    private readonly links: ImportedLinks,
    private readonly signatures: ImportedSignatures,
    private readonly byEmail: ContactsByEmail,
    private readonly runner: OperationRunner,
    private readonly consents: Consents,
    private readonly store: EventStore,
    private readonly fields: CustomFields,
  ) {}

  execute(command: ImportContacts): Promise<ImportAnswer> {
    return this.requests.runStreamed(command, (bytes) => withSmallHeap(() => this.import(command, bytes)));
  }

  private async import(command: ImportContacts, bytes: AsyncIterable<Uint8Array>): Promise<ImportAnswer> {
    // The key applies to the whole import; its parts are idempotent by their effect.
    const { idempotencyKey, onReplay, ...context } = command.context;
    const { organizationId, onProgress, run, signing } = command;
    const into = targetsOf(command);
    await this.links.require(organizationId, into);
    if (signing) await this.signatures.require(organizationId, signing.petitionId);
    const fields = await this.fields.definitions(organizationId);
    const map = readMap(command.map, command.mediaType !== NDJSON, fields, signing !== undefined);

    const answer: ImportAnswer = {
      ...{ created: 0, updated: 0, unchanged: 0 },
      ...(signing && { signed: 0 }),
      ...{ failed: [], failedCount: 0 },
    };
    const read = prefetch(readImport(bytes, { ...readingOf(command), context, fields, map }));
    const lookedUp = prefetch(this.lookUp(organizationId, read));
    const imported = prefetch(this.importPages(command, lookedUp));
    const shown = run?.isDry ? imported : prefetch(this.showPages(imported));
    const linked = run?.isDry ? shown : prefetch(this.linkPages(command, { context, into }, shown));
    const signed = signing ? prefetch(this.signPages(command, context, linked)) : linked;
    for await (const { page, results } of signed) {
      results.forEach((done, index) => add(answer, page[index]!.line, done));
      await run?.finish(finishedPage(page, results));
      onProgress?.(answer);
      if (results.some((done) => 'isLeftOut' in done)) break;
    }
    const ending = run?.ending();
    if (ending) throw ending;
    return answer;
  }

  /** Waits until the projections show the contacts of each page. */
  private async *showPages(pages: AsyncIterable<ImportedPage>): AsyncGenerator<ImportedPage, void> {
    for await (const imported of pages) {
      const positions = imported.results.map((done) => ('position' in done ? (done.position ?? 0) : 0));
      // An existing contact may have been created by another instance just before.
      if (imported.results.every((done) => !('did' in done) || done.did === 'created'))
        await this.projections.catchUp(Math.max(0, ...positions), WRITTEN);
      else await this.projections.catchUpWithLog(WRITTEN);
      yield imported;
    }
  }

  private async *linkPages(
    { linksTaken, run }: ImportContacts,
    { context, into }: { context: RequestContext; into: readonly Target[] },
    pages: AsyncIterable<ImportedPage>,
  ): AsyncGenerator<ImportedPage, void> {
    for await (const { page, results } of pages) {
      const contacts = results.flatMap((done, index) => {
        const line = page[index]!;
        if ('isLeftOut' in done || !done.contactId || !('names' in line)) return [];
        const { contactId } = done;
        if ('did' in done) return [{ contactId, isNew: done.did === 'created', names: line.names }];
        return linksTaken ? [{ contactId, isNew: false, names: NO_NAMES }] : [];
      });
      try {
        await this.links.link(context, into, contacts);
        await this.block(context, page);
      } catch (error) {
        if (!run?.ending()) throw error;
      }
      yield { page, results };
    }
  }

  /** Adds the signatures of each page. In a dry run, finds out which of them exist. */
  private async *signPages(
    { organizationId, signing, run }: ImportContacts,
    context: RequestContext,
    pages: AsyncIterable<ImportedPage>,
  ): AsyncGenerator<ImportedPage, void> {
    const { petitionId, signatureIdOf } = signing!;
    for await (const { page, results } of pages) {
      const signers = results.flatMap((done, index) => {
        const line = page[index]!;
        if (!('did' in done) || !('signature' in line) || !line.signature) return [];
        const { contactId, did } = done;
        const signer = { signature: line.signature, signatureId: signatureIdOf(line.line), contactId };
        return [{ ...signer, isNew: did === 'created', done }];
      });
      const known = signers.flatMap(({ contactId, ...signer }) =>
        contactId === null ? [] : [{ ...signer, contactId }],
      );
      try {
        let hasSigned: (signer: (typeof signers)[number]) => boolean;
        if (run?.isDry) {
          const ids = known.map(({ contactId }) => contactId);
          const before = await this.signatures.findSigners(organizationId, petitionId, ids);
          hasSigned = ({ contactId }) => contactId === null || !before.has(contactId);
        } else {
          const added = await this.signatures.add(context, petitionId, known);
          hasSigned = ({ signatureId }) => added.has(signatureId);
        }
        for (const signer of signers.filter(hasSigned)) {
          signer.done.hasSigned = true;
          if (signer.done.did === 'unchanged') signer.done.did = 'updated';
        }
      } catch (error) {
        if (!run?.ending()) throw error;
      }
      yield { page, results };
    }
  }

  /** Addresses that bounced or were marked as spam elsewhere get no email here, whatever the result of the line. */
  private async block(context: RequestContext, page: readonly ImportedLine[]): Promise<void> {
    const blocked = page.flatMap((line) =>
      'blocked' in line && line.blocked ? [{ email: line.contact.email, reason: line.blocked }] : [],
    );
    await settleAll(
      blocked.map(async (fields) => {
        if (!suppress) throw new Error('No module suppresses addresses.');
        await this.runner.execute(inputOf(suppress, fields, context));
      }),
    );
  }

  private async *lookUp(
    organizationId: string,
    pages: AsyncIterable<ImportedLine[]>,
  ): AsyncGenerator<LookedUp, void> {
    for await (const page of pages) yield { page, known: await this.findKnown(organizationId, page) };
  }

  private async *importPages(
    command: ImportContacts,
    pages: AsyncIterable<LookedUp>,
  ): AsyncGenerator<ImportedPage, void> {
    const { organizationId, run } = command;
    let before: ImportedLine[] = [];
    for await (const { page, known } of pages) {
      // Looked up while these were in progress, so the contacts may have changed since.
      for (const line of before)
        if ('contact' in line && !run?.isDry) namesOf(line.contact).forEach((name) => known.delete(name));
      const stored = run?.isRepeated ? await this.findStored(organizationId, run, page) : new Map();
      yield { page, results: await this.importPage(command, page, known, stored) };
      before = page;
    }
  }

  /** The lines that an earlier attempt stored, by their events. */
  private async findStored(
    organizationId: string,
    { eventIdOf }: ImportRun,
    page: readonly ImportedLine[],
  ): Promise<Map<number, Stored>> {
    const lines = page
      .filter((line) => 'contact' in line)
      .map(({ line }) => [eventIdOf(line), line] as const);
    const found = await this.store.findStored(
      organizationId,
      lines.map(([eventId]) => eventId),
    );
    return new Map(
      lines.flatMap(([eventId, line]) => {
        const event = found.get(eventId);
        return event ? [[line, event] as const] : [];
      }),
    );
  }

  /** Imports the lines of a page concurrently; lines with the same address run in order. */
  private importPage(
    command: ImportContacts,
    page: readonly ImportedLine[],
    known: ReadonlyMap<string, Known>,
    stored: ReadonlyMap<number, Stored>,
  ): Promise<Done[]> {
    const lastOf = new Map<string, Promise<Done>>();
    const importLine = (line: ImportedLine): Promise<Done> => {
      if ('problem' in line) return Promise.resolve(line);
      const address = comparableEmail(line.contact.email);
      const event = stored.get(line.line);
      const [found] = namesOf(line.contact).flatMap((name) => known.get(name) ?? []);
      if (event) return Promise.resolve(doneBefore(event, found));
      const before = command.run?.isDry ? undefined : lastOf.get(address);
      const done = before
        ? before.then(() => this.importOne(line, command))
        : this.importOne(line, command, found);
      lastOf.set(address, done);
      return done;
    };
    return settleAll(page.map(importLine));
  }

  /** The contacts that have these addresses or external ids: one query per page, not per line. */
  private async findKnown(
    organizationId: string,
    page: readonly ImportedLine[],
  ): Promise<Map<string, Known>> {
    const keys = page.flatMap((line) => {
      if ('problem' in line) return [];
      const { email, externalIds = [] } = line.contact;
      const address = comparableEmail(email);
      return [
        ...emailKeys(email).map((key) => ({
          key,
          name: address,
          holds: (state: Contact) => hasEmail(state, email),
        })),
        ...externalIds.map((externalId) => ({
          key: externalIdKey(externalId),
          name: idName(externalId),
          holds: (state: Contact) => state.status === 'standing' && state.externalIds.includes(externalId),
        })),
      ];
    });
    const owners = await this.commands.findOwners(
      organizationId,
      keys.map(({ key }) => key),
    );
    const contactIds = [...new Set(owners.filter((id) => id !== undefined))];
    const contacts = await this.records
      .loadMany(contact, organizationId, contactIds)
      .catch((error: unknown) => {
        // This version cannot read one of them, so each line checks its own.
        if (error instanceof NewerEvent || error instanceof DamagedEvent) return undefined;
        throw error;
      });
    const known = new Map<string, Known>();
    keys.forEach(({ name, holds }, index) => {
      const contactId = owners[index];
      if (contactId === undefined || known.has(name) || !contacts) return;
      const { state, version } = contacts.get(contactId)!;
      if (state.status === 'standing' && holds(state)) known.set(name, { contactId, state, version });
    });
    return known;
  }

  /**
   * Whether an unsubscribed contact has agreed since, and the address is not suppressed.
   *
   * @returns what this depends on; undefined if not.
   */
  private async saidYesSince(
    organizationId: string,
    contactId: string,
    email: string,
    at: string | undefined,
  ): Promise<Guard | undefined> {
    if (at === undefined) return undefined;
    const { said } = await this.consents.list(organizationId, contactId, 1);
    const [last] = said;
    if (!last || isGiven(last) || Date.parse(at) <= last.recordedAt.getTime()) return undefined;
    return unsuppressed?.({ records: this.records, store: this.store }, organizationId, email);
  }

  private async importOne(
    { contact: given, line }: ImportedLine & { contact: ImportedContact },
    { onConflict, subscribed = false, signing, run }: ImportContacts,
    known?: Known,
  ): Promise<Done> {
    if (run?.ending()) return { isLeftOut: true };
    const { context, organizationId, customFields: _read, values, ...fields } = given;
    const details = { ...fields, ...(values ? { customFields: values } : {}) };
    const writing = { organizationId, consents: this.consents };
    // Never subscribed by accident: what the line does not state was decided for the whole import.
    const asNew = { ...details, subscribed: details.subscribed ?? subscribed };
    let did: 'created' | 'updated' | 'unchanged' = 'created';
    let takenBy: string | undefined;
    let problem: string | undefined;

    const meet = async ({ contactId, ...found }: Known): Promise<Decision> => {
      // A contact who refused stays unsubscribed, whatever an older file states.
      const { subscribed: stated, consent, ...stating } = details;
      const { keepsDetails = false } = signing ?? {};
      const { email } = found.state.details;
      const others: typeof stating = keepsDetails ? { email: email! } : stating;
      const isProved = asNew.subscribed && consent !== undefined && onConflict === 'update';
      const again =
        isProved && !found.state.subscribed
          ? await this.saidYesSince(organizationId, contactId, details.email, consent.at)
          : undefined;
      let said: GivenContact = others;
      if (stated === false) {
        // Another proof of a known refusal is not a difference, so the line does not fail.
        const isKnown = onConflict === 'fail' && !found.state.subscribed;
        said = { ...others, subscribed: false, ...(consent && !isKnown && { consent }) };
      }
      if (again) said = { ...others, consent, subscribed: true };
      else if (isProved && found.state.subscribed) said = { ...others, consent };
      const merged = {
        ...(await mergeContact(writing, contactId, found, said)),
        guards: again ? [again] : [],
      };
      did = merged.writes.every(({ events }) => events.length === 0) ? 'unchanged' : 'updated';
      if (did === 'updated' && onConflict === 'fail' && !keepsDetails) {
        takenBy = contactId;
        if (!hasEmail(found.state, details.email))
          throw externalIdTaken(idIn(found.state, details), contactId);
        const hint = 'To update that contact, import the line again with onConflict: update.';
        if (stated !== false || !found.state.subscribed) throw emailTaken(contactId, hint);
        // Someone who refused gets no email, whatever the result of the line.
        const refusal = { email: email!, subscribed: false, ...(consent && { consent }) };
        const rest = await mergeContact(writing, contactId, found, others);
        if (rest.writes.some(({ events }) => events.length > 0))
          problem = emailTaken(contactId, `${UNSUBSCRIBED} ${hint}`).message;
        else takenBy = undefined;
        return mergeContact(writing, contactId, found, refusal);
      }
      return merged;
    };
    const decide = (afresh: boolean): Decision | Promise<Decision> => {
      did = 'created';
      takenBy = undefined;
      problem = undefined;
      // If the decision is repeated, the contact has changed in between.
      if (known && !afresh) return meet(known);
      return newContact(
        writing,
        asNew,
        async (contactId) => {
          const found = await this.byEmail.find(given, contactId, details.email);
          return found && meet({ contactId, ...found });
        },
        async (contactId, externalId) => {
          const found = await this.byEmail.findByExternalId(given, contactId, externalId);
          return found && meet({ contactId, ...found });
        },
      );
    };

    try {
      if (run?.isDry) {
        if (known) await meet(known);
        if (problem !== undefined) return { problem, ...(takenBy && { contactId: takenBy }) };
        return { did, contactId: known?.contactId ?? null };
      }
      const eventId = run?.eventIdOf(line);
      const { recordId, position } = await this.commands.run(given, decide, { visible: false, eventId });
      if (problem !== undefined) return { problem, contactId: recordId, position };
      return { did, contactId: recordId, position };
    } catch (error) {
      if (run?.ending()) return { isLeftOut: true };
      // The key was revoked, so the whole import ends.
      if (error instanceof RpcError && error.code === 'UNAUTHORIZED') throw error;
      if (error instanceof RpcError && error.status < 500)
        return { problem: error.message, ...(takenBy === undefined ? {} : { contactId: takenBy }) };
      if (error instanceof NewerEvent) {
        return {
          problem: 'A newer version of this server changed this contact. Import the line again later.',
        };
      }
      if (error instanceof DamagedEvent) {
        return { problem: 'The history of this contact is damaged. Contact the operator of this service.' };
      }
      throw error;
    }
  }
}

function readingOf({ mediaType, subscribed, unknown, columns, signing, run }: ImportContacts) {
  const hasSignatures = signing !== undefined;
  return { mediaType, subscribed, unknown, columns, hasSignatures, after: run?.after };
}

/** The result of a line that an earlier attempt stored. @param known the contact that has its address now. */
function doneBefore({ streamType, streamId, type }: Stored, known: Known | undefined): Done {
  const contactId = streamType === contact.streamType ? streamId : (known?.contactId ?? null);
  return { did: type === 'ContactCreated' ? 'created' : 'updated', contactId };
}

function finishedPage(page: readonly ImportedLine[], results: readonly Done[]): FinishedPage {
  const rows = results.flatMap((done, index): FinishedRow[] => {
    const { line, address = '', source } = page[index]!;
    if ('isLeftOut' in done) return [];
    const { contactId = null } = done;
    return 'did' in done
      ? [{ line, did: done.did, contactId, ...(done.hasSigned && { hasSigned: true }) }]
      : [{ line, problem: done.problem, address, source, contactId }];
  });
  return { lastLine: page.at(-1)!.line, bytes: page.reduce((sum, { bytes }) => sum + bytes, 0), rows };
}

/** The names of a line's contact in `LookedUp`, external ids first. */
function namesOf({ email, externalIds = [] }: ImportedContact): string[] {
  return [...externalIds.map(idName), comparableEmail(email)];
}

/** No address begins with a colon. */
function idName(externalId: string): string {
  return `:${externalId}`;
}

/** The external id by which a line found a contact. */
function idIn({ externalIds }: ExistingContact, given: { externalIds?: string[] }): string {
  return given.externalIds?.find((externalId) => externalIds.includes(externalId)) ?? '';
}

function add(answer: ImportAnswer, line: number, done: Done): void {
  if ('isLeftOut' in done) return;
  if ('did' in done) {
    answer[done.did] += 1;
    if (done.hasSigned) answer.signed! += 1;
    return;
  }
  answer.failedCount += 1;
  if (answer.failed.length < MOST_FAILURES) answer.failed.push({ line, message: done.problem });
}
