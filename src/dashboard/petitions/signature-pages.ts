import { html, type Html, trusted } from '#libs/pages';
import { isId, RpcError, type StreamedAnswer } from '#libs/rpc';
import { ContactsByIds } from '../../contacts/index.js';
import { SUSPICIONS, type Suspicion } from '../../confirmations/index.js';
import { COMMENT_STATES, type SignatureRecord } from '../../petitions/index.js';
import { nameOf } from '../contacts/contact.js';
import { numberColumn } from '../list-pages.js';
import { forExcel } from '../csv.js';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  ButtonOf,
  Facts,
  fieldsFor,
  FormOf,
  inQuarters,
  Live,
  onceOf,
  Progress,
  SelectField,
  TextField,
  timeIn,
  BadgeOf,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type PageContext } from '../page-context.js';
import { type PetitionRecord, petitions } from './petition.js';
import { type DashboardWords } from '#locales';

/** Includes the signer if the viewer may read contacts. */
type SignatureOfPetition = SignatureRecord & { signer?: { name: string; email: string | null } };

type InvalidationRecord = {
  id: string;
  createdAt: string;
  petitionId: string;
  status: 'INVALIDATING' | 'INVALIDATED' | 'RESTORING' | 'RESTORED';
  /** Null if signatures were selected individually. */
  condition: Record<string, string | null> | null;
  matched: number;
  invalidated: number;
  restored: number;
};

export const signaturePages: PageDefinition[] = [
  ...petitions.listBelow<SignatureOfPetition>('signatures', {
    operation: 'petition.list-signatures',
    title: ({ petitions }) => petitions.signers.title,
    text: ({ petitions }) => petitions.signers.text,
    empty: ({ petitions }) => petitions.signers.none,
    search: ({ petitions }) => petitions.signers.search,
    searchNeeds: 'contact:read',
    fields: ({ address: { query } }) => ({
      status: query('status'),
      commentState: query('commentState'),
      suspicious: query('suspicious'),
    }),
    filters: ({ words: { petitions, state, yes, no } }) => {
      const { statuses } = petitions.signers;
      // The operation lists confirmed signatures by default.
      const choices = [
        { value: '', text: statuses.CONFIRMED },
        { value: 'PENDING', text: statuses.PENDING },
        { value: 'INVALIDATED', text: statuses.INVALIDATED },
      ];
      return [
        { name: 'status', label: state, choices, hasAll: false },
        {
          name: 'commentState',
          label: petitions.comments.title,
          choices: COMMENT_STATES.map((value) => ({ value, text: petitions.comments.states[value] })),
        },
        {
          name: 'suspicious',
          label: petitions.signers.suspicious,
          choices: [
            { value: 'true', text: yes },
            { value: 'false', text: no },
          ],
        },
      ];
    },
    actions: ({ words, address, person }) => [
      person.may('petition:write') && person.may('contact:write')
        ? ButtonLink(
            address,
            `contacts/import?petition=${address.params.petition!}`,
            words.contacts.imports.signatures.title,
            true,
          )
        : null,
      ButtonLink(
        address,
        `petitions/${address.params.petition!}/invalidations`,
        words.petitions.invalidations.title,
        true,
      ),
    ],
    complete: withSigners,
    columns: [
      {
        name: ({ petitions }) => petitions.signers.who,
        cell: SignerOf,
        exported: ({ signer }) => signer?.name ?? null,
      },
      {
        name: ({ email }) => email,
        // Signers without a name are called by their address.
        cell: ({ signer }) => (signer?.email === signer?.name ? null : (signer?.email ?? null)),
        exported: ({ signer }) => signer?.email ?? null,
        isObvious: true,
        isShown: ({ person }) => person.may('contact:read'),
      },
      {
        name: ({ petitions }) => petitions.signers.said,
        cell: CommentOf,
        exported: ({ comment }) => comment,
      },
      {
        name: ({ petitions }) => petitions.comments.on,
        // Only in exports: the table shows it below the comment.
        cell: () => null,
        exported: ({ commentState }) => commentState,
      },
      {
        name: ({ petitions }) => petitions.signers.when,
        cell: ({ signedAt }) => new Date(signedAt),
        isObvious: true,
      },
      { name: ({ petitions }) => petitions.signers.source, cell: ({ source }) => source },
      {
        name: ({ petitions }) => petitions.signers.suspicion,
        cell: ({ suspicion }, { words }) =>
          suspicion.map((one) => words.petitions.suspicions[one]).join(', ') || null,
      },
      { name: ({ state }) => state, cell: StateOf, exported: ({ status }) => status, isObvious: true },
      {
        name: ({ petitions }) => petitions.signers.takeOut,
        cell: RemoveLink,
        hasActions: true,
        // All rows have the same status.
        isShown: ({ person, address }) =>
          person.may('petition:write') && (address.query('status') ?? 'CONFIRMED') === 'CONFIRMED',
      },
    ],
    // The export operation does not support search.
    exportBy: async ({ words, person, address, api }, byColumns) =>
      address.query('q') !== undefined
        ? byColumns()
        : forExcel(
            words,
            await api.run<StreamedAnswer>('petition.export-signatures', {
              petitionId: address.params.petition,
              format: 'csv',
              safe: 'true',
              status: address.query('status'),
              ...(person.may('contact:read') ? { contacts: 'true' } : {}),
            }),
          ),
  }),
  {
    ...petitions.page('signatures/:signature/invalidate', {
      needs: 'petition:write',
      back: toSignatures,
      title: async ({ petitions: { invalidations, signers } }, _, context) => {
        const signer = await signerAsked(context);
        return signer === undefined ? invalidations.takeOut(1) : `${signers.takeOutOf(signer)}?`;
      },
      content: ({ words, form }) => {
        const { invalidations, signers } = words.petitions;
        return html`<div class="text">
          <p>${signers.takingOut}</p>
          ${FormOf(form, { fields: [], button: invalidations.takeOut(1) })}
        </div>`;
      },
    }),
    act: (context) => invalidate(context, { signatureIds: [context.address.params.signature] }),
  },
  {
    ...petitions.page('signatures/:signature/comment', {
      needs: 'petition:write',
      back: toSignatures,
      title: ({ petitions }) => petitions.comments.title,
      content: (context) =>
        html`<p>${context.words.petitions.comments.text}</p>
          ${CommentForm(context, context.address.params.signature!, ['show', 'hide'])}`,
    }),
    act: async ({ address, api, form }) => {
      const { petition, signature } = address.params;
      await api.run(form.get('review') === 'show' ? 'petition.show-comment' : 'petition.hide-comment', {
        signatureId: signature,
      });
      // The rest of the queue, if the button was in it.
      const state = COMMENT_STATES.find((one) => one === form.get('commentState'));
      const query = state === undefined ? '' : `?commentState=${state}`;
      return { to: `petitions/${petition!}/signatures${query}`, done: 'petitions.commentReviewed' };
    },
  },
  ...petitions.listBelow<InvalidationRecord>('invalidations', {
    operation: 'petition.list-invalidations',
    title: ({ petitions }) => petitions.invalidations.title,
    text: ({ petitions }) => petitions.invalidations.text,
    empty: ({ petitions }) => petitions.invalidations.none,
    add: {
      path: ({ address: { params } }) => `petitions/${params.petition!}/invalidate`,
      text: ({ petitions }) => petitions.invalidations.start,
      needs: 'petition:write',
    },
    columns: [
      {
        name: ({ petitions }) => petitions.signers.when,
        cell: ({ id, createdAt }, { words, address }) =>
          html`<a href="${address.path(`petitions/${address.params.petition!}/invalidations/${id}`)}"
            >${timeIn(words, createdAt)}</a
          >`,
        exported: ({ createdAt }) => createdAt,
      },
      { name: ({ petitions }) => petitions.invalidations.chosen, cell: chosenIn },
      {
        name: ({ state }) => state,
        cell: ({ status }, { words }) => words.petitions.invalidations.statuses[status],
        badge: ({ status }) => status,
        isObvious: true,
      },
      numberColumn(
        ({ petitions }) => petitions.invalidations.many,
        ({ matched }) => matched,
      ),
    ],
  }),
  {
    ...petitions.page('invalidate', {
      needs: 'petition:write',
      back: toInvalidations,
      title: ({ petitions }) => petitions.invalidations.chooseTitle,
      content: ChoosingOf,
    }),
    act: removeChosen,
  },
  {
    path: 'petitions/:petition/invalidations/:invalidation',
    needs: 'petition:read',
    changes: 'petition:write',
    show: showInvalidation,
    act: async ({ address, api }) => {
      const { petition, invalidation } = address.params;
      await api.run('petition.restore-signatures', { invalidationId: invalidation });
      return { to: `petitions/${petition!}/invalidations/${invalidation!}`, done: 'petitions.broughtBack' };
    },
  },
];

function toSignatures({ words, address }: PageContext, { id }: PetitionRecord) {
  return { href: address.path(`petitions/${id}/signatures`), text: words.petitions.signers.title };
}

function toInvalidations({ words, address }: PageContext, { id }: PetitionRecord) {
  return { href: address.path(`petitions/${id}/invalidations`), text: words.petitions.invalidations.title };
}

/** Adds the signers if the viewer may read contacts. */
async function withSigners(
  { person, api }: PageContext,
  signatures: SignatureOfPetition[],
): Promise<SignatureOfPetition[]> {
  if (!person.may('contact:read')) return signatures;
  const ids = signatures.flatMap(({ contactId }) => contactId ?? []);
  const contacts = await api.find(ContactsByIds).find(api.organizationId, ids);
  return signatures.map((signature) => {
    const contact = signature.contactId === null ? undefined : contacts.get(signature.contactId);
    return contact ? { ...signature, signer: { name: nameOf(contact), email: contact.email } } : signature;
  });
}

/** Name of the signer whose signature is to be removed, if the list linked to this page. */
async function signerAsked({ person, address, api }: PageContext): Promise<string | undefined> {
  const contactId = address.query('contact');
  if (contactId === undefined || !isId(contactId) || !person.may('contact:read')) return undefined;
  const contacts = await api.find(ContactsByIds).find(api.organizationId, [contactId]);
  const contact = contacts.get(contactId);
  return contact && nameOf(contact);
}

function SignerOf(signature: SignatureOfPetition, { words, address }: PageContext): Html | string {
  const { contactId, signer } = signature;
  if (contactId === null || signer === undefined) return nameOfSigner(signature, words);
  return html`<a href="${address.path(`contacts/${contactId}`)}">${signer.name}</a>`;
}

/** An unconfirmed signature belongs to no contact. */
function nameOfSigner({ signer, status }: SignatureOfPetition, words: DashboardWords): string {
  const { gone, unconfirmed } = words.petitions.signers;
  return signer?.name ?? (status === 'PENDING' ? unconfirmed : gone);
}

/** Links a removed signature to its removal, which can be undone. All rows of a list have the same status, so the others show none. */
function StateOf(
  { status, invalidationId }: SignatureOfPetition,
  { words, address }: PageContext,
): Html | null {
  if (invalidationId === null) return null;
  const text = words.petitions.signers.statuses[status];
  const path = `petitions/${address.params.petition!}/invalidations/${invalidationId}`;
  return html`<a href="${address.path(path)}">${text}</a>`;
}

function RemoveLink(signature: SignatureOfPetition, { words, address }: PageContext): Html {
  const { id, contactId } = signature;
  const { signers } = words.petitions;
  const href = address.path(
    `petitions/${address.params.petition!}/signatures/${id}/invalidate?contact=${contactId ?? ''}`,
  );
  return html`<a href="${href}" aria-label="${signers.takeOutOf(nameOfSigner(signature, words))}">${signers.takeOut}</a>`;
}

/** The comment, whether the page shows it, and buttons to change that. */
function CommentOf(signature: SignatureOfPetition, context: PageContext): Html | string | null {
  const { comment, commentState } = signature;
  if (commentState === null) return comment;
  const state = html`<span class="small">${context.words.petitions.comments.states[commentState]}</span>`;
  if (!context.person.may('petition:write')) return html`<p class="said">${comment}</p>${state}`;
  const reviews = { WAITING: ['show', 'hide'], SHOWN: ['hide'], HIDDEN: ['show'] } as const;
  return html`<p class="said">${comment}</p>${state} ${CommentForm(context, signature.id, reviews[commentState], nameOfSigner(signature, context.words))}`;
}

function CommentForm(
  { words, address }: PageContext,
  signatureId: string,
  reviews: readonly ('show' | 'hide')[],
  signer?: string,
): Html {
  const action = address.path(`petitions/${address.params.petition!}/signatures/${signatureId}/comment`);
  const { comments } = words.petitions;
  const named = (text: string) => (signer === undefined ? null : html` aria-label="${text}: ${signer}"`);
  const buttons = reviews.map(
    (review) =>
      html`<button class="button plain" name="review" value="${review}"${named(comments[review])}>${comments[review]}</button> `,
  );
  return html`<form method="post" action="${action}">
    ${onceOf()}<input type="hidden" name="commentState" value="${address.query('commentState') ?? ''}" />${buttons}
  </form>`;
}

const CONDITIONS = ['emailDomain', 'createdAfter', 'createdBefore', 'clientAddress', 'suspicion'] as const;

/** The condition for invalidation, read from the address or the form. */
function conditionOf(read: (name: string) => string | null | undefined): Record<string, string> {
  const moment = (name: string) => {
    const value = read(name)?.trim();
    return value ? `${value.slice(0, 16)}:00Z` : undefined;
  };
  const condition = {
    emailDomain: read('emailDomain')?.trim(),
    createdAfter: moment('createdAfter'),
    createdBefore: moment('createdBefore'),
    clientAddress: read('clientAddress')?.trim(),
    suspicion: read('suspicion'),
  };
  return Object.fromEntries(
    Object.entries(condition).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
}

/** Counts the matching signatures first. The user sees the number before anything is removed. */
function ChoosingOf({ words, form, address }: PageContext): Html {
  const { invalidations, suspicions } = words.petitions;
  const typed = (name: string) => form.get(name) ?? address.query(name);
  const { optionalText } = fieldsFor(form, invalidations);
  const fields = [
    optionalText('emailDomain', { value: typed('emailDomain') }),
    ...(['createdAfter', 'createdBefore'] as const).map((name) =>
      TextField(form, {
        name,
        label: name === 'createdAfter' ? invalidations.after : invalidations.before,
        value: typed(name),
        type: 'datetime-local',
        isOptional: true,
      }),
    ),
    TextField(form, {
      name: 'clientAddress',
      label: invalidations.network,
      hint: invalidations.networkHint,
      value: typed('clientAddress'),
      isOptional: true,
    }),
    SelectField(form, {
      name: 'suspicion',
      label: invalidations.suspicion,
      value: typed('suspicion'),
      choices: [
        { value: '', text: invalidations.none2 },
        ...SUSPICIONS.map((value) => ({ value, text: suspicions[value] })),
      ],
    }),
  ];
  return html`<div class="text">
    <p class="lead">${invalidations.chooseText}</p>
    ${form.found === undefined ? null : FoundOf({ words, form }, form.found)}
    ${FormOf(form, { fields, button: invalidations.look })}
  </div>`;
}

/** A separate form repeats the counted condition, because the fields below may have changed since. */
function FoundOf({ words, form }: Pick<PageContext, 'words' | 'form'>, signatures: number): Html {
  const { invalidations } = words.petitions;
  // Focused, so that screen readers announce the result first.
  const first = trusted(' id="found" tabindex="-1" autofocus');
  if (signatures === 0) return html`<p${first}>${invalidations.nothing}</p>`;
  const counted = CONDITIONS.map(
    (name) => html`<input type="hidden" name="${name}" value="${form.get(name) ?? ''}" />`,
  );
  return html`<form method="post" class="sheet"${first}>
    ${onceOf()} ${counted}
    <p><strong>${invalidations.found(signatures)}</strong></p>
    <p>${invalidations.foundText}</p>
    <p><button class="button" name="takeOut" value="true">${invalidations.takeOut(signatures)}</button></p>
  </form>`;
}

async function removeChosen(context: PageContext) {
  const condition = conditionOf((name) => context.form.get(name));
  if (Object.keys(condition).length === 0)
    throw new RpcError('BAD_REQUEST', context.words.petitions.invalidations.nothingSaid);
  if (context.form.has('takeOut')) return invalidate(context, condition);
  const { signatures } = await context.api.run<{ signatures: number }>('petition.invalidate-signatures', {
    petitionId: context.address.params.petition,
    ...condition,
    dryRun: true,
  });
  context.form.found = signatures;
  return context.form.again();
}

async function invalidate({ address, api }: PageContext, condition: Record<string, unknown>) {
  const petitionId = address.params.petition!;
  const { invalidationId } = await api.run<{ invalidationId: string | null }>(
    'petition.invalidate-signatures',
    {
      petitionId,
      ...condition,
    },
  );
  const to = `petitions/${petitionId}/invalidations`;
  return invalidationId === null ? { to } : { to: `${to}/${invalidationId}`, done: 'petitions.takenOut' };
}

async function showInvalidation(context: PageContext) {
  const { words } = context;
  const { invalidations } = words.petitions;
  const invalidationId = context.address.params.invalidation!;
  const [petition, found] = await Promise.all([
    petitions.find(context),
    context.api.run<InvalidationRecord>('petition.get-invalidation', { invalidationId }),
  ]);
  // Loaded after the invalidation. A page that shows a final status stops polling, so its activity must be complete.
  const past = await ActivityLog(context, invalidationId);
  const { status, matched, invalidated, restored } = found;
  const isGoing = status === 'INVALIDATING' || status === 'RESTORING';
  const value = status === 'RESTORING' || status === 'RESTORED' ? restored : invalidated;
  const facts = factsOf(context.words, found);
  return context.view.page({
    section: 'petitions',
    back: toInvalidations(context, petition),
    title: matched === 1 ? invalidations.single : invalidations.title,
    content: html`<p>${BadgeOf(status, invalidations.statuses[status])}</p>
      ${Live(context, {
        isGoing,
        status: isGoing
          ? inQuarters(invalidations.statuses[status], value, matched)
          : invalidations.statuses[status],
      })}
      ${Progress({ words, label: invalidations.progress, value, max: matched })}
      ${facts.length > 0 ? Facts(facts) : null}
      ${
        context.person.may('petition:write') && (status === 'INVALIDATED' || status === 'INVALIDATING')
          ? ButtonOf(
              context.address,
              `petitions/${petition.id}/invalidations/${found.id}`,
              invalidations.restore,
            )
          : null
      }
      ${past}`,
  });
}

function factsOf(
  words: DashboardWords,
  { condition }: InvalidationRecord,
): { name: string; value: string }[] {
  const { invalidations, suspicions } = words.petitions;
  const { emailDomain, createdAfter, createdBefore, clientAddress, suspicion } = condition ?? {};
  return [
    { name: invalidations.emailDomain, value: emailDomain },
    { name: invalidations.after, value: createdAfter && timeIn(words, createdAfter) },
    { name: invalidations.before, value: createdBefore && timeIn(words, createdBefore) },
    { name: invalidations.network, value: clientAddress },
    { name: invalidations.suspicion, value: suspicion && suspicions[suspicion as Suspicion] },
  ].flatMap(({ name, value }) => (value ? [{ name, value }] : []));
}

function chosenIn(record: InvalidationRecord, { words }: PageContext): string {
  const { named } = words.petitions.invalidations;
  const facts = factsOf(words, record);
  return facts.map(({ name, value }) => `${name}: ${value}`).join('; ') || named(record.matched);
}
